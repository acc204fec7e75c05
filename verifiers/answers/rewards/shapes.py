"""Reward shapes as data: which named parts make up a reward, and with which weights.

A spec has its shape under `reward`: `"binary"` (1 where the answer is right, as without the key), `"distance"`, or an
object of named parts:

    {"right": {"kind": "correct"}, "near": {"kind": "distance", "weight": 0.5},
     "form": {"kind": "format", "weight": 0.2}, "long": {"kind": "length", "from": 800, "to": 1600, "weight": -0.3}}

The reward is the sum of weight times value over the sum of the weights above 0, kept within 0 and 1; a weight below 0
takes away. A completion passes where its answer is right, whatever the shape. Each part is a component of the score, by
its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from learnable.data.records import Score, Spec
from learnable.verifiers.answers.patterns import compile_pattern
from learnable.verifiers.answers.rewards.parts import (
    judge_distance,
    judge_format,
    judge_length,
    judge_pattern,
    judge_tags,
)
from learnable.verifiers.answers.rules import ExtractedAnswer
from learnable.verifiers.protocol import fault
from learnable.verifiers.reward_parts import PART_KINDS, REWARD_KEY, name_parts

SHAPES = ("binary", "distance")


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """What a judge found in one completion, before it is made a reward.

    `graded` is the judge's own reward, 1 or 0 for most; `number` and `wanted` are the numbers that were given and
    asked for, where the answer is one. `completion` is whole, with its thinking.
    """

    completion: str
    prompt: str
    reading: ExtractedAnswer
    passed: bool
    graded: float
    number: Fraction | None = None
    wanted: Fraction | None = None
    why: str = ""


Part = Callable[[JudgedAnswer, Spec], float]

_JUDGES: dict[str, Part] = {
    "correct": lambda judgement, _: float(judgement.passed),
    "graded": lambda judgement, _: judgement.graded,
    "read": lambda judgement, _: float(judgement.reading.answer is not None),
    "distance": lambda judgement, options: judge_distance(
        judgement.number, judgement.wanted, judgement.prompt, options
    ),
    "format": lambda judgement, options: judge_format(judgement.completion, options["tags"], strict=options["strict"]),
    "tags": lambda judgement, options: judge_tags(judgement.completion, options["tags"]),
    "pattern": lambda judgement, options: judge_pattern(judgement.completion, options["pattern"]),
    "length": lambda judgement, options: judge_length(judgement.completion, options["from"], options["to"]),
}
_NUMBERS = ("distance",)  # kinds that need a number


def give_score(judgement: JudgedAnswer, spec: Spec) -> Score:
    """Return the score of a judged completion, in the shape that its spec asks for."""
    reading = judgement.reading
    failure = None if judgement.passed else reading.failure
    reason = "" if judgement.passed else judgement.why or f"answered {(reading.answer or '')[:40]}"
    shape = spec.get(REWARD_KEY)
    if shape is None or shape == "binary":
        parts = {"correct": float(judgement.passed), "format": float(reading.answer is not None)}
        return Score(judgement.graded, judgement.passed, parts, reason=reason, failure=failure)
    weighed = {name: (_value(judgement, part), part.get("weight", 1.0)) for name, part in name_parts(shape).items()}
    most = sum(weight for _, weight in weighed.values() if weight > 0)
    total = sum(value * weight for value, weight in weighed.values())
    reward = min(1.0, max(0.0, total / most))
    parts = {name: value for name, (value, _) in weighed.items()}
    return Score(reward, judgement.passed, parts, reason=reason, failure=failure)


def check_shape(spec: Spec, *, numbers: bool = False) -> None:
    """Raise `SpecError` unless `reward`, where there is one, is a shape.

    `numbers` says whether the judge's answers are numbers, without which there is no distance.
    """
    if REWARD_KEY not in spec:
        return
    shape = spec[REWARD_KEY]
    if isinstance(shape, str):
        if shape not in SHAPES or (shape in _NUMBERS and not numbers):
            raise fault(
                REWARD_KEY, shape, f"use one of {', '.join(SHAPES if numbers else SHAPES[:1])}, or an object of parts"
            )
        return
    if not isinstance(shape, Mapping) or not shape:
        raise fault(REWARD_KEY, shape, 'give "binary", "distance" or an object of named parts')
    for name, part in shape.items():
        _check_part(f"{REWARD_KEY}.{name}", part, numbers)
    if not any(part.get("weight", 1.0) > 0 for part in shape.values()):
        raise fault(REWARD_KEY, dict(shape), "give at least one part a weight above 0")


def _check_part(key: str, part: Any, numbers: bool) -> None:
    if not isinstance(part, Mapping) or part.get("kind") not in PART_KINDS:
        raise fault(key, part, f'give {{"kind": ...}}, one of {", ".join(PART_KINDS)}')
    if part["kind"] in _NUMBERS and not numbers:
        raise fault(key, part, "only an answer that is a number has a distance")
    if not is_finite(part.get("weight", 1.0)) or not part.get("weight", 1.0):
        raise fault(f"{key}.weight", part["weight"], "give a number other than 0")
    known = PART_KINDS[part["kind"]]
    if lacking := [option for option, default in known.items() if default is None and option not in part]:
        raise fault(key, dict(part), f"it needs {lacking[0]!r}")
    for option, value in part.items():
        if option not in ("kind", "weight", *known):
            raise fault(f"{key}.{option}", value, f"no such option; use only {', '.join(['weight', *known])}")
        _check_option(f"{key}.{option}", option, value)
    if part["kind"] == "length" and part["from"] >= part["to"]:
        raise fault(key, dict(part), "'from' must be below 'to'")


def _check_option(key: str, option: str, value: Any) -> None:
    if option in ("kind", "weight"):
        return
    fits, fix = _OPTIONS.get(option, (_is_share, "give a number from 0 to 1"))
    if not fits(value):
        raise fault(key, value, fix)
    if option == "pattern":
        compile_pattern(key, value)


def _are_tags(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(tag, str) and tag for tag in value)


def _is_share(value: Any) -> bool:
    return is_finite(value) and 0 <= value <= 1


def _is_length(value: Any) -> bool:
    return is_finite(value) and value >= 0


def is_finite(value: object) -> bool:
    """Say whether a value is a number, neither a boolean nor NaN nor infinite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _value(judgement: JudgedAnswer, part: Spec) -> float:
    return _JUDGES[part["kind"]](judgement, {**PART_KINDS[part["kind"]], **part})


_OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "tags": (_are_tags, 'give a list of tags, as in ["think", "answer"]'),
    "strict": (lambda value: isinstance(value, bool), "give true or false"),
    "pattern": (lambda value: isinstance(value, str), "give a regular expression"),
    "from": (_is_length, "give a number of characters"),
    "to": (_is_length, "give a number of characters"),
}
