"""Whether the lines of a poem are one template with other words in it: "the X of the Y", again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

from learnable.verifiers.poetry.bounds import SAMENESS
from learnable.verifiers.poetry.language.word_classes import load_closed_words

RUN = 4  # words of a template that is shown
# Signs of a line's edge, of other words, and the first of those of grammar.
EDGE_SIGN, OTHER_SIGN, FIRST_SIGN = "^", "_", 0x100
# Patterns without a word of grammar, which are everywhere.
PLAIN_PATTERNS = ("____", "^___", "_^__", "__^_", "___^", "^__^", "_^_^", "^_^_")


def measure_sameness(lines: Sequence[tuple[str, ...]]) -> float:
    """Return the share of patterns that stand more than once near by, in [0, 1].

    A pattern is four words in a row, across the edges of lines, in which every word that is not one of grammar counts
    alike; one of grammar must be in it. Give each line once: a refrain is no template.

    >>> lines = "the moon of the night", "the song of the sea", "the rose of the hill"
    >>> round(measure_sameness([tuple(line.split()) for line in lines]), 2)
    0.73
    """
    signs = load_signs()
    size = repeated = 0
    for start in range(0, len(lines), SAMENESS.near):
        text = EDGE_SIGN.join(
            ["".join([signs.get(word, OTHER_SIGN) for word in line]) for line in lines[start : start + SAMENESS.near]]
        )
        text = f"{EDGE_SIGN}{text}{EDGE_SIGN}"
        counts = Counter([text[index : index + 4] for index in range(len(text) - 3)])
        for plain in PLAIN_PATTERNS:
            counts.pop(plain, None)
        size += counts.total()
        repeated += sum([count for count in counts.values() if count > 1])
    return repeated / (size + SAMENESS.lent)


def find_template(lines: Sequence[tuple[str, ...]]) -> str:
    """Return how most lines are built, with three dots for a word that is not one of grammar.

    Where no half of the lines is built alike, it is the run of `RUN` words that stands most often.

    >>> lines = "the moon of the night", "the song of the sea", "a lamp"
    >>> find_template([tuple(line.split()) for line in lines])
    'the ... of the ...'
    """
    signs = load_signs()
    shapes = Counter(tuple(word if word in signs else "..." for word in line) for line in lines)
    runs = Counter(
        shape[start : start + RUN] for shape in shapes.elements() for start in range(max(1, len(shape) - RUN + 1))
    )
    whole, count = shapes.most_common(1)[0]
    grammatical = [(times, run) for run, times in runs.items() if set(run) != {"..."}]
    return " ".join(whole if 2 * count >= len(lines) or not grammatical else max(grammatical)[1])


@cache
def load_signs() -> Mapping[str, str]:
    """Return the sign of each word of grammar."""
    return {word: chr(FIRST_SIGN + number) for number, word in enumerate(load_closed_words())}
