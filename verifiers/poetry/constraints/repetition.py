"""Lines that return word for word, and the opening words of the first line that return."""

from __future__ import annotations

from collections.abc import Sequence

from learnable.data.forms import span
from learnable.verifiers.poetry.constraints.case import Case, Result

MOST_ALTERED = 0.5  # what an altered refrain earns at most


def refrains(case: Case) -> Result:
    """Share of returning lines that return as they first stood.

    An altered line earns at most half, by the share of its words that agree from the end. A refrain whose first line copies
    another refrain's earns nothing.
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
            strict += words == original
            smooth += 1.0 if words == original else MOST_ALTERED * shared_ending(words, original)
    return (smooth / wanted, strict / wanted) if wanted else (1.0, 1.0)


def rentrement(case: Case) -> Result:
    """Share of rentrements that are the opening words of line 1, as many as the form allows."""
    low, high = span(case.form.rentrement)
    opening = _words(case, 0)
    smooth, strict = 0.0, 0
    for index in case.plan.rentrements:
        words = _words(case, index)
        same = 0
        for one, other in zip(words, opening, strict=False):
            if one != other:
                break
            same += 1
        fits = bool(words) and same == len(words) and low <= same <= high and same < len(opening)
        strict += fits
        smooth += 1.0 if fits else 0.5 * same / max(len(words), 1)
    size = len(case.plan.rentrements)
    return smooth / size, strict / size


def shared_ending(words: Sequence[str], original: Sequence[str]) -> float:
    """Return the share of words that agree, counted from the end."""
    same = 0
    for one, other in zip(reversed(words), reversed(original), strict=False):
        if one != other:
            break
        same += 1
    return same / max(len(words), len(original), 1)


def _words(case: Case, slot: int) -> tuple[str, ...]:
    line = case.lines[slot] if slot < len(case.lines) else None
    return () if line is None else line.words
