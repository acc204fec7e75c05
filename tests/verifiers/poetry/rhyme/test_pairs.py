"""How two words rhyme: bonds, kinds and credit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.rhyme.pairs import (
    FULL_RHYME,
    LIGHT_RHYME,
    NEAR_RHYME,
    SPELLED_RHYME,
    Bond,
    classify_rhyme,
    credit_rhyme,
    find_bond,
    is_repetition,
)
from learnable.verifiers.poetry.rhyme.rimes import find_traits
from learnable.verifiers.poetry.sound.lexicon import load_lexicon

WORDS = st.sampled_from(
    "light night knight moon love move stone home singing morning eternity memory me fire desire azzight skies".split()
)


ODD_ENDS = ["azzight", "pzzight", "zz", "b4", "x", "heav'n", "wing\u00e8d", ""]


ANY_ENDS = st.deferred(lambda: st.sampled_from([*sorted(load_lexicon().entries)[::20], *ODD_ENDS]))


@given(WORDS, WORDS)
def test_rhyme_does_not_depend_on_order(first: str, second: str) -> None:
    assert find_bond(first, second) == find_bond(second, first)
    assert credit_rhyme(first, second) == credit_rhyme(second, first)
    assert classify_rhyme(first, second) == classify_rhyme(second, first)


@given(WORDS, WORDS)
def test_only_perfect_rhymes_are_full_and_repetitions_earn_nothing(first: str, second: str) -> None:
    credit = credit_rhyme(first, second)
    assert 0.0 <= credit <= FULL_RHYME
    assert (credit == FULL_RHYME) == (classify_rhyme(first, second) == "perfect")
    if is_repetition(first, second):
        assert credit == 0.0


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("light", "tonight", "perfect"),
        ("me", "eternity", "perfect"),
        ("night", "knight", "identical"),
        ("love", "prove", "eye"),
        ("stone", "home", "family"),
        ("singing", "morning", "last"),
        ("memory", "eternity", "last"),
        ("moor", "more", "slant"),
        ("seek", "break", "slant"),
        ("light", "moon", "none"),
        ("noise", "voice", "family"),
        ("join", "mine", "slant"),
        ("sky", "wearily", "last"),
        ("lover", "over", "slant"),
        ("", "moon", "none"),
    ],
)
def test_kinds(first: str, second: str, kind: str) -> None:
    assert classify_rhyme(first, second) == kind


def test_unknown_words_never_rhyme_fully() -> None:
    assert find_bond("azzight", "pzzight") is Bond.GUESSED_SPELLED
    assert credit_rhyme("azzight", "pzzight") < FULL_RHYME


SOUNDING = st.sampled_from(
    "light night tonight knight moon june silver singing morning zzight zrun time rhyme a the".split()
)


@pytest.mark.parametrize(
    ("first", "second", "credit"),
    [
        ("light", "tonight", FULL_RHYME),
        ("moonlight", "night", FULL_RHYME),
        ("reason", "season", FULL_RHYME),
        ("leave", "believe", FULL_RHYME),
        ("light", "light", 0.0),
        ("knight", "night", 0.0),
        ("light", "moon", 0.0),
        ("love", "move", SPELLED_RHYME),
        ("me", "eternity", FULL_RHYME),
        ("memory", "eternity", LIGHT_RHYME),
        ("desire", "aspire", FULL_RHYME),
        ("singing", "morning", NEAR_RHYME),
        ("light", "azzight", SPELLED_RHYME),
        ("light", "azzoom", 0.0),
        ("", "light", 0.0),
        ("here", "fear", FULL_RHYME),
        ("borrow", "sorrow", FULL_RHYME),
        ("been", "queen", FULL_RHYME),
        ("eloquence", "sense", FULL_RHYME),
        ("carnival", "fall", FULL_RHYME),
        ("drest", "guest", FULL_RHYME),
        ("eyes", "paradise", SPELLED_RHYME),
        ("lessons", "essence", NEAR_RHYME),
        ("join", "mine", SPELLED_RHYME),
        ("lost", "coast", SPELLED_RHYME),
        ("tongue", "wrong", SPELLED_RHYME),
        ("wearily", "sky", SPELLED_RHYME),
        ("prophecies", "arise", SPELLED_RHYME),
        ("beauty", "die", 0.0),
        ("thee", "die", 0.0),
        ("given", "heaven", SPELLED_RHYME),
        ("glory", "sorry", SPELLED_RHYME),
        ("mother", "her", NEAR_RHYME),
        ("was", "glass", SPELLED_RHYME),
        ("calcutta", "butter", SPELLED_RHYME),
        ("majorca", "walker", SPELLED_RHYME),
        ("north", "broth", SPELLED_RHYME),
        ("muffin", "stuffing", SPELLED_RHYME),
        ("young", "sun", NEAR_RHYME),
        ("garnished", "red", SPELLED_RHYME),
        ("remembered", "dead", SPELLED_RHYME),
        ("loved", "dead", 0.0),
        ("wounded", "garnished", 0.0),
    ],
)
def test_rhyme_credit(first: str, second: str, credit: float) -> None:
    assert credit_rhyme(first, second) == credit


@given(SOUNDING, SOUNDING)
def test_rhyme_is_symmetric_for_known_words(first: str, second: str) -> None:
    if not {first, second} & {"zzight", "zrun"}:
        assert credit_rhyme(first, second) == credit_rhyme(second, first)
    else:
        assert credit_rhyme(first, second) < FULL_RHYME


@given(ANY_ENDS, ANY_ENDS)
def test_words_without_a_common_trait_do_not_rhyme(first: str, second: str) -> None:
    if find_traits(first).isdisjoint(find_traits(second)):
        assert find_bond(first, second) in (Bond.NONE, Bond.ASSONANCE, Bond.OPEN)
        assert credit_rhyme(first, second) == 0.0
