"""How words sound: known ones, old spellings, words of known parts, licences, and how long lines can be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.phones import CONSONANTS, VOWELS, decode, encode, read_stresses
from learnable.verifiers.poetry.sound.pronunciation import (
    WORDS_PER_LICENCE,
    estimate_syllables,
    find_line_counts,
    find_syllable_counts,
    find_word_counts,
    pronounce,
)

PHONES = st.sampled_from([*CONSONANTS, *(vowel + stress for vowel in VOWELS for stress in "012")])


@given(st.lists(PHONES, max_size=12))
def test_encoded_phones_come_back(phones: list[str]) -> None:
    assert decode(encode(" ".join(phones))) == tuple(phones)


def test_each_syllable_has_one_stress_mark() -> None:
    assert [read_stresses(phones) for phones in pronounce("eternity")] == ["0100", "0100"]


@pytest.mark.parametrize(
    ("word", "counts"),
    [
        ("moon", {1}),
        ("silver", {2}),
        ("fire", {1, 2}),
        ("every", {2, 3}),
        ("above", {2}),
        ("ask'd", {1}),
        ("sea's", {1}),
    ],
)
def test_known_words_have_the_dictionarys_counts(word: str, counts: set[int]) -> None:
    assert find_syllable_counts(word) == counts


@pytest.mark.parametrize(("word", "count"), [("glave", 1), ("brindled", 2), ("moontide", 2), ("brr", 1), ("x", 1)])
def test_unknown_words_are_estimated(word: str, count: int) -> None:
    assert estimate_syllables(word) == count


@given(st.lists(st.sampled_from(["fire", "every", "moon", "our", "silver"]), max_size=6))
def test_counts_of_a_line_are_all_sums_and_a_licence_for_every_four_words(words: list[str]) -> None:
    sums = {0}
    for word in words:
        sums = {total + count for total in sums for count in find_syllable_counts(word)}
    reached = find_line_counts(words)
    assert sums <= reached
    licences = -(-len(words) // WORDS_PER_LICENCE)
    assert all(min(abs(count - total) for total in sums) <= licences for count in reached)


@pytest.mark.parametrize(
    ("word", "rhyming"),
    [
        ("vnhappie", "unhappy"),
        ("euery", "every"),
        ("flow'r", "flower"),
        ("honour'd", "honored"),
        ("drest", "dressed"),
        ("magicke", "magic"),
        ("mak'st", "makest"),
        ("aboue", "above"),
    ],
)
def test_an_old_spelling_sounds_like_the_modern_one(word: str, rhyming: str) -> None:
    assert pronounce(word)
    modern = {phones[-1] for phones in pronounce(rhyming)}
    assert {phones[-1] for phones in pronounce(word)} <= modern


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("moontide", "M UW1 N T AY2 D"),
        ("overflow'd", "OW2 V ER0 F L OW1 D"),
        ("loveth", "L AH1 V IH0 TH"),
        ("bristly", "B R IH1 S L IY0"),
        ("gravelly", "G R AE1 V AH0 L IY0"),
        ("smokelessness", "S M OW1 K L AH0 S N AH0 S"),
        ("wing\u00e8d", "W IH1 NG IH0 D"),
        ("glade's", "G L EY1 D Z"),
    ],
)
def test_a_word_of_known_parts_sounds_like_them(word: str, phones: str) -> None:
    assert tuple(phones.split()) in pronounce(word)


@pytest.mark.parametrize("word", ["azzight", "pzzight", "bqqoam", "brrgh", "qqq"])
def test_gibberish_has_no_known_sound(word: str) -> None:
    assert pronounce(word) == ()
    assert min(find_syllable_counts(word)) >= 1


@pytest.mark.parametrize(
    ("word", "free", "licensed"),
    [
        ("heaven", {2}, {1}),
        ("glorious", {3}, {2}),
        ("wandering", {3}, {2}),
        ("th'", {0}, set()),
        ("o'er", {1}, set()),
        ("blessed", {1}, {2}),
        ("amazed", {2}, {3}),
        ("stone", {1}, set()),
    ],
)
def test_a_poets_licence_is_apart_from_the_dictionary(word: str, free: set[int], licensed: set[int]) -> None:
    assert (find_syllable_counts(word), set(find_word_counts(word).licensed)) == (free, licensed)


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("Th'expense of breath", {4}),
        ("The moon & stars", {4}),
        ("A win\u200bg\u00e9d horse", {4}),
        ("'Twas noon", {2}),
        ("'T was noon", {2}),
    ],
)
def test_lines_are_counted_as_they_are_read(line: str, counts: set[int]) -> None:
    assert find_line_counts(read_line(line).words) == counts


@given(st.lists(st.sampled_from(["heaven", "glorious", "many", "a", "the", "amazed", "moon", "over"]), max_size=12))
def test_licences_do_not_pass_a_line_as_any_length(words: list[str]) -> None:
    counts = find_line_counts(words)
    assert max(counts) - min(counts) <= 2 * -(-len(words) // 4) + words.count("glorious")


def test_a_line_of_endless_choices_is_counted() -> None:
    counts = find_line_counts(["heaven"] * 1000)
    assert (min(counts), max(counts)) == (1975, 2000)


@pytest.mark.parametrize(("word", "counts"), [("bed", {1}), ("fled", {1}), ("loved", {1, 2}), ("wounded", {2})])
def test_verse_speaks_a_silent_ed_and_no_other(word: str, counts: set[int]) -> None:
    found = find_word_counts(word)
    assert {*found.free, *found.licensed} == counts
