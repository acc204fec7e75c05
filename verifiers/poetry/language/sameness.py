"""Whether the lines of a poem are one template with other words in it: "the X of the Y", again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from learnable.verifiers.poetry.language.word_classes import load_closed_words

NEAR = 13  # lines on either side in which a pattern is looked for
MIN_PATTERNS = 4  # in a poem; with fewer nothing can be told

EDGE, OTHER, FIRST = "^", "_", 0x100  # signs of a line's edges, of other words, and the first of those of grammar
WITHOUT_GRAMMAR = frozenset(["^__^", "^___", "___^", "____"])


def measure_sameness(lines: Sequence[tuple[str, ...]]) -> float:
    """Return the share of patterns that stand in another line near by too; 0 where a poem has too few to tell.

    A pattern is four words in a row, the edges of the line among them, in which every word that is not one of grammar
    counts alike; one of grammar must be in it. Give each line once: a refrain is no template.

    >>> said = "the moon of the night", "the song of the sea", "the rose of the hill"
    >>> round(measure_sameness([tuple(line.split()) for line in said]), 2)
    1.0
    """
    size = repeated = 0
    last: dict[str, int] = {}  # by pattern: twice the line it was last in, and 1 if it is counted there already
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
def find_patterns(words: tuple[str, ...]) -> frozenset[str]:
    """Return the patterns of a line, a sign for each of their words."""
    signs = load_signs()
    line = f"{EDGE}{''.join([signs.get(word, OTHER) for word in words])}{EDGE}"
    return frozenset([line[start : start + 4] for start in range(len(words) - 1)]) - WITHOUT_GRAMMAR


@cache
def load_signs() -> Mapping[str, str]:
    """Return the sign of each word of grammar."""
    return {word: chr(FIRST + number) for number, word in enumerate(load_closed_words())}
