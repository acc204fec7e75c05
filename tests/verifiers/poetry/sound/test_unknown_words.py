"""What the spelling of an unknown word says of its sound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.sound.unknown_words import (
    estimate_from_spelling,
    guess_by_ending,
    learn_endings,
    learn_shares,
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(0, 3), min_size=1, max_size=20))
def test_a_suffix_is_kept_only_where_it_says_something_new(examples: dict[str, int]) -> None:
    table = learn_endings(examples.items())
    assert all(
        guess_by_ending({key: table[key] for key in table if key != suffix}, suffix) != table[suffix]
        for suffix in table
        if suffix and not suffix.startswith("^")
    )
    assert "" in table


def test_the_commonest_target_of_an_ending_is_guessed() -> None:
    table = learn_endings([("moon", "UW N"), ("noon", "UW N"), ("stone", "OW N"), ("bone", "OW N"), ("soon", "UW N")])
    assert (guess_by_ending(table, "balloon"), guess_by_ending(table, "alone")) == ("UW N", "OW N")


def test_a_silent_e_is_learned() -> None:
    words = {"stone": 1, "bone": 1, "cone": 1, "ton": 1, "con": 1, "tone": 1, "melon": 2, "lemon": 2, "demon": 2}
    shares = learn_shares(list(words.items()) * 20)
    assert {word: estimate_from_spelling(shares, word) for word in words} == words
    assert estimate_from_spelling(shares, "drone") == 1
