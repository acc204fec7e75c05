"""Declarations: what is read, and how a mistake is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.sources.family import fold_name
from learnable.verifiers.poetry.forms import (
    constrain_form,
    find_form,
    form_of_spec,
    load_forms,
    poem_forms,
    requirement,
)
from learnable.verifiers.poetry.forms.form import FORM_CHECKS

GOOD = '[Lantern]\ntitle = "lantern"\nsyllables = [1, 2, 3, 4, 1]\n'


def test_every_name_title_and_alias_is_one_forms_alone() -> None:
    owners: dict[str, str] = {}
    for form in poem_forms().values():
        for name in {fold_name(alias) for alias in (form.name, form.title, *form.aliases)}:
            assert owners.setdefault(name, form.name) == form.name


def test_a_form_is_found_by_each_of_its_names_and_says_what_it_asks() -> None:
    for name, form in poem_forms().items():
        assert all(find_form(alias) is form for alias in (form.name, form.title, *form.aliases)), name
        assert form.check in FORM_CHECKS, name
        if form.is_reward and name != "Verse":
            said = requirement(constrain_form(form, {}))
            assert said, name
            assert "$" not in said, name
            assert "{" not in said, name


def test_a_users_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD, encoding="utf-8")
    form = load_forms(file)["Lantern"]
    assert (form.line_count, form.group) == (5, "mine")
    carried = form_of_spec({"form": "Lantern", "declaration": form.declaration()})
    assert (carried.syllables, carried.title) == (form.syllables, form.title)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "sylables = 3\n", r"mine.toml: line 4: form Lantern: form key 'sylables' is not known: use syllables"),
        (GOOD + 'schemes = ["a!bb?"]\n', r"line 4: form Lantern: form key 'schemes': '!' is not a label"),
        (GOOD + 'schemes = ["abab"]\n', r"line 3: form Lantern: form key 'syllables' has 5 numbers for 4 lines"),
        (GOOD + 'repeats = ["n.2 is n+1.1"]\n', r"line 4: .*'repeats': 'n.2 is n\+1.1' is not an equality of lines"),
        (GOOD + 'repeats = ["n.2 = m.1"]\n', r"line 4: .*'m' is not a place"),
        (GOOD + "tolerance = true\n", r"line 4: .*'tolerance': True is not a whole number"),
        (GOOD + 'metre = "iambus"\n', r"line 4: .*'iambus' is not one of iambic, trochaic"),
        (GOOD + 'names = { list = "colors" }\n', r"line 4: .*'colors' is not a word list: use"),
        (GOOD + 'opening = { rhyme = "aa" }\n', r"line 4: .*'rhyme' is not one of lines"),
        (GOOD + "defining = { rhyme = 75 }\n", r"line 4: .*rhyme = 75: give a share from 0 to 1"),
        (GOOD + 'repeat = "3-20"\n', r"line 4: .*'repeat_default' is missing"),
        (GOOD + 'repeat = "20-3"\n', r"line 4: .*'20-3' is not a range"),
        (GOOD + 'check = "theme"\n', r"line 4: .*'why' is missing"),
        ("[Lantern]\nlines = 3\n", r"line 1: form Lantern: form key 'title' is missing"),
        ("lines = 3\n", r"line 1: 'lines' stands outside a \[Form\] table"),
        ("[Lantern\n", r"mine.toml: .*line 1"),
        ("", r"declares no form"),
    ],
)
def test_a_mistake_names_file_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(LearnableError, match=message) as told:
        load_forms(file)
    assert str(file) in str(told.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LearnableError, match=r"nothing\.toml"):
        load_forms(tmp_path / "nothing.toml")


def test_an_unknown_form_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Villanelle"):
        find_form("vilanelle")
