from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.train.policy.lexicon import count_syllables, find_rhyme, find_stress, load_lexicon
from learnable.train.policy.lines import IAMBIC_LINE, _Filling, _read_frame, draw_ends, write_line

TOPICS = pytest.importorskip("learnable.verifiers.poetry.subjects").TOPICS


@given(count=st.integers(3, 13), seed=st.integers(0, 2**32), topic=st.none() | st.sampled_from(TOPICS))
def test_a_line_has_the_requested_syllables_and_ends_as_told(count, seed, topic):
    rng = random.Random(seed)
    end = draw_ends(rng, rng.randrange(len(load_lexicon().ends)), 1)[0]
    words = write_line(rng, count, end, topic).split()
    assert sum(count_syllables(word) or 99 for word in words) == count
    assert words[-1].lower() == end


def test_a_line_names_its_topic_where_there_is_room():
    rng = random.Random(1)
    for topic in TOPICS:
        end = draw_ends(rng, 0, 1)[0]
        assert topic in write_line(rng, 9, end, topic).lower().split()


def test_rhyme_classes_hold_distinct_sounds_of_one_rhyme():
    for words in load_lexicon().ends:
        assert len({find_rhyme(word) for word in words}) == 1
        assert len(set(words)) == len(words) >= 6


def test_homophones_are_kept_once():
    ends = {word for words in load_lexicon().ends for word in words}
    for pair in ({"pail", "pale"}, {"road", "rowed"}, {"knight", "night"}):
        assert len(ends & pair) <= 1


def test_stresses_alternate_where_the_metre_is_iambic():
    rng = random.Random(4)
    for _ in range(60):
        end = draw_ends(rng, rng.randrange(len(load_lexicon().ends)), 1)[0]
        marks = [find_stress(word) for word in write_line(rng, 10, end, metre=IAMBIC_LINE).split()]
        place = 0
        for stresses in marks:
            for behind, mark in enumerate(stresses):
                if len(stresses) > 1 and mark != ".":
                    assert (mark == "+") == bool((place + behind) % 2)
            place += len(stresses)


def test_verbs_are_said_of_what_they_fit():
    lexicon, rng = load_lexicon(), random.Random(9)
    fits = []
    for _ in range(400):
        filling = _Filling(rng, _read_frame("DNIPDE"), "sleet", None, IAMBIC_LINE)
        if (words := filling.fill(8)) and filling.is_sensible():
            fits.append(lexicon.classes[words[1]] in lexicon.intransitive[words[2]])
    assert len(fits) > 20
    assert all(fits)


def test_a_subject_stands_before_its_verb_and_after_no_preposition():
    assert _read_frame("PDNDNVDE").subject_of == (-1, -1, -1, -1, -1, 4, -1, -1)
    assert _read_frame("SIKVDE").subject_of[3] == 0
    assert _read_frame("PDNIDE").subject_of[3] == 5
    assert _read_frame("DNVDNCSVDE").subject_of[7] == 6
