from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.records import Message, Prompt
from learnable.filters.duplicates.texts import (
    TEMPLATE_TEXTS,
    Texts,
    cover_words,
    find_template_runs,
    join_turns,
    number_runs,
    read_texts,
    split_words,
)

WORDS = st.lists(st.sampled_from("the sea Haiku write 12 3.5 café naïve C x".split()), min_size=1, max_size=12)
SEPARATORS = st.sampled_from([" ", "  ", "\n", ", ", "; ", "! ", " (", ") ", ' "', "… ", " — ", "? "])


@given(WORDS, st.data())
def test_punctuation_case_and_white_space_change_nothing(words: list[str], data: st.DataObject) -> None:
    dressed = "".join(
        data.draw(st.sampled_from([word, word.upper(), word.title()])) + data.draw(SEPARATORS) for word in words
    )
    assert split_words(dressed) == split_words(" ".join(words))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2 + 2 =", "2 * 2 ="),
        ("0 - 0", "0 + 0"),
        ("8 / 2", "8 - 2"),
        ("What is 1.5 + 1?", "What is 15 + 1?"),
        ("(-3) + 5", "3 + 5"),
        ("x * y", "x / y"),
        ("x^2", "x2"),
        ("3 < 5", "3 > 5"),
        ("Hello in C#", "Hello in C"),
        ("Describe 🙂", "Describe 🎉"),
        ("की", "का"),
        ("€5", "£5"),
        ("1,000", "1000"),
    ],
)
def test_what_changes_the_question_changes_the_words(one: str, other: str) -> None:
    assert split_words(one) != split_words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ﬁnd the ½", "FIND the 1\N{FRACTION SLASH}2"),
        ("5 \N{MINUS SIGN} 3", "5 - 3"),
        ("Straße", "STRASSE"),
        ("well-known, and/or", "well known and or"),
        ("“don\N{RIGHT SINGLE QUOTATION MARK}t”", '"don\'t"'),
        ("$x + y$", "x + y"),
        ("the end. Start", "the end.Start"),
        ("ǰ", "J̌"),
    ],
)
def test_dress_alone_leaves_the_words(one: str, other: str) -> None:
    assert split_words(one) == split_words(other)


def test_chinese_characters_are_words() -> None:
    assert split_words("东京 tower") == ["东", "京", "tower"]


def test_a_chat_is_all_its_turns() -> None:
    chat = Prompt((Message("system", "Be brief."), Message("user", "2 + 2 =")), "arithmetic", {"answer": 4}, "a", "A")
    assert split_words(join_turns(chat)) == ["be", "brief", "2", "+", "2", "="]


@given(st.lists(st.text(max_size=40), max_size=6))
def test_numbered_words_spell_the_texts(texts: list[str]) -> None:
    read = read_texts(texts)
    assert [[read.vocabulary[word] for word in words] for words in read] == [split_words(text) for text in texts]
    assert read.owners.tolist() == [owner for owner, text in enumerate(texts) for _ in split_words(text)]
    assert read.room.tolist() == [left for text in texts for left in range(len(split_words(text)), 0, -1)]


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
        for (run, group), stored_by in holders.items()
        if run and group >= 0 and len(stored_by) >= TEMPLATE_TEXTS and len(stored_by) > share * groups.count(group)
    }
    found = find_template_runs(texts, number_runs(texts, 2), np.array(groups), share)
    assert found.tolist() == [run in templates for run in plain]


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 5))
def test_covered_words(starts: list[bool], length: int) -> None:
    covered = cover_words(np.array(starts, dtype=bool), length)
    assert covered.tolist() == [any(starts[max(0, i - length + 1) : i + 1]) for i in range(len(starts))]
