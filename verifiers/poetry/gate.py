"""Is it a text at all? A factor in [0, 1] that multiplies the reward.

Each part is a ramp: nothing below `low`, everything from `high` on, so human verse passes untouched
and a policy that drifts towards gibberish still feels a slope.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.pronunciation import is_listed, pronunciations

_REAL_LETTERS = frozenset(["a", "i", "o"])
ECHO_WORDS = 4  # words in a row that, standing in the prompt too, are taken from it

# Words that hold sentences together. A poem of nothing else says nothing.
FUNCTION_WORDS = frozenset(
    """
    a an the and or but nor so yet if then than that this these those i you he she it we they me him her us them my your his
    its our their mine yours hers ours theirs who whom whose which what when where why how am is are was were be been being
    do does did have has had will would shall should can could may might must not no of in on at to from by with for as into
    onto upon over under up down out off there here all any each some such very too also just
    """.split()
)
_REFUSAL = re.compile(
    r"^\W*(?:(?:i'm|i am|we are|we're)\s+(?:very |so |really )?(?:sorry|unable|not able)\b|as an? (?:ai|language model)\b|sorry\s*,|"
    r"i (?:cannot|can't|can not|won't|will not) (?:write|help|create|fulfil|comply|provide|do|assist|compose))",
    re.I,
)


class Said(Protocol):
    """A line: words in lower case, and how many tokens are none."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words."""

    @property
    def strange(self) -> int:
        """Tokens that are no words."""


def validity(lines: Sequence[Said], refrain_returns: int = 0, prompt: str = "") -> float:
    """Return the product of the ramps, for a poem in which `refrain_returns` lines repeat on purpose.

    Share of words the dictionary knows (a single letter other than a, i, o is no word), in all and in each line, of which
    a third must be known; share of lines that are not copies; share of distinct words among the distinct lines; share of tokens that are words; distinct words beyond those
    of grammar; letters a token; share of the poem that is not taken from the prompt. A refusal is no poem.
    """
    distinct = list(dict.fromkeys(line.words for line in lines))
    words = [word for line in distinct for word in line]
    if not words:
        return 0.0
    strange = sum(line.strange for line in lines)
    tokens = sum(len(line.words) for line in lines) + strange
    vocabulary, variety = set(words), _expected_variety(len(words))
    value: float = (
        _ramp(sum(map(_count_known, distinct)) / len(words), 0.35, 0.7)
        * _ramp(sum(map(_sense, distinct)) / len(distinct), 0.7, 1.0)
        * _freshness(len(distinct) / max(1, len(lines) - refrain_returns))
        * _ramp(len(vocabulary) / len(words), 0.5 * variety, variety)
        * _ramp(1 - strange / tokens, 0.5, 1.0)
        * _ramp(len(vocabulary - FUNCTION_WORDS) / _expected_content(len(words)), 0.2, 1.0)
        * _ramp(sum(map(len, words)) / len(words), 1.5, 2.5)
        * _ramp(1 - echo(words, prompt), 0.3, 0.7)
    )
    return 0.0 if _REFUSAL.match(" ".join(distinct[0])) else value


def _freshness(share: float) -> float:
    """Return what the share of lines that are no copies leaves: one copy in a long poem costs a little, many cost all."""
    return _ramp(share, 0.3, 0.9) * (0.5 + 0.5 * min(1.0, share))


@lru_cache(maxsize=65_536)
def is_known(word: str) -> bool:
    """Whether the dictionary has the word and it is more than a letter's name."""
    return (len(word) > 1 or word in _REAL_LETTERS) and (is_listed(word) or bool(pronunciations(word)))


def _sense(words: tuple[str, ...]) -> float:
    """Return 1 for a line a third of whose words the dictionary has, and less below.

    One or two rare words may well be a line: "Dahlias", or the "Higgledy-piggledy" that opens a double dactyl.
    """
    if len(words) < 3:
        return float(bool(words))
    return min(1.0, 3 * _count_known(words) / len(words))


@lru_cache(maxsize=16_384)
def _count_known(words: tuple[str, ...]) -> int:
    return sum(map(is_known, words))


def echo(words: Sequence[str], prompt: str) -> float:
    """Return the share of the poem's words that stand in the prompt too, in runs of `ECHO_WORDS` or more."""
    if not prompt or len(words) < ECHO_WORDS:
        return 0.0
    known = _runs(prompt)
    taken: set[int] = set()
    for start in range(len(words) - ECHO_WORDS + 1):
        if tuple(words[start : start + ECHO_WORDS]) in known:
            taken.update(range(start, start + ECHO_WORDS))
    return len(taken) / len(words)


@lru_cache(maxsize=1024)
def _runs(prompt: str) -> frozenset[tuple[str, ...]]:
    words = read_line(prompt[:10_000]).words
    return frozenset(words[start : start + ECHO_WORDS] for start in range(len(words) - ECHO_WORDS + 1))


def _expected_variety(words: int) -> float:
    """Share of distinct words that ordinary verse of this length exceeds: .5 for a haiku, .4 at 100 words.

    Beyond 200 words it falls as vocabulary grows slower than text (Heaps' law, exponent .7).
    """
    short = max(0.4, 0.5 - 0.1 * max(0, words - 20) / 80)
    return short * float(min(1.0, 200 / max(1, words)) ** 0.3)


def _expected_content(words: int) -> float:
    """Distinct words beyond those of grammar that ordinary verse of this length exceeds: an eighth, growing slower."""
    return max(1.0, min(words, 100) / 8)


def _ramp(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))
