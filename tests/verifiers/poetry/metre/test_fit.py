"""Poems against prose and against the rival metre, and each licence that readers grant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.verifiers.poetry.bounds import METRE
from learnable.verifiers.poetry.metre.duple import TOO_DEAR, find_duple_costs, lay_out
from learnable.verifiers.poetry.metre.fit import (
    MetreReading,
    credit_metre,
    find_pauses,
    fit_line,
    name_rhythm,
    read_metre,
)
from learnable.verifiers.poetry.metre.metres import METRES
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.registry import find_verifier

IAMBIC = """The lamps are lit along the harbour wall
And one by one the fishing boats come in
I hear the women on the landing call
Above the gulls and all their greedy din
My father used to sit beside the door
And mend the nets until the light was gone
He never told us what he did it for
We only saw his patient hands go on
The house is empty now the nets are sold
A stranger keeps his bicycle inside
But when the nights grow long and clear and cold
I still go down to listen to the tide
And think of him and how he used to say
That every boat comes home at close of day""".splitlines()
TROCHAIC = """Silent rivers carry golden lanterns
Past the village where my mother waited
Summer evening falls upon the garden
Every window slowly turns to silver
Children running homeward from the meadow
Carry baskets full of yellow apples
Father mends the broken gate in silence
No one asks him what became of winter""".splitlines()
PROSE = """the mayor said on Tuesday that the new
bridge across the river would be open
to traffic at the end of the month nearly
two years later than the city had planned
work on the crossing stopped last winter when
two years later than the city had planned
walk to the shops in ten minutes and now
agreed to pay for the repairs people
who live near the old bridge say they are tired
of waiting I used to be able to
walk to the shops in ten minutes and now
I have to take two buses said a woman
who has lived on the east side for thirty
years the council will meet again next week""".splitlines()


def as_blank_verse(lines: list[str]) -> tuple[bool, float, float]:
    """Return whether a poem passes as blank verse, its reward, and its metre."""
    score = find_verifier("poetry").score("\n".join(lines), prompt="", spec={"form": "BlankVerse"})
    assert score.reward is not None
    return bool(score.passed), score.reward, score.components["metre"]


def strict(lines: list[str], metre: str = "iambic", feet: int | None = 5) -> float:
    return read(lines, metre, feet).strict


def read(lines: list[str], metre: str = "iambic", feet: int | None = 5) -> MetreReading:
    return read_metre(tuple((line, read_line(line).words) for line in lines), metre, (feet,) * len(lines))


@pytest.mark.parametrize(
    ("lines", "verse"), [(IAMBIC, True), (TROCHAIC, False), (PROSE, False)], ids=["iambic", "trochaic", "prose"]
)
def test_only_iambic_pentameter_is_blank_verse(lines: list[str], verse: bool) -> None:
    assert (strict(lines) >= 0.5) is verse
    passed, reward, metre = as_blank_verse(lines)
    assert passed is verse or lines is IAMBIC  # it rhymes
    assert (metre > 0.5) is verse
    assert verse or reward < 0.6


def test_a_perfectly_trochaic_line_is_not_iambic() -> None:
    line = TROCHAIC[0].lower().split()
    assert credit_metre(line, "iambic", 5) < 0.3 < credit_metre(line, "trochaic", 5)


def test_a_poem_in_the_rivals_metre_is_in_no_other_however_long_its_lines_are() -> None:
    lines = [f"{one} {other}" for one, other in zip(TROCHAIC[::2], TROCHAIC[1::2], strict=True)]
    assert strict(lines, "iambic", None) < 0.5 < strict(lines, "trochaic", None)


@pytest.mark.parametrize(
    ("kept", "lost"),
    [
        # An inverted first foot.
        ("morning returns to find the window wide", "the morning returns to find the window wide open"),
        # A feminine ending, but not a foot more.
        ("a lantern burns above the silent harbour", "a lantern burns above the silent harbour wall"),
        # A headless line, but not one that lacks a syllable between its beats.
        ("lamps above the harbour burn all night", "a lamp above harbour burns all night"),
        ("stars above the harbour slowly rise", "the stars above harbour slowly rise"),
        # A foot inverted after a pause, but not anywhere.
        ("the lamp is out, silence is on the hill", "the lamps are bright although silence is ours"),
        ("I saw the sea, silver and cold as stone", "I saw beyond silver and cold a stone"),
        # Elision: the syllable may fall.
        ("and glorious lanterns burn above the bay", "and handmade lanterns burn above the bay now"),
        # Spondee and pyrrhic.
        ("long nights and cold stars on the silent bay", "nights long and stars cold bay silent the on"),
    ],
)
def test_licences(kept: str, lost: str) -> None:
    fits = [
        fit_line(words := tuple(text.replace(",", "").split()), "iambic", 5, find_pauses(text, words))
        for text in (kept, lost)
    ]
    assert fits[0].own < 0.75 * fits[0].places
    assert fits[1].own > fits[0].own + 1.0


def test_a_pause_allows_an_inversion() -> None:
    words = tuple("the lamp is out silence is on the hill".split())
    with_pause, without = (fit_line(words, "iambic", 5, pauses).own for pauses in ((4,), ()))
    assert with_pause < without - 1.0


def test_a_headless_line_keeps_the_metre_of_its_poem_but_a_poem_of_them_does_not() -> None:
    headless = "Stars above the harbour slowly rise"
    whole = [*IAMBIC[:6], headless, *IAMBIC[7:]]
    reading = read(whole)
    assert reading.strict >= 0.5
    assert reading.credits[6] >= 0.95
    assert reading.lines[6] is not None
    assert reading.lines[6].keeps
    assert strict([headless.replace("harbour", name) for name in ("village", "river", "valley", "garden")]) < 0.5


@pytest.mark.parametrize(
    "line",
    [
        "homeward the plowman plods his weary way",  # the first foot turned round, as any may be
        "the plowman plods his weary way",
        "and now the plowman homeward plods his weary way",
        "plowman the homeward plods his weary way",
    ],
)
def test_a_departure_costs_something_even_where_it_is_allowed(line: str) -> None:
    regular = credit_metre("the plowman homeward plods his weary way".split(), "iambic", 5)
    assert credit_metre(line.split(), "iambic", 5) < regular <= 1.0


def test_pauses_beyond_what_is_read_of_a_line_are_left_out() -> None:
    line = ("the window, " * 60).strip()
    assert 0.0 < read([line]).rate <= METRE.most


def test_what_is_left_of_a_poem_decides_less() -> None:
    assert read(PROSE[:1]).needed > 1.0
    assert read_metre((None, None), "iambic", (5, 5)).strict == 0.0
    assert read_metre((None,), "iambic", (5,)).credits == [0.0]


@pytest.mark.parametrize(
    ("line", "metre", "feet", "rhythm"),
    [
        (TROCHAIC[0], "iambic", 5, "trochaic"),
        ("the plowman homeward plods", "iambic", 5, "iambic trimeter"),
        ("in the dusk of the garden a lantern is lit", "iambic", 5, "anapaestic"),
        ("traffic at the end of the month nearly", "iambic", 5, "prose"),
        ("two years later than the city had planned", "iambic", 5, "prose"),
        ("walk to the shops in ten minutes and now", "iambic", 5, "prose"),
    ],
)
def test_what_a_line_reads_as(line: str, metre: str, feet: int, rhythm: str) -> None:
    assert name_rhythm(tuple(line.lower().split()), metre, feet) == rhythm


@given(
    st.lists(
        st.sampled_from("the a moon and silver upon heaven remember fire of not delight xqztu th'".split()), max_size=9
    ),
    st.sampled_from(sorted(METRES)),
    st.none() | st.integers(1, 7),
)
def test_a_line_costs_something_and_never_more_than_no_metre(words: list[str], metre: str, feet: int | None) -> None:
    fit = fit_line(tuple(words), metre, feet)
    assert 0.0 <= fit.cost <= METRE.most * fit.places
    assert fit.own >= 0.0


def test_the_cheapest_way_is_never_cheaper_than_the_places_by_hand() -> None:
    line = lay_out("the plowman homeward plods his weary way".split())
    own, rival, full = find_duple_costs(line, "iambic", 5)
    assert own < 1.5 < 1.4 + own == pytest.approx(rival)
    assert full == rival < TOO_DEAR
    assert find_duple_costs(line, "trochaic", 5)[1] == pytest.approx(own)
    assert find_duple_costs(line, "iambic", 4)[0] == pytest.approx(own + 4.0)
    assert find_duple_costs([], "iambic", 5) == (TOO_DEAR,) * 3
