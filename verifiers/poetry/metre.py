"""How well a line keeps a metre.

TO BE JOINED AT MERGE: `learnable.verifiers.poetry.scansion` brings `metre_credit`; until it is there every line is taken to
be in its metre, so that metre neither earns nor costs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache

NEUTRAL = 1.0


def metre_credit(words: Sequence[str], metre: str, feet: int) -> float:
    """Return how well the words fill `feet` feet of the metre, in [0, 1]."""
    credit = _scansion()
    return NEUTRAL if credit is None else credit(words, metre, feet)


@cache
def _scansion() -> Callable[[Sequence[str], str, int], float] | None:
    try:
        module = importlib.import_module("learnable.verifiers.poetry.scansion")
    except ModuleNotFoundError:
        return None
    credit: Callable[[Sequence[str], str, int], float] = module.metre_credit
    return credit
