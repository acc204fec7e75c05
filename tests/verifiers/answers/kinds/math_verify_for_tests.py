"""A stand-in for math-verify: its two functions as version 0.9 has them, for fractions, and answers that misbehave.

701/2 hangs, 702/2 eats memory, 703/2 raises.
Written into a folder as `math_verify.py`, it is found before the real one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any


class TimeoutException(BaseException):
    """No `Exception`, as the library's own is none."""


@dataclass(frozen=True)
class NormalizationConfig:
    units: bool = True
    malformed_operators: bool = True
    nits: bool = True
    boxed: str = "all"


@dataclass(frozen=True)
class LatexExtractionConfig:
    normalization_config: NormalizationConfig = field(default_factory=NormalizationConfig)


def parse(
    pred: str,
    extraction_config: Any = None,
    fallback_mode: str = "first_match",
    extraction_mode: str = "any_match",
    parsing_timeout: int | None = 5,
    raise_on_error: bool = False,
) -> list[Fraction]:
    assert parsing_timeout is None, "alarms are of no use in a scoring process"
    if "701" in pred:
        while True:
            pass
    if "702" in pred:
        kept = [bytearray(64 << 20) for _ in range(64)]
        raise RuntimeError(f"nobody stopped it at {len(kept)} x 64 MiB")
    if "703" in pred:
        raise TimeoutException("Operation timed out!")
    assert isinstance(extraction_config[0], LatexExtractionConfig), "a number inside a text is no answer"
    return [Fraction(int(over), int(under)) for over, under in re.findall(r"\\frac\{(\d+)\}\{(\d+)\}", pred)[-1:]]


def verify(
    gold: Any, target: Any, *, timeout_seconds: int | None = 5, raise_on_error: bool = False, **options: Any
) -> bool:
    assert timeout_seconds is None, "alarms are of no use in a scoring process"
    assert isinstance(gold, list), "the gold answer comes first"
    return bool(gold == target)
