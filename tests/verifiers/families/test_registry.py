"""Families by name: those of installed packages come after ours, and a broken one is named where it is asked for."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.progress import Silence, watched_by
from learnable.data.records import installed_verifiers
from learnable.verifiers.domains import FAMILIES as OURS
from learnable.verifiers.domains import installed_families
from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.families.registry import (
    ALL_FAMILIES,
    DEFAULT_FAMILIES,
    REQUESTED_FAMILIES,
    find_family,
    find_family_or_form,
    find_forms,
)
from learnable.verifiers.families.wordings import find_wording
from learnable.verifiers.registry import find_verifier

PACKAGE = '''
from dataclasses import dataclass
from learnable.data.records import Prompt
from learnable.data.sources.family import Family, check_knobs, knob

@dataclass(frozen=True, slots=True)
class Knobs:
    """`most`: how many greetings there are."""
    most: int = knob(5, 1, 9)

    def __post_init__(self):
        check_knobs("greetings", self)

def generate(form, seed, knobs):
    for number in range(knobs.most):
        yield Prompt(f"{form} {number}!", "polite", {}, "greetings", form)

GREETINGS = Family("greetings", ("Hello", "Goodbye"), Knobs, generate, {"hi": "Hello", "addition": "Hello"})

def polite(completion):
    return float("please" in completion)
'''
POINTS = """[learnable.families]
greetings = greeters:GREETINGS
arithmetic = greeters:GREETINGS
broken = greeters.nowhere:GREETINGS
other = greeters:GREETINGS
[learnable.verifiers]
polite = greeters:polite
"""


class Heard(Silence):
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "greeters.py").write_text(PACKAGE)
    (tmp_path / "greeters-1.dist-info").mkdir()
    (tmp_path / "greeters-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: greeters\nVersion: 1\n")
    (tmp_path / "greeters-1.dist-info" / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    installed_families.cache_clear()
    installed_verifiers.cache_clear()
    yield
    installed_families.cache_clear()
    installed_verifiers.cache_clear()
    sys.modules.pop("greeters", None)


@pytest.mark.usefixtures("package")
def test_a_package_offers_a_family_with_its_verifier() -> None:
    assert find_forms(["hi", "good-bye"]) == [("greetings", "Hello"), ("greetings", "Goodbye")]
    assert find_family_or_form("hi")[0] is find_family("Greetings") is REQUESTED_FAMILIES["greetings"]
    prompts = list(builtin_prompts(families=["greetings"], knobs={"most": "2"}))
    assert {prompt.form for prompt in prompts} == {"Hello", "Goodbye"}
    assert len(prompts) == 4
    judge = find_verifier(prompts[0].verifier)
    assert [judge.score(text, prompt="", spec={}).reward for text in ("yes please", "no")] == [1.0, 0.0]
    with pytest.raises(LearnableError, match="greetings knob most=10 is out of range"):
        list(builtin_prompts(["Hello"], knobs={"greetings.most": 10}))


@pytest.mark.usefixtures("package")
def test_ours_come_first_and_alone_by_default() -> None:
    assert list(DEFAULT_FAMILIES) == list(OURS)
    assert find_family("arithmetic").forms[0] == "Addition"
    assert find_forms(["addition"]) == [("arithmetic", "Addition")]
    assert [*ALL_FAMILIES][-3:] == ["greetings", "broken", "other"]
    with pytest.raises(UnknownNameError, match="did you mean 'greetings'"):
        find_family("greeting")


@pytest.mark.usefixtures("package")
def test_a_package_that_is_broken_stops_no_form_of_ours() -> None:
    heard = Heard()
    with watched_by(heard):
        assert find_forms(["addition", "hello"]) == [("arithmetic", "Addition"), ("greetings", "Hello")]
        assert find_wording("natural") is not None
    assert [re.findall("'[a-z]+' of", warning) for warning in heard.warnings] == [["'broken' of"], ["'other' of"]]
    with pytest.raises(LearnableError, match=r"'broken' of an installed package \(greeters.nowhere:GREETINGS\) cannot"):
        find_family("broken")
    with pytest.raises(LearnableError, match=r"'other' of an installed package .* is no Family called 'other'"):
        find_family("other")
