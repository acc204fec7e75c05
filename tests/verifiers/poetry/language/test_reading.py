"""Verse reads as language, old or new; what keeps its words and loses their order does not."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from learnable.verifiers.poetry.bounds import LANGUAGE
from learnable.verifiers.poetry.language.model import load_model
from learnable.verifiers.poetry.language.reading import (
    LanguageReading,
    read_language,
)
from learnable.verifiers.poetry.language.sameness import find_template
from learnable.verifiers.poetry.poem import read_line

OLD = """\
Thou hast no power, sweet sleep, to mend my woe,
Nor can thy poppies, though they drowse the day,
Undo the word that bade my true love go
And turned her face from me another way.
Cold is the stone whereon the pilgrim lies,
And colder still the heart that sent him hence;
Yet in his dream he sees his lady's eyes,
And wakes, and calls it scanty recompense."""
NEW = """\
The kettle clicks. You hand me back my keys
and say the car will need new brakes by spring.
I watch the neighbour's washing in the breeze
and cannot think of any other thing
to ask you, so I ask about your mother.
She's fine, you say. She's learning how to swim.
We stand there for a while beside each other
until the kitchen window has gone dim."""
DIALECT = """\
I'll no gang back to yon wee house at all,
for what was mine is sold and gone awa';
the rain comes through the roof and doon the wall,
and there is nane that minds me there ava."""
REFRAIN = """\
The tide comes in, the tide goes out again.
I mend my nets and look along the shore.
My father's boat was taken with ten men.
The tide comes in, the tide goes out again.
We set a lamp to burn for him till then,
and no one ever thinks to bolt the door.
The tide comes in, the tide goes out again.
I mend my nets and look along the shore."""
NOUNS = """\
summer pocket velvet tunnel red light
window copper paper basket green stone
pepper mirror candle thunder blue night
sugar hammer blanket river white bone"""
ANAPHORA = """\
I remember the smell of the stove in the hall,
I remember the sound of the rain on the wall,
I remember my mother who sang while she sewed,
I remember the dust on the bend of the road."""
TEMPLATE = """\
the moon of the garden
the song of the harbour
the rose of the mountain
the name of the water
the lamp of the pilgrim
the dust of the summer"""


def read(poem: str, may_be_alike: bool = False) -> LanguageReading:
    return read_language([read_line(line).words for line in poem.split("\n")], may_be_alike)


def shuffled(poem: str, seed: int, whole: bool) -> str:
    chance = random.Random(seed)
    lines = [line.split() for line in poem.split("\n")]
    words = [word for line in lines for word in line]
    chance.shuffle(words)
    for line in lines:
        if whole:
            line[:] = [words.pop() for _ in line]
        else:
            chance.shuffle(line)
    return "\n".join(" ".join(line) for line in lines)


@pytest.mark.parametrize("poem", [OLD, NEW, DIALECT, REFRAIN], ids=["old", "new", "dialect", "refrain"])
def test_verse_reads_as_language(poem: str) -> None:
    found = read(poem)
    assert found.strict >= 0.5
    assert found.earn() > 0.6


@pytest.mark.parametrize("poem", [OLD, NEW], ids=["old", "new"])
@pytest.mark.parametrize("whole", [True, False], ids=["in the poem", "in lines"])
def test_shuffled_words_do_not(poem: str, whole: bool) -> None:
    for seed in range(10):
        found = read(shuffled(poem, seed, whole))
        assert found.strict < 0.5
        assert found.earn() < read(poem).earn() - 0.2


def test_a_list_of_words_does_not() -> None:
    found = read(NOUNS)
    assert found.strict < 0.2
    assert found.earn() < 0.2


@pytest.mark.parametrize("may_be_alike", [False, True])
def test_a_template_reads_as_no_poem(may_be_alike: bool) -> None:
    assert read(TEMPLATE, may_be_alike).strict < 0.5
    assert read(TEMPLATE, may_be_alike).earn() < 0.5
    assert read(TEMPLATE).earn() == 0.0


def test_lines_may_be_more_alike_where_the_form_makes_them() -> None:
    plain, form = read(ANAPHORA), read(ANAPHORA, may_be_alike=True)
    assert plain.sameness == form.sameness > 0.45
    assert plain.variety < form.variety == 1.0
    assert form.strict >= 0.5


def test_one_line_of_salad_costs_its_share_and_half_a_poem_of_it_the_pass() -> None:
    lines, salad = NEW.split("\n"), NOUNS.split("\n")
    one = read("\n".join([*lines[:3], salad[0], *lines[4:]]))
    assert 0.5 / 8 < read(NEW).earn() - one.earn() < 1.5 / 8
    assert one.odds[3] < min(one.odds[:3] + one.odds[4:])
    assert read("\n".join([*lines[:4], *salad])).strict < 0.5


def test_short_lines_are_read_together() -> None:
    found = read("rain\non the\nroof\nof the house\nwhere I sleep")
    assert found.odds[0] == found.odds[1] == found.odds[2]
    assert found.strict >= 0.5


def test_a_poem_of_a_word_a_line_is_not_judged() -> None:
    found = read("sea\nsilver\nmoving light\nover the sand\nstill")
    assert found.earn() == found.strict == found.variety == 1.0


def test_less_is_needed_of_less_text() -> None:
    found = read(NEW)
    assert replace(found, words=8).margin > found.margin


def test_no_line_is_no_language_and_no_error() -> None:
    assert read("...").earn() == 0.0
    assert read_language([]).earn() == 0.0


def test_words_beyond_a_line_of_verse_are_not_read() -> None:
    model = load_model().neighbours
    assert model.score(("rain",) * 5000) == model.score(("rain",) * 120)


def test_a_template_is_shown_by_whole_lines_or_by_what_returns_most() -> None:
    lines = [tuple(line.split()) for line in TEMPLATE.split("\n")]
    assert find_template(lines) == "the ... of the ..."
    mixed = [("we", *line, *("far", "off")[: index % 3], *line[:1][: index % 2]) for index, line in enumerate(lines)]
    assert find_template(mixed) in ("the ... of the", "we the ... of")


def test_interjections_in_a_row_are_filler_and_one_in_a_short_poem_is_none() -> None:
    filler = read("O thou, alas, O thou, the light\nLo, hark, behold, alas, the hill\nNay, nay, O woe, alas, the rain")
    assert filler.strict == 0.0
    assert read("O Captain, see the harbour lights\nThat burn along the quiet shore").calm == 1.0
    assert read(OLD).calm == read(NEW).calm == 1.0


def test_a_short_poem_is_forgiven_more() -> None:
    short, long = (LanguageReading((-0.2, -0.2), (6, 6), -0.2, words, 0.2, 0.0) for words in (20, 100))
    assert long.strict < 0.5 < short.strict
    assert long.credits[0] < short.credits[0]


def test_lines_of_few_words_count_by_them() -> None:
    reading = LanguageReading((-1.0, 0.8, 0.8, -1.0), (1, 6, 9, 1), 0.5, 100, 0.5, 0.0)
    assert reading.lines == pytest.approx(12 / 14)
    assert reading.earn() == reading.lines


def test_a_reading_that_fails_earns_less_than_its_lines() -> None:
    reading = LanguageReading((-0.3,) * 4, (6,) * 4, -0.5, 100, 0.5, 0.0)
    assert 0 < reading.strict < 0.5
    assert reading.earn() == pytest.approx(reading.lines * 2 * reading.strict)


def test_a_poem_of_hardly_a_word_of_meaning_borrows_the_sense_of_verse() -> None:
    none = read("we were not there and you were here\nand so it was and is and will be")
    assert none.sense == pytest.approx(LANGUAGE.usual_sense, abs=0.3)
    one = load_model().sense.measure([("the", "boats", "are", "lamps")])
    borrowed = LANGUAGE.usual_sense * LANGUAGE.usual_words
    assert read("the boats are lamps").sense == pytest.approx((sum(one.sums) + borrowed) / (2 + LANGUAGE.usual_words))


def test_words_that_nobody_knows_need_more_order_and_sense() -> None:
    known = LanguageReading((0.3,) * 4, (8,) * 4, 0.1, 32, 0.1, 0.0, strangeness=LANGUAGE.usual_strangers)
    assert known.margin == replace(known, strangeness=0.0).margin > 0
    assert replace(known, strangeness=0.75).strict < 0.5
    rare = read("\n".join(["the snorgle of the brickly vimp", "has tarvened all the woshing clane"] * 2))
    assert rare.strangeness > LANGUAGE.usual_strangers > max(read(poem).strangeness for poem in (OLD, NEW, DIALECT))


def test_neither_order_nor_sense_makes_up_for_the_other() -> None:
    found = read(NEW)
    assert found.strict >= 0.5
    assert replace(found, fluency=50.0, sense=-2.0).strict < 0.5
    assert replace(found, fluency=-0.6, sense=50.0).strict < 0.5
