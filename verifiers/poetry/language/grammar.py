"""Whether a poem has the many words of grammar that sentences need, or the few of which a list or a frame is made."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from learnable.verifiers.poetry.bounds import GRAMMAR
from learnable.verifiers.poetry.language.word_classes import load_closed_words


def measure_grammar(lines: Sequence[tuple[str, ...]]) -> float:
    """Return how surely the words of grammar are varied enough for sentences, in [0, 1]: .5 is where it begins.

    What counts is Guiraud's index of richness (1954), the number of different words by the root of the number of words,
    of those of grammar alone. "The N and the N with a N", in turn with other such frames, has words of grammar enough,
    but always the same. Give each line once: a refrain is no frame.

    >>> measure_grammar([("the", "moon", "and", "the", "rose", "and", "the", "sea")] * 4)
    0.0
    """
    closed = load_closed_words()
    words = [word for line in lines for word in line]
    function_words = [word for word in words if word in closed]
    if len(function_words) < GRAMMAR.words_told:
        return 1.0
    index = len(set(function_words)) / sqrt(len(function_words))
    needed = min(GRAMMAR.most, GRAMMAR.least + GRAMMAR.per_word * len(words))
    return min(1.0, max(0.0, 0.5 + (index - needed) / (2 * GRAMMAR.doubt)))
