from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from learnable.data.sources.families.words import TOPICS
from learnable.train.policy.lexicon import count_syllables, find_rhyme, load_lexicon
from learnable.train.policy.lines import draw_ends, write_line


@given(count=st.integers(3, 13), seed=st.integers(0, 2**32), topic=st.none() | st.sampled_from(TOPICS))
def test_a_line_has_the_requested_syllables_and_ends_as_told(count, seed, topic):
    rng = random.Random(seed)
    end = draw_ends(rng, rng.randrange(len(load_lexicon().ends)), 1)[0]
    words = write_line(rng, count, end, topic).split()
    assert sum(count_syllables(word) or 99 for word in words) == count
    assert words[-1].lower() == end.word


def test_a_line_names_its_topic_where_there_is_room():
    rng = random.Random(1)
    for topic in TOPICS:
        end = draw_ends(rng, 0, 1)[0]
        assert topic in write_line(rng, 9, end, topic).lower().split()


def test_rhyme_classes_hold_distinct_sounds_of_one_rhyme():
    for words in load_lexicon().ends:
        assert len({find_rhyme(word) for word, _ in words}) == 1
        assert len({word for word, _ in words}) == len(words) >= 6


def test_homophones_are_kept_once():
    ends = {word for words in load_lexicon().ends for word, _ in words}
    for pair in ({"pail", "pale"}, {"road", "rowed"}, {"knight", "night"}):
        assert len(ends & pair) <= 1
