"""An explanation says what the verifier says, and what it names as wrong is what is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.explanation import explain_poem
from learnable.verifiers.poetry.metre.scansion import place_marks
from learnable.verifiers.registry import find_verifier

HAIKU = "Rain on the tin roof\nthe old cat turns in her sleep\na door somewhere shuts"
COUPLET = "The boats came slowly home across the bay\nAnd all the harbour lamps were lit till day"
QUATRAIN = "The road is long\nThe night is cold\nI hum a song\nMy boots are old"


@pytest.mark.parametrize(
    ("poem", "spec"), [(HAIKU, {"form": "haiku"}), (COUPLET, {"form": "couplet"}), (HAIKU, {"form": "sonnet"})]
)
def test_it_agrees_with_the_verifier(poem: str, spec: dict[str, str]) -> None:
    found = explain_poem(poem, spec).as_dict()
    score = find_verifier("poetry").score(poem, prompt="", spec=spec)
    assert (found["reward"], found["passed"], found["components"]) == (score.reward, score.passed, score.components)
    assert [line["text"] for line in found["lines"]] == poem.splitlines()
    assert {part["name"] for part in found["parts"]} == set(score.components)


def test_a_line_says_what_is_heard_and_what_is_wanted() -> None:
    first, second, _ = explain_poem(HAIKU, {"form": "haiku"}).lines
    assert 5 in first.syllables
    assert (first.wanted_syllables, second.wanted_syllables) == ("5", "7")
    assert len(second.stress) in second.syllables
    assert (first.line, first.wanted_rhyme) == (1, None)


def test_rhymes_are_lettered_as_heard_and_as_wanted() -> None:
    lines = explain_poem(QUATRAIN, {"form": "quatrain", "schemes": ["abab"]}).lines
    assert [line.rhyme for line in lines] == [line.wanted_rhyme for line in lines] == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    ("poem", "spec", "hint"),
    [
        (HAIKU.replace("old cat", "old tabby cat"), {"form": "haiku"}, "line 2: 8 or 9 syllables, 7 wanted"),
        (HAIKU.replace("\na door somewhere shuts", ""), {"form": "haiku"}, "2 lines, 3 wanted"),
        (QUATRAIN.replace("old", "new"), {"form": "quatrain", "schemes": ["abab"]}, "lines 2 and 4 should rhyme"),
        ("...", {"form": "haiku"}, "write a poem"),
        (
            HAIKU.replace("the old cat turns in her sleep", "cat paper window copper"),
            {"form": "haiku"},
            "line 2: reads as no sentence of verse, least at",
        ),
        (
            "the moon of the garden\nthe song of the harbour\nthe rose of the mountain\nthe name of the water",
            {"form": "Verse", "lines": 4, "syllables": 6},
            "the lines are one template",
        ),
        (
            "rain on the tin roof\nrain on the tin roof again\nrain on the tin roof",
            {"form": "haiku"},
            "45% of the words are phrases that earlier lines have",
        ),
        (
            "under the torrid kuhr the nodes was past\nand for the huggett it had some effect\n"
            "but with a latch and not a swam of mast\nnor rah of wronski what could they expect\n"
            "but still tis beal to uclaf to the last\ntis never too hogs to be tattler wreck'd",
            {"form": "Verse", "lines": 6, "syllables": 10},
            "10 words are hardly known, more than verse has, such as 'torrid'",
        ),
        (  # with as much language as most forms need, and less than this one
            "Where her tall cloud soared from that feet\nAnd this word wore my simple heat\n"
            "And a distant cell\nA chest wore a shell\nI called his hope when he was neat",
            {"form": "Limerick"},
            "line 1: reads least as a sentence of verse, of which the form needs more",
        ),
    ],
)
def test_hints_name_what_is_wrong(poem: str, spec: dict[str, object], hint: str) -> None:
    assert [text for text in explain_poem(poem, spec).hints if hint in text]


def test_a_licence_of_metre_that_any_poet_takes_needs_no_hint() -> None:
    poem = "The lantern swings above the gate\nA moth is tapping on the glass\nThe hour is still, the night is late\n"
    found = explain_poem(poem + "And over us the planets pass", {"form": "LongMetre"})
    assert next(part.value for part in found.parts if part.name == "metre") < 1
    assert not [hint for hint in found.hints if hint.startswith("metre")]


def test_a_perfect_poem_needs_no_hint() -> None:
    assert explain_poem(HAIKU, {"form": "haiku"}).hints == ()


def test_an_unknown_form_is_named() -> None:
    with pytest.raises(LearnableError, match="hiaku"):
        explain_poem(HAIKU, {"form": "hiaku"})


@given(st.text(max_size=60), st.text("+-", max_size=12))
def test_marks_fit_over_any_text(text: str, stress: str) -> None:
    assert len(place_marks(text, stress)) == len(text)


def test_marks_stand_over_vowels() -> None:
    text = "The moon is slowly rising"
    marks = place_marks(text, "-+-+-+-")
    assert [text[i] for i, mark in enumerate(marks) if mark != " "] == ["e", "o", "i", "o", "y", "i", "i"]


def test_each_line_says_how_much_it_reads_as_language() -> None:
    salad = HAIKU.replace("the old cat turns in her sleep", "cat paper window copper")
    first, second, _ = explain_poem(salad, {"form": "haiku"}).lines
    assert first.language is not None
    assert second.language is not None
    assert first.language > second.language
    assert explain_poem("Noon\nbright hot\n", {"form": "Diamante"}).lines[0].language is None


def test_a_rhyme_over_two_words_needs_no_hint() -> None:
    poem = "And what I keep I never show it,\nI leave it lying by the door,\nUntil some other folk bestow it\n"
    for last, hints in ("On those who came to ask for more.", 0), ("On those who came to ask for night.", 1):
        found = explain_poem(poem + last, {"form": "Verse", "lines": 4, "schemes": "abab"}).hints
        assert len([hint for hint in found if "should rhyme" in hint]) == hints


def test_hints_about_dialect_name_the_standard_words() -> None:
    heap = "nicht stane snaw toun hame\nlicht mou' stane nicht hame\nsnaw toun licht mou' stane"
    hints = "\n".join(explain_poem(heap, {"form": "FreeVerse"}).hints)
    assert "reads as no sentence of verse" in hints
    assert "'stone snow'" in hints
