"""How often the corpus is wrong on purpose: competence must be partial and differ from prompt to prompt.

The chance of a wrong answer depends on things that a small model can learn to attend to (an operand, a word, a
function's name, a topic), and takes few levels, so that some prompts are nearly sure, some nearly hopeless.
"""

from __future__ import annotations

import hashlib
import random

HOPELESS = 0.98
# (share of the items, chance of a wrong answer)
LEVELS = {
    "arithmetic": ((0.35, 0.0), (0.5, 0.4), (0.15, 0.9)),
    "counting": ((0.4, 0.0), (0.35, 0.45), (0.25, 0.9)),
    "programs": ((0.25, 0.0), (0.55, 0.5), (0.2, HOPELESS)),
    "poetry": ((0.33, 0.0), (0.2, 0.3), (0.15, 0.6), (0.32, HOPELESS)),
}


def find_level(family: str, *item: object) -> float:
    """Return the chance of a wrong answer that belongs to an item, the same in every process."""
    digest = hashlib.sha256(repr((family, *item)).encode()).digest()
    place = int.from_bytes(digest[:6], "big") / 2**48
    for share, level in LEVELS[family]:
        if place < share:
            return level
        place -= share
    return LEVELS[family][-1][1]


def miss_number(rng: random.Random, right: int, signed: bool) -> int:
    """Return a number near `right` that is not it; without `signed`, never below zero."""
    step = rng.choice((-1, 1, -1, 1, -2, 2, -10, 10))
    wrong = right + step
    return wrong if signed or wrong >= 0 else right + abs(step)
