"""Is it a text at all? A factor in [0, 1] that multiplies the reward.

Each part is a ramp: nothing below `low`, everything from `high` on, so human verse passes untouched
and a policy that drifts towards gibberish still feels a slope.
"""

from __future__ import annotations

from collections.abc import Sequence

from learnable.verifiers.poetry.prosody import pronunciations
from learnable.verifiers.poetry.words import Line

_REAL_LETTERS = frozenset(["a", "i", "o"])


def validity(lines: Sequence[Line], refrain_returns: int = 0) -> float:
    """Return the product of four ramps, for a poem in which `refrain_returns` lines repeat on purpose.

    Share of words the dictionary knows (a single letter other than a, i, o is no word); share of lines that
    are not copies; share of distinct words among the distinct lines; share of tokens that are words.
    """
    if not lines:
        return 0.0
    distinct = list(dict.fromkeys(line.words for line in lines))
    words = [word for line in distinct for word in line]
    if not words:
        return 0.0
    tokens = sum(len(line.words) + line.strange for line in lines)
    strange = sum(line.strange for line in lines)
    return (
        _ramp(sum(map(is_known, words)) / len(words), 0.4, 0.8)
        * _ramp(len(distinct) / max(1, len(lines) - refrain_returns), 0.3, 0.9)
        * _ramp(len(set(words)) / len(words), 0.2, _expected_variety(len(words)))
        * _ramp(1 - strange / tokens, 0.5, 1.0)
    )


def is_known(word: str) -> bool:
    """Whether the dictionary has the word and it is more than a letter's name."""
    return bool(pronunciations(word)) and (len(word) > 1 or word in _REAL_LETTERS)


def _expected_variety(words: int) -> float:
    """Share of distinct words that ordinary verse of this length exceeds: .5 for a haiku, .4 from 100 words on."""
    return max(0.4, 0.5 - 0.1 * max(0, words - 20) / 80)


def _ramp(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))
