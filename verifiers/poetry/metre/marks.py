"""Stress marks over a line of text: `/` over a stressed vowel, `x` over an unstressed one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.pronunciation import syllable_counts

_WORD = re.compile(r"[^\W\d_][^\W_]*(?:['\u2019][^\W_]+)*['\u2019]?")
_VOWELS = re.compile(r"[aeiouyàáâäèéêëìíîïòóôöùúûü]+", re.IGNORECASE)


def place_marks(text: str, stress: str) -> str:
    """Return the line of marks that stands over `text`: one for each sign of `stress`, `+` or `-`, in its place.

    >>> print(place_marks("The plowman homeward", "-+-+-") + "|")
      x   /  x   /   x  |
    >>> place_marks("...", "")
    '   '
    """
    words = [(found.start(), found[0]) for found in _WORD.finditer(text)]
    counts = _counts([word for _, word in words], len(stress))
    row, spent = [" "] * len(text), 0
    for (start, word), count in zip(words, counts, strict=True):
        for place, sign in zip(_places(word, count), stress[spent : spent + count], strict=True):
            row[start + place] = "/" if sign == "+" else "x"
        spent += count
    return "".join(row)


def _counts(words: Sequence[str], total: int) -> list[int]:
    """Return how many syllables each word has where the line has `total`; what is left over goes to the longest words."""
    ways: dict[int, list[int]] = {0: []}
    for word in words:
        parts = read_line(word).words
        options = sorted(syllable_counts(parts[0])) if len(parts) == 1 else [1]
        ways = {done + count: [*counts, count] for done, counts in ways.items() for count in reversed(options)}
    if not ways.get(total):
        counts = [0] * len(words)
        for turn in range(total if words else 0):
            counts[turn % len(words)] += 1
        return counts
    return ways[total]


def _places(word: str, count: int) -> list[int]:
    """Return where in a word the marks of its syllables stand: over its vowels, or spread out where these do not tell."""
    vowels = [(found.start(), found[0]) for found in _VOWELS.finditer(word)]
    silent = [place for place, vowel in vowels[1:] if vowel in "eE"][::-1]  # the last e is the likeliest to be silent
    places = [place for place, _ in vowels if place not in silent[: max(0, len(vowels) - count)]]
    if len(places) >= count:
        return places[:count]
    return [min(len(word) - 1, index * len(word) // max(count, 1)) for index in range(count)]
