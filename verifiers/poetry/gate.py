"""Whether a poem is a meaningful text: a factor in [0, 1] that multiplies the reward.

Each part is a ramp from 0 at `low` to 1 at `high`. Human verse has 1 throughout, and a policy that drifts towards
gibberish loses reward gradually.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from learnable.verifiers.poetry.bounds import VALIDITY
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.pronunciation import is_listed, pronounce
from learnable.verifiers.poetry.sound.word_table import WordTable

_REAL_LETTERS = frozenset(["a", "i", "o"])
ECHO_WORDS = 4  # so many words in a row that are in the prompt too count as copied from it
RETOLD_WORDS = 4  # so many in a row that an earlier line has count as said again

# Words of grammar. A poem of nothing else has no content.
FUNCTION_WORDS = frozenset(
    """
    a an the and or but nor so yet if then than that this these those i you he she it we they me him her us them my
    your his its our their mine yours hers ours theirs who whom whose which what when where why how am is are was were
    be been being do does did have has had will would shall should can could may might must not no of in on at to from
    by with for as into onto upon over under up down out off there here all any each some such very too also just
    """.split()
)
_REFUSAL = re.compile(
    r"^\W*(?:(?:i'm|i am|we are|we're)\s+(?:very |so |really )?(?:sorry|unable|not able)\b|"
    r"as an? (?:ai|language model)\b|sorry\s*,|"
    r"i (?:cannot|can't|can not|won't|will not) (?:write|help|create|fulfil|comply|provide|do|assist|compose))",
    re.I,
)


class LineWords(Protocol):
    """A line: its words in lower case, and how many of its tokens are not words."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words."""

    @property
    def strange(self) -> int:
        """How many tokens are not words."""


def measure_validity(
    lines: Sequence[LineWords], refrain_returns: int = 0, prompt: str = "", may_retell: bool = False
) -> float:
    """Return the product of the ramps, for a poem in which `refrain_returns` lines repeat on purpose.

    With `may_retell`, lines may have whole phrases of earlier ones, as forms with refrains have.

    The ramps are: the share of words that the dictionary knows (a single letter other than a, i, o is not a word), in
    all and in each line, where a third is enough; the share of lines that are not copies; the share of distinct words
    in the distinct lines; the share of tokens that are words; the number of distinct words other than those of
    grammar; letters per word; the share of the poem that is not copied from the prompt; the share of words that are not
    in a phrase of an earlier line. A refusal has 0.
    """
    distinct = list(dict.fromkeys([line.words for line in lines]))
    words = [word for line in distinct for word in line]
    if not words:
        return 0.0
    known = [_count_known(line) for line in distinct]
    strange = sum([line.strange for line in lines])
    tokens = sum([len(line.words) for line in lines]) + strange
    vocabulary, variety = set(words), _expected_variety(len(words))
    value: float = (
        _ramp(sum(known) / len(words), 0.35, 0.7)
        * _ramp(sum(map(_sense, distinct, known)) / len(distinct), 0.7, 1.0)
        * _freshness(len(distinct) / max(1, len(lines) - refrain_returns))
        * _ramp(len(vocabulary) / len(words), 0.5 * variety, variety)
        * _ramp(1 - strange / tokens, 0.5, 1.0)
        * _ramp(len(vocabulary - FUNCTION_WORDS) / _expected_content(len(words)), 0.2, 1.0)
        * _ramp(sum(map(len, words)) / len(words), 1.5, 2.5)
        * _ramp(1 - measure_echo(words, prompt), 0.3, 0.7)
        * (1.0 if may_retell else _ramp(1 - measure_retold(distinct), 1 - VALIDITY.retold, 1 - VALIDITY.new))
    )
    return 0.0 if _REFUSAL.match(" ".join(distinct[0])) else value


def _freshness(share: float) -> float:
    """Return the factor for the share of lines that are not copies: one copy costs a little, many cost everything."""
    return _ramp(share, 0.3, 0.9) * (0.5 + 0.5 * min(1.0, share))


def is_known(word: str) -> bool:
    """Whether the dictionary has the word, and it is more than the name of a letter."""
    return _KNOWN[word]


def _is_known(word: str) -> bool:
    return (len(word) > 1 or word in _REAL_LETTERS) and (is_listed(word) or bool(pronounce(word)))


_KNOWN = WordTable(_is_known)


def _sense(words: tuple[str, ...], known: int) -> float:
    """Return 1 for a line if the dictionary has a third of its words, `known` of them, and less if it has fewer.

    A line of one or two words has 1, since both may be rare: "Dahlias", or the "Higgledy-piggledy" of a double dactyl.
    """
    if len(words) < 3:
        return float(bool(words))
    return min(1.0, 3 * known / len(words))


@lru_cache(maxsize=16_384)
def _count_known(words: tuple[str, ...]) -> int:
    return sum(map(_KNOWN.__getitem__, words))


def measure_echo(words: Sequence[str], prompt: str) -> float:
    """Return the share of the poem's words that are in the prompt too, in runs of `ECHO_WORDS` or more."""
    if not prompt or len(words) < ECHO_WORDS:
        return 0.0
    known = _runs(prompt)
    taken: set[int] = set()
    for start in range(len(words) - ECHO_WORDS + 1):
        if tuple(words[start : start + ECHO_WORDS]) in known:
            taken.update(range(start, start + ECHO_WORDS))
    return len(taken) / len(words)


def measure_retold(lines: Sequence[tuple[str, ...]]) -> float:
    """Return the share of the words in runs of `RETOLD_WORDS` or more that an earlier line, another one, has too.

    >>> measure_retold([("the", "old", "pond", "sleeps"), ("the", "old", "pond", "sleeps", "again", "then")])
    0.4
    """
    runs = [[*zip(*[line[start:] for start in range(RETOLD_WORDS)], strict=False)] for line in lines]
    if len(set().union(*runs)) == sum(map(len, runs)):
        return 0.0  # as most poems
    earlier: set[tuple[str, ...]] = set()
    retold = 0
    for line_runs in runs:
        taken = {start + step for start, run in enumerate(line_runs) if run in earlier for step in range(RETOLD_WORDS)}
        retold += len(taken)
        earlier.update(line_runs)
    return retold / sum(map(len, lines))


@lru_cache(maxsize=1024)
def _runs(prompt: str) -> frozenset[tuple[str, ...]]:
    words = read_line(prompt[:10_000]).words
    return frozenset(words[start : start + ECHO_WORDS] for start in range(len(words) - ECHO_WORDS + 1))


def _expected_variety(words: int) -> float:
    """Return a share of distinct words that ordinary verse of this length exceeds: .5 for a haiku, .4 at 100 words.

    Beyond 200 words it falls, since vocabulary grows more slowly than text (Heaps' law, exponent .7).
    """
    short = max(0.4, 0.5 - 0.1 * max(0, words - 20) / 80)
    return short * float(min(1.0, 200 / max(1, words)) ** 0.3)


def _expected_content(words: int) -> float:
    """Return a number of distinct words, other than those of grammar, that ordinary verse of this length exceeds."""
    return max(1.0, min(words, 100) / 8)


def _ramp(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))
