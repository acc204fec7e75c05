"""Lines that must return word for word."""

from __future__ import annotations

from collections.abc import Sequence

from learnable.verifiers.poetry.words import Line


def refrain_groups(scheme: Sequence[str]) -> dict[str, list[int]]:
    """Return the line numbers of each refrain of a scheme, from 0.

    >>> refrain_groups(["A1", "b", "A2", "a", "b", "A1"])
    {'A1': [0, 5], 'A2': [2]}
    """
    groups: dict[str, list[int]] = {}
    for index, label in enumerate(scheme):
        if len(label) > 1:
            groups.setdefault(label, []).append(index)
    return groups


def match_refrains(lines: Sequence[Line], scheme: Sequence[str]) -> tuple[float, float]:
    """Return the smooth and the strict share of refrain lines that return as they first stood.

    An altered line earns at most half, by the share of its words that agree from the end. A refrain whose
    first line copies another refrain's earns nothing.
    """
    smooth, strict, wanted = 0.0, 0, 0
    seen: set[tuple[str, ...]] = set()
    for first, *returns in refrain_groups(scheme).values():
        wanted += len(returns)
        if first >= len(lines) or lines[first].words in seen:
            continue
        original = lines[first].words
        seen.add(original)
        for words in (lines[index].words for index in returns if index < len(lines)):
            strict += words == original
            smooth += 1.0 if words == original else 0.5 * _shared_ending(words, original)
    return (smooth / wanted, strict / wanted) if wanted else (1.0, 1.0)


def _shared_ending(words: Sequence[str], original: Sequence[str]) -> float:
    same = 0
    for one, other in zip(reversed(words), reversed(original), strict=False):
        if one != other:
            break
        same += 1
    return same / max(len(words), len(original), 1)
