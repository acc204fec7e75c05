"""How words are built: their letters, their syllables, and lines that read the same backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from learnable.data.forms import span
from learnable.verifiers.poetry.constraints.case import Case, Result
from learnable.verifiers.poetry.sound.pronunciation import syllable_counts


def word_lengths(case: Case) -> Result:
    """Share of words with the letters asked for: each word in turn, or every word by a remainder."""
    words = [word.replace("'", "") for line in case.poem.lines for word in line.words]
    rule = case.form.word_lengths
    if rule and isinstance(rule[0], tuple) and isinstance(rule[0][0], str):
        named: dict[str, Any] = dict(rule)
        hits = sum(len(word) % named["modulo"] == named["rest"] for word in words)
        size = len(words)
    else:
        hits = sum(_fits(len(word), count) for word, count in zip(words, rule, strict=False))
        size = max(len(words), len(rule))
    share = hits / size if size else 0.0
    return share, share


def word_syllables(case: Case) -> Result:
    """Share of words that can have the syllables asked for."""
    low, high = span(case.form.word_syllables or 1)
    words = [word for line in case.poem.lines for word in line.words]
    hits = sum(any(low <= count <= high for count in syllable_counts(word)) for word in words)
    share = hits / len(words) if words else 0.0
    return share, share


def palindrome(case: Case) -> Result:
    """How far each line, or the poem as a whole, reads the same backwards, by its letters or by its words."""
    if case.form.palindrome == "poem":
        share = mirrored([word for line in case.poem.lines for word in line.words])
        return share, share
    credits = []
    for line in case.said():
        signs = [sign for word in line.words for sign in word if sign.isalpha()] if by_letters(case) else [*line.words]
        credits.append(mirrored(signs))
    return case.per_line(credits)


def mirrored(signs: Sequence[str]) -> float:
    """Return the share of signs that stand at the mirrored place too; the same signs throughout mirror nothing.

    >>> mirrored("level"), mirrored("lever"), mirrored("aaa")
    (1.0, 0.5, 0.0)
    """
    pairs = len(signs) // 2
    same = sum(signs[index] == signs[-1 - index] for index in range(pairs))
    return same / pairs if pairs and len(set(signs)) > 2 else 0.0


def by_letters(case: Case) -> bool:
    """Whether letters are mirrored, rather than words."""
    return case.form.palindrome == "letters"


def _fits(value: int, count: Any) -> bool:
    low, high = span(count)
    return low <= value <= high
