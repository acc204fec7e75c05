"""Comparison prompts: which number is greater. Wide gaps are trivial on purpose: real pools have such prompts too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from learnable.data.records import Prompt, name_problem
from learnable.data.sources.family import Family, distinct, on_scale, require, shuffled_grid

CHOICES = ("Yes", "No")
WORDS = {"GreaterThan": ("greater",), "LessThan": ("less",), "WideGap": ("greater", "less")}
TEMPLATES = ("Is {a} {word} than {b}? Answer Yes or No.", "Yes or No: is {a} {word} than {b}?")


@dataclass(frozen=True, slots=True)
class ComparisonKnobs:
    """`largest`: the narrow forms compare 0 to it. `gap`: how far apart the numbers of WideGap are at least."""

    largest: int = 20
    gap: int = 50

    def __post_init__(self) -> None:
        require("comparison", "largest", self.largest, 1, 10**9)
        require("comparison", "gap", self.gap, 1, 90)


def generate(form: str, seed: int, knobs: ComparisonKnobs) -> Iterator[Prompt]:
    """Yield the prompts of one comparison form."""
    numbers = range(100) if form == "WideGap" else range(knobs.largest + 1)
    points = shuffled_grid(f"{form}:{seed}", numbers, numbers, WORDS[form], TEMPLATES)
    return distinct(
        _prompt(form, a, b, word, template)
        for a, b, word, template in points
        if form != "WideGap" or abs(a - b) >= knobs.gap
    )


def _prompt(form: str, a: int, b: int, word: str, template: str) -> Prompt:
    holds = a > b if word == "greater" else a < b
    return Prompt(
        prompt=template.format(a=a, b=b, word=word),
        verifier="choice",
        spec={"answer": "Yes" if holds else "No", "choices": list(CHOICES)},
        family="comparison",
        form=form,
        difficulty=on_scale(6 - abs(a - b) / 2),
        named_problem=name_problem("comparison", a, word, b),
    )


COMPARISON = Family(
    "comparison",
    tuple(WORDS),
    ComparisonKnobs,
    generate,
    {"greater": "GreaterThan", "less": "LessThan", "wide": "WideGap"},
)
