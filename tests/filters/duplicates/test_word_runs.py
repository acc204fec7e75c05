from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from learnable.filters.duplicates.texts import (
    TEMPLATE_TEXTS,
    Texts,
    cover_words,
    find_template_runs,
    number_runs,
    read_texts,
)

TEXTS = st.lists(st.text(alphabet="ab ", max_size=40).map(lambda text: " ".join(text)), min_size=1, max_size=12)


def runs_of(texts: Texts, length: int) -> list[tuple[int, ...] | None]:
    """Every run of `length` words by plain slicing, None where it would leave its text."""
    return [
        tuple(words[start : start + length].tolist()) if start + length <= len(words) else None
        for words in texts
        for start in range(len(words))
    ]


@given(TEXTS, st.integers(1, 13))
def test_equal_runs_have_equal_numbers(lines: list[str], length: int) -> None:
    texts = read_texts(lines)
    plain = runs_of(texts, length)
    counts = Counter(plain)
    numbers = number_runs(texts, length).tolist()
    if length > 1:
        assert [n >= 0 for n in numbers] == [run is not None and counts[run] > 1 for run in plain]
    named = {(run, number) for run, number in zip(plain, numbers, strict=True) if number >= 0}
    assert len(named) == len({run for run, _ in named}) == len({number for _, number in named})


@given(TEXTS, st.sampled_from([0.0, 0.1, 0.5]), st.data())
def test_templates_are_counted_by_group(lines: list[str], share: float, data: st.DataObject) -> None:
    texts = read_texts(lines)
    groups = data.draw(st.lists(st.integers(-1, 1), min_size=len(lines), max_size=len(lines)))
    plain, owners = runs_of(texts, 2), texts.owners.tolist()
    holders: dict[tuple[object, int], set[int]] = {}
    for run, owner in zip(plain, owners, strict=True):
        holders.setdefault((run, groups[owner]), set()).add(owner)
    templates = {
        run
        for (run, group), held_by in holders.items()
        if run and group >= 0 and len(held_by) >= TEMPLATE_TEXTS and len(held_by) > share * groups.count(group)
    }
    found = find_template_runs(texts, number_runs(texts, 2), np.array(groups), share)
    assert found.tolist() == [run in templates for run in plain]


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 5))
def test_covered_words(starts: list[bool], length: int) -> None:
    covered = cover_words(np.array(starts, dtype=bool), length)
    assert covered.tolist() == [any(starts[max(0, i - length + 1) : i + 1]) for i in range(len(starts))]
