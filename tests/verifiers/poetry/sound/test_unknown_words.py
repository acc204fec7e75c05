"""Words the dictionary lacks: by old spelling, by their parts, by licence, by their endings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.phones import CONSONANTS, VOWELS, decode, encode, stresses
from learnable.verifiers.poetry.sound.pronunciation import (
    licensed_counts,
    pronunciations,
    reachable_counts,
    syllable_counts,
)
from learnable.verifiers.poetry.sound.unknown_words import estimate, guess, learn, learn_shares

PHONES = st.sampled_from([*CONSONANTS, *(vowel + stress for vowel in VOWELS for stress in "012")])


@given(st.lists(PHONES, max_size=12))
def test_encoded_phones_come_back(phones: list[str]) -> None:
    assert decode(encode(" ".join(phones))) == tuple(phones)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(0, 3), min_size=1, max_size=20))
def test_a_suffix_is_kept_only_where_it_says_something_new(examples: dict[str, int]) -> None:
    table = learn(examples.items())
    assert all(
        guess({key: table[key] for key in table if key != suffix}, suffix) != table[suffix]
        for suffix in table
        if suffix and not suffix.startswith("^")
    )
    assert "" in table


def test_the_commonest_target_of_an_ending_is_guessed() -> None:
    table = learn([("moon", "UW N"), ("noon", "UW N"), ("stone", "OW N"), ("bone", "OW N"), ("soon", "UW N")])
    assert (guess(table, "balloon"), guess(table, "alone")) == ("UW N", "OW N")


def test_a_silent_e_is_learned() -> None:
    words = {"stone": 1, "bone": 1, "cone": 1, "ton": 1, "con": 1, "tone": 1, "melon": 2, "lemon": 2, "demon": 2}
    shares = learn_shares(list(words.items()) * 20)
    assert {word: estimate(shares, word) for word in words} == words
    assert estimate(shares, "drone") == 1


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
    assert pronunciations(word)
    modern = {phones[-1] for phones in pronunciations(rhyming)}
    assert {phones[-1] for phones in pronunciations(word)} <= modern


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("moontide", "M UW1 N T AY2 D"),
        ("overflow'd", "OW2 V ER0 F L OW1 D"),
        ("loveth", "L AH1 V IH0 TH"),
        ("smokelessness", "S M OW1 K L AH0 S N AH0 S"),
        ("wing\u00e8d", "W IH1 NG IH0 D"),
        ("glade's", "G L EY1 D Z"),
    ],
)
def test_a_word_of_known_parts_sounds_like_them(word: str, phones: str) -> None:
    assert tuple(phones.split()) in pronunciations(word)


@pytest.mark.parametrize("word", ["azzight", "pzzight", "bqqoam", "brrgh", "qqq"])
def test_gibberish_has_no_known_sound(word: str) -> None:
    assert pronunciations(word) == ()
    assert min(syllable_counts(word)) >= 1


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
    assert (syllable_counts(word), licensed_counts(word)) == (free, licensed)


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
    assert reachable_counts(read_line(line).words) == counts


def test_letters_of_another_script_are_no_word() -> None:
    assert read_line("p\u0430le moon").strange == 1
    assert read_line("p\u0430le moon").words == ("moon",)


@given(st.lists(st.sampled_from(["heaven", "glorious", "many", "a", "the", "amazed", "moon", "over"]), max_size=12))
def test_licences_do_not_pass_a_line_as_any_length(words: list[str]) -> None:
    counts = reachable_counts(words)
    assert max(counts) - min(counts) <= 2 * -(-len(words) // 4) + words.count("glorious")


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    line = read_line(text)
    assert all(word == word.lower() and word.strip() for word in line.words)
    assert min(reachable_counts(line.words)) >= 0


def test_a_word_too_long_to_be_one_is_strange() -> None:
    assert read_line("moon " + "a" * 100_000).strange == 1


def test_a_line_of_endless_choices_is_counted() -> None:
    counts = reachable_counts(["heaven"] * 1000)
    assert (min(counts), max(counts)) == (1975, 2000)


def test_stress_marks_are_one_a_syllable() -> None:
    assert [stresses(phones) for phones in pronunciations("eternity")] == ["0100", "0100"]
