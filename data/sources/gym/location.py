"""How users name reasoning-gym's data sets: `reasoning-gym:chain_sum?num_terms=4&level=2`, or a pattern of names."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote

from learnable.data.errors import LearnableError
from learnable.data.sources.gym.library import NAME

GYM = f"{NAME}:"


@dataclass(frozen=True, slots=True)
class GymLocation:
    """A data set's name, or a pattern with `*`, and its knobs as they were written."""

    pattern: str
    knobs: dict[str, str] = field(default_factory=dict)


def is_gym(location: str | None) -> bool:
    """Say whether these prompts are reasoning-gym's."""
    return location is not None and location.startswith(GYM)


def read_location(location: str) -> GymLocation:
    """Read a location that `is_gym`. Percent signs are read as in URLs, plus signs as they are.

    Raises `LearnableError` where it names nothing, or a knob has no value or two.

    >>> read_location("reasoning-gym:chain_sum?num_terms=4&level.num_digits=1")
    GymLocation(pattern='chain_sum', knobs={'num_terms': '4', 'level.num_digits': '1'})
    """
    name, _, query = location.removeprefix(GYM).partition("?")
    if not name.strip():
        raise LearnableError(f"`location` {location!r} names no data set: write {GYM}chain_sum, or {GYM}* for all")
    knobs: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = (unquote(piece).strip() for piece in part.partition("="))
        if not (key and equals and value) or key in knobs:
            what = "is set twice" if key in knobs else "is no knob with a value"
            raise LearnableError(f"`location` {location!r}: {part!r} {what}: write {GYM}{name}?num_terms=4&level=2")
        knobs[key] = value
    return GymLocation(name.strip().lower().replace("-", "_"), knobs)
