"""Names of judges that are not ours: `FILE.py:OBJECT?range=0..2`, `trl:NAME`, or what a package offers.

What a name says after `?` travels with it, to scoring processes, into curated sets and to the trainer: so a completion
gets the same reward in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from learnable.data.records import installed_verifiers, is_own_verifier
from learnable.verifiers.own.loading import JudgeError
from learnable.verifiers.own.scale import read_scale, write_number

RANGE, PASS = "range", "pass"
TRL, TRL_REWARDS = "trl:", "trl.rewards:"


@dataclass(frozen=True, slots=True)
class JudgeName:
    """Where a judge is, as `FILE.py:OBJECT` or `MODULE:OBJECT`, and what its name says of it.

    `reward_range` and `passes_at` are as `read_scale` takes them; `arguments`, texts by name, make the judge.
    """

    place: str
    reward_range: str | None = None
    passes_at: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_trls(self) -> bool:
        """Whether it is one of TRL's own reward functions."""
        return self.place.startswith(TRL_REWARDS)


def read_name(name: str) -> JudgeName:
    """Take a name apart. Raises `JudgeError` for options that are not NAME=VALUE.

    >>> read_name("my.py:score?range=0..2&pass=1")
    JudgeName(place='my.py:score', reward_range='0..2', passes_at='1', arguments={})
    >>> read_name("trl:get_soft_overlong_punishment?soft_punish_cache=64").place
    'trl.rewards:get_soft_overlong_punishment'
    """
    plain, _, text = name.partition("?")
    options: dict[str, str] = {}
    for option in filter(None, text.split("&")):
        key, separator, value = option.partition("=")
        if not (key and separator) or key in options:
            raise JudgeError(
                f"verifier {name!r}: {option!r} behind '?' is not NAME=VALUE, or said twice: write "
                f"{plain}?range=0..2&pass=1.5"
            )
        options[key] = value
    if plain.startswith(TRL):
        plain = TRL_REWARDS + plain.removeprefix(TRL)
    place = installed_verifiers().get(plain, plain) if ":" not in plain else plain
    return JudgeName(place, options.pop(RANGE, None), options.pop(PASS, None), options)


def state_range(name: str, reward_range: str | None, passes_at: float | None) -> str:
    """Return the name of a judge with the range of its rewards, and which of them pass, as flags state them.

    Raises `JudgeError` for a verifier of ours and for what the name says already, `LearnableError` for what is no
    range.

    >>> state_range("my.py:score", "0..2", 1.5), state_range("number", None, None)
    ('my.py:score?range=0..2&pass=1.5', 'number')
    """
    passes = None if passes_at is None else write_number(passes_at)
    stated = {key: value for key, value in ((RANGE, reward_range), (PASS, passes)) if value is not None}
    if not stated:
        return name
    flags = " and ".join(f"`verifier_{key}`" for key in stated)
    if not is_own_verifier(name):
        raise JudgeError(f"{flags}: {name!r} is a verifier of ours, with rewards from 0 to 1: leave it out")
    said = read_name(name)
    if (said.reward_range and reward_range) or (said.passes_at and passes):
        raise JudgeError(f"{flags}: verifier {name!r} says so already: say it once")
    if reward_range is not None:
        read_scale(reward_range, passes or said.passes_at)
    options = "&".join(f"{key}={value.strip()}" for key, value in stated.items())
    return f"{name}{'&' if '?' in name else '?'}{options}"
