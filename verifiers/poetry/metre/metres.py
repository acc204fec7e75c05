"""The five metres as costs: of how far apart the beats are, how a line begins and how it ends.

A cost is a negative log odds, so that departures add up: a line takes the metre whose cost, together with that
of the syllables in their places, is least.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from learnable.data.errors import LearnableError


@dataclass(frozen=True, slots=True)
class Metre:
    """Costs by number of weak syllables: before the first beat, between beats, after the last one.

    A number that is not listed cannot be. `rarity`: how seldom a line of unknown metre has this one.
    """

    name: str
    opening: tuple[float, ...]
    between: tuple[float, ...]
    closing: tuple[float, ...]
    inversion: float
    cramped: float
    hurried: float
    rarity: float


METRES = MappingProxyType(
    {
        metre.name: metre
        for metre in (
            Metre("iambic", (2.2, 0.0, 1.5), (4.0, 0.0, 1.8), (0.0, 0.8, 3.0), 1.3, 0.0, 0.0, 0.0),
            Metre("trochaic", (0.0, 1.2, 2.5), (4.0, 0.0, 2.5), (0.2, 0.0, 2.5), 0.0, 0.0, 0.0, 1.0),
            Metre("anapaestic", (2.5, 0.5, 0.0), (4.0, 1.5, 0.0), (0.0, 0.8, 2.5), 0.0, 0.0, 0.0, 1.5),
            Metre("amphibrachic", (2.0, 0.0, 1.5), (4.0, 1.5, 0.0), (0.6, 0.0, 2.0), 0.0, 0.5, 0.5, 2.5),
            Metre("dactylic", (0.0, 1.2, 2.0), (4.0, 0.7, 0.0), (0.2, 0.0, 0.2), 0.0, 1.5, 0.7, 2.0),
        )
    }
)
# What a line of a metre could have been instead: the other metre of two, or any of three syllables, taken together
# with the best of each one's openings and ends.
_ANY_DUPLE = Metre("duple", (0.0, 0.0, 1.5), (4.0, 0.0, 1.8), (0.0, 0.0, 2.5), 0.0, 0.0, 0.0, 0.0)
_ANY_TRIPLE = Metre("triple", (0.0, 0.0, 0.0), (4.0, 1.5, 0.0), (0.0, 0.2, 0.4), 0.0, 0.0, 0.0, 0.0)
RIVALS = MappingProxyType(
    {
        "iambic": (METRES["trochaic"], _ANY_TRIPLE),
        "trochaic": (METRES["iambic"], _ANY_TRIPLE),
        "anapaestic": (_ANY_DUPLE,),
        "amphibrachic": (_ANY_DUPLE,),
        "dactylic": (_ANY_DUPLE,),
    }
)
_SPELLINGS = {"anapestic": "anapaestic", "amphibrach": "amphibrachic", "iamb": "iambic", "trochee": "trochaic"}


def find_metre(name: str) -> Metre:
    """Return the metre of that name; `anapestic` is `anapaestic`.

    Raises `LearnableError` for a name that is none.
    """
    metre = METRES.get(_SPELLINGS.get(name.strip().lower(), name.strip().lower()))
    if metre is None:
        raise LearnableError(f"metre {name!r} is unknown; give one of {', '.join(METRES)}")
    return metre
