"""The five metres as costs: of the distance between beats, of a line's beginning and end, of each syllable's place.

A cost is a negative log odds, so the costs of departures add up: a line takes the metre in which it costs least.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from learnable.data.errors import LearnableError


@dataclass(frozen=True, slots=True)
class Metre:
    """Costs by number of weak syllables: before the first beat (`opening`), between beats, after the last (`closing`).

    A number of syllables beyond the tuple is not possible. `inversion` is the discount for a line that begins with a
    beat and two weak syllables, `cramped` and `hurried` are costs of a last beat that comes early (without and with a
    weak end), `rarity` is the cost of assuming this metre for a line of unknown metre.
    """

    name: str
    opening: tuple[float, ...]
    between: tuple[float, ...]
    closing: tuple[float, ...]
    inversion: float
    cramped: float
    hurried: float
    rarity: float


# Cost of a syllable of each class (see `stress`) on a beat and off it: minus the logarithm of the share in
# annotated verse, rounded.
ON_BEAT = {
    "P": 0.05, "F": 0.15, "S": 1.2, "u": 3.0, "U": 1.2, "c": 0.15, "b": 0.5, "n": 0.7,
    "i": 0.6, "v": 1.4, "o": 1.4, "q": 1.8, "p": 1.7, "d": 3.0, "a": 4.5,
}  # fmt: skip
OFF_BEAT = {
    "P": 3.2, "F": 2.0, "S": 0.3, "u": 0.05, "U": 0.25, "c": 1.6, "b": 0.9, "n": 0.7,
    "i": 0.7, "v": 0.3, "o": 0.3, "q": 0.15, "p": 0.2, "d": 0.05, "a": 0.02,
}  # fmt: skip
WRONG_FEET = 4.0  # cost of a foot more or less than the wanted number

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
_SPELLINGS = {"anapestic": "anapaestic", "amphibrach": "amphibrachic", "iamb": "iambic", "trochee": "trochaic"}


def find_metre(name: str) -> Metre:
    """Return the metre of this name; other spellings such as `anapestic` are accepted.

    Raises `LearnableError` for an unknown name.
    """
    metre = METRES.get(_SPELLINGS.get(name.strip().lower(), name.strip().lower()))
    if metre is None:
        raise LearnableError(f"metre {name!r} is unknown; give one of {', '.join(METRES)}")
    return metre
