"""How two words rhyme: bonds, kinds and credit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.rhyme.pairs import (
    FULL,
    LIGHT,
    NEAR,
    SPELLED,
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
    assert 0.0 <= credit <= FULL
    assert (credit == FULL) == (classify_rhyme(first, second) == "perfect")
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
    assert credit_rhyme("azzight", "pzzight") < FULL


SOUNDING = st.sampled_from(
    "light night tonight knight moon june silver singing morning zzight zrun time rhyme a the".split()
)


@pytest.mark.parametrize(
    ("first", "second", "credit"),
    [
        ("light", "tonight", FULL),
        ("moonlight", "night", FULL),
        ("reason", "season", FULL),
        ("leave", "believe", FULL),
        ("light", "light", 0.0),
        ("knight", "night", 0.0),
        ("light", "moon", 0.0),
        ("love", "move", SPELLED),
        ("me", "eternity", FULL),
        ("memory", "eternity", LIGHT),
        ("desire", "aspire", FULL),
        ("singing", "morning", NEAR),
        ("light", "azzight", SPELLED),
        ("light", "azzoom", 0.0),
        ("", "light", 0.0),
        ("here", "fear", FULL),
        ("borrow", "sorrow", FULL),
        ("been", "queen", FULL),
        ("eloquence", "sense", FULL),
        ("carnival", "fall", FULL),
        ("drest", "guest", FULL),
        ("eyes", "paradise", SPELLED),
        ("lessons", "essence", NEAR),
        ("join", "mine", SPELLED),
        ("lost", "coast", SPELLED),
        ("tongue", "wrong", SPELLED),
        ("wearily", "sky", SPELLED),
        ("prophecies", "arise", SPELLED),
        ("beauty", "die", 0.0),
        ("thee", "die", 0.0),
        ("given", "heaven", SPELLED),
        ("glory", "sorry", SPELLED),
        ("mother", "her", NEAR),
        ("was", "glass", SPELLED),
        ("calcutta", "butter", SPELLED),
        ("majorca", "walker", SPELLED),
        ("north", "broth", SPELLED),
        ("muffin", "stuffing", SPELLED),
        ("young", "sun", NEAR),
        ("garnished", "red", SPELLED),
        ("remembered", "dead", SPELLED),
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
        assert credit_rhyme(first, second) < FULL


@given(ANY_ENDS, ANY_ENDS)
def test_words_without_a_common_trait_do_not_rhyme(first: str, second: str) -> None:
    if find_traits(first).isdisjoint(find_traits(second)):
        assert find_bond(first, second) in (Bond.NONE, Bond.ASSONANCE, Bond.OPEN)
        assert credit_rhyme(first, second) == 0.0
