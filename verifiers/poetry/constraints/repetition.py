"""What returns: whole lines, the opening of the first line, and end words in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence

from learnable.verifiers.poetry.constraints.case import PoemCase, Shares
from learnable.verifiers.poetry.forms import span

FREE_END = "-"  # the sign of a line whose end word is free


def judge_refrains(case: PoemCase) -> Shares:
    """Share of returning lines that are the same as where they first stand.

    An altered line earns at most half, by the share of its words that agree from the end, unless the form lets
    its lines return varied (`varied`). A refrain whose first line
    is a copy of another refrain's earns nothing.
    """
    smooth, strict, wanted = 0.0, 0, 0
    seen: set[tuple[str, ...]] = set()
    for first, *returns in case.plan.groups:
        wanted += len(returns)
        original = _words(case, first)
        if not original or original in seen:
            continue
        seen.add(original)
        for words in (_words(case, index) for index in returns):
            # A line that varies another has the last half of its words in common with it.
            fits = words == original or (case.form.varied and measure_shared_ending(words, original) >= 0.5)
            strict += fits
            # An altered refrain earns half at most.
            smooth += 1.0 if fits else 0.5 * measure_shared_ending(words, original)
    return Shares(smooth / wanted, strict / wanted) if wanted else Shares.both(1.0)


def judge_rentrement(case: PoemCase) -> Shares:
    """Share of rentrements that are the opening words of line 1, as many of them as the form allows."""
    low, high = span(case.form.rentrement)
    opening = _words(case, 0)
    smooth, strict = 0.0, 0
    for index in case.plan.rentrements:
        words = _words(case, index)
        same = _count_equal(words, opening)
        fits = bool(words) and same == len(words) and low <= same <= high and same < len(opening)
        strict += fits
        smooth += 1.0 if fits else 0.5 * same / max(len(words), 1)
    size = len(case.plan.rentrements)
    return Shares(smooth / size, strict / size)


def measure_shared_ending(words: Sequence[str], original: Sequence[str]) -> float:
    """Return the share of words that agree, counted from the end."""
    return _count_equal(words[::-1], original[::-1]) / max(len(words), len(original), 1)


def _count_equal(words: Sequence[str], original: Sequence[str]) -> int:
    """Return how many words agree before the first that differs."""
    same = 0
    for one, other in zip(words, original, strict=False):
        if one != other:
            break
        same += 1
    return same


def _words(case: PoemCase, slot: int) -> tuple[str, ...]:
    line = case.lines[slot] if slot < len(case.lines) else None
    return () if line is None else line.words


def judge_end_words(case: PoemCase) -> Shares:
    """Share of lines that end in the word of their sign.

    A sign of one character stands for the end word of the first line that has it, and different signs must be different
    words. A longer sign is the word itself.
    """
    signs = case.form.end_words
    words = _words_of_signs(case)
    hits = [
        float(line is not None and words.get(sign, sign) == line.end)
        for sign, line in zip(signs, case.lines, strict=False)
        if sign != FREE_END
    ]
    # Where two signs have the same word, both lose.
    taken = [words.get(sign, sign) for sign in dict.fromkeys(signs) if sign != FREE_END]
    distinct = len(set(taken)) / max(1, len(taken)) if all(len(sign) == 1 for sign in signs) else 1.0
    size = max(len(hits), len(case.poem.lines) - (len(case.lines) - len(hits)))
    first = sum(1 for sign in dict.fromkeys(signs) if sign != FREE_END and len(sign) == 1)
    returns = max(1, size - first)
    return Shares.both(distinct * max(0.0, sum(hits) - first) / returns)


def judge_envoi(case: PoemCase) -> Shares:
    """Share of the end words that are in the closing lines; of each line at most `envoi` count, and each word once."""
    left = set(_words_of_signs(case).values()) - {""}
    size = max(1, len(left))
    count = 0
    for line in case.lines[len(case.form.end_words) :]:
        gathered = [word for word in dict.fromkeys(line.words if line else ()) if word in left][: case.form.envoi]
        left -= set(gathered)
        count += len(gathered)
    return Shares.both(count / size)


def _words_of_signs(case: PoemCase) -> dict[str, str]:
    """Return the word of each one-character sign: the end of the first line that has it."""
    words: dict[str, str] = {}
    for sign, line in zip(case.form.end_words, case.lines, strict=False):
        if len(sign) == 1 and sign != FREE_END and line is not None:
            words.setdefault(sign, line.end)
    return words
