"""Whether the lines of a poem are one template with other words in it: "the X of the Y", again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from learnable.verifiers.poetry.language.word_classes import load_closed_words

LENGTH = 4  # words of a pattern
NEAR = 13  # lines on either side in which a pattern is looked for
MIN_PATTERNS = 4  # in a poem; with fewer nothing can be told
BITS = 9  # of a word in a pattern
MASK = (1 << BITS * LENGTH) - 1


def measure_sameness(lines: Sequence[tuple[str, ...]]) -> float:
    """Return the share of patterns that stand in another line near by too; 0 where a poem has too few to tell.

    A pattern is four words in a row, the edges of the line among them, in which every word that is not one of grammar
    counts alike; one of grammar must be in it. Give each line once: a refrain is no template.

    >>> said = "the moon of the night", "the song of the sea", "the rose of the hill"
    >>> round(measure_sameness([tuple(line.split()) for line in said]), 2)
    1.0
    """
    size = repeated = 0
    last: dict[int, int] = {}  # by pattern: twice the line it was last in, and 1 if it is counted there already
    for index, words in enumerate(lines):
        patterns = find_patterns(words)
        size += len(patterns)
        for pattern in patterns:
            before = last.get(pattern)
            if again := before is not None and index - (before >> 1) <= NEAR:
                repeated += 2 - (before & 1)
            last[pattern] = 2 * index + again
    return repeated / size if size >= MIN_PATTERNS else 0.0


@lru_cache(maxsize=16_384)
def find_patterns(words: tuple[str, ...]) -> frozenset[int]:
    """Return the patterns of a line, each as a number made of those of its words: 0 an edge, 1 not of grammar."""
    closed = load_closed_numbers()
    found, pattern, since = set(), 0, LENGTH  # `since` is how many words ago one of grammar stood
    for place, word in enumerate((*words, "")):
        number = closed.get(word, 1)
        pattern = (pattern << BITS | number) & MASK
        since = 0 if number > 1 else since + 1
        if place >= LENGTH - 2 and since < LENGTH:
            found.add(pattern)
    return frozenset(found)


@cache
def load_closed_numbers() -> Mapping[str, int]:
    """Return a number for each word of grammar, from 2; the edge of a line has 0."""
    return {"": 0} | {word: number for number, word in enumerate(load_closed_words(), 2)}
