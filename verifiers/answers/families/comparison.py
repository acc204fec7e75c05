"""Comparison prompts: which number is greater. Wide gaps are trivial on purpose: real pools have such prompts too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from learnable.data.records import Prompt, name_problem
from learnable.data.sources.family import (
    Family,
    UsualNumber,
    check_knobs,
    count_pairs,
    distinct,
    knob,
    on_scale,
    shuffled_grid,
)
from learnable.data.sources.wording import QuestionKind
from learnable.verifiers.answers.families.questions import NATURAL_QUESTIONS, find_numbers

COMPARED_WORDS = {"GreaterThan": ("greater",), "LessThan": ("less",), "WideGap": ("greater", "less")}
WIDE_GAP_LARGEST = 99  # the largest number of WideGap
SIZES = {"Larger": "larger", "Smaller": "smaller"}


@dataclass(frozen=True, slots=True)
class ComparisonKnobs:
    """`largest`: no number is above it; unless it is set, those of WideGap go to 99.

    `gap`: how far apart the two numbers are at least; unless it is set, in WideGap alone. `decimals`: how many digits
    the numbers of Larger and Smaller have behind the point at most, as in 9.11 and 9.9.
    """

    largest: int = knob(UsualNumber(20), 1, 10**9)
    gap: int = knob(UsualNumber(50), 1, 90)
    decimals: int = knob(0, 0, 6)

    def __post_init__(self) -> None:
        check_knobs("comparison", self)


def generate(form: str, seed: int, knobs: ComparisonKnobs) -> Iterator[Prompt]:
    """Yield the prompts of one comparison form."""
    gap, numbers = _gap(form, knobs), range(_largest(form, knobs) + 1)
    if gap > numbers.stop - 1:
        return iter(())
    if form in SIZES:
        return _which(form, seed, knobs)
    templates = ("Is {a} {word} than {b}? Answer Yes or No.", "Yes or No: is {a} {word} than {b}?")
    points = shuffled_grid(f"{form}:{seed}", numbers, numbers, COMPARED_WORDS[form], templates)
    return distinct(_whether(form, a, b, word, template) for a, b, word, template in points if abs(a - b) >= gap)


def count_problems(forms: Sequence[str], knobs: ComparisonKnobs) -> int:
    """Return how many problems the forms have: 3 is greater than 5 where 5 is less than 3, so that is one."""
    narrow = knobs.largest + 1 if {"GreaterThan", "LessThan"} & set(forms) else 0
    total = _count_apart(narrow, _gap("GreaterThan", knobs))
    if "WideGap" in forms:
        wide = _largest("WideGap", knobs) + 1
        total += _count_apart(wide, knobs.gap) - _count_apart(min(narrow, wide), knobs.gap)
    parts = 10**knobs.decimals
    unlike = knobs.largest * parts + 1 - max(1, _gap("Larger", knobs) * parts)
    return total + count_pairs(max(0, unlike)) * len(SIZES.keys() & set(forms))


def _count_apart(size: int, gap: int) -> int:
    """Return how many ordered pairs of the numbers below `size` are `gap` or more apart."""
    return 2 * count_pairs(max(0, size - gap)) if gap else size**2


def _largest(form: str, knobs: ComparisonKnobs) -> int:
    if form != "WideGap":
        return knobs.largest
    return WIDE_GAP_LARGEST if UsualNumber.is_kept(knobs.largest) else min(WIDE_GAP_LARGEST, knobs.largest)


def _gap(form: str, knobs: ComparisonKnobs) -> int:
    return 0 if form != "WideGap" and UsualNumber.is_kept(knobs.gap) else knobs.gap


def _whether(form: str, a: int, b: int, word: str, template: str) -> Prompt:
    holds = a > b if word == "greater" else a < b
    greater, less = (a, b) if word == "greater" else (b, a)
    return Prompt(
        prompt=template.format(a=a, b=b, word=word),
        verifier="choice",
        spec={"answer": "Yes" if holds else "No", "choices": ["Yes", "No"]},
        family="comparison",
        form=form,
        difficulty=on_scale(6 - abs(a - b) / 2),
        named_problem=name_problem("comparison", greater, "greater", less),
    )


def _which(form: str, seed: int, knobs: ComparisonKnobs) -> Iterator[Prompt]:
    parts = 10**knobs.decimals
    least = max(1, _gap(form, knobs) * parts)
    numbers = range(knobs.largest * parts + 1)
    templates = ("Which is {word}, {a} or {b}?", "Which number is {word}: {a} or {b}?")
    for a, b, template in shuffled_grid(f"{form}:{seed}", numbers, numbers, templates):
        if abs(a - b) < least:
            continue
        low, high = sorted((a, b))
        written = {number: write_decimal(number, knobs.decimals) for number in (a, b)}
        misleads = len(written[low]) > len(written[high])  # 9.11 looks greater than 9.9
        yield Prompt(
            prompt=template.format(a=written[a], b=written[b], word=SIZES[form]),
            verifier="choice",
            spec={"answer": written[high if form == "Larger" else low], "choices": [written[a], written[b]]},
            family="comparison",
            form=form,
            difficulty=on_scale(4 - (high - low) / parts / 5 + 4 * misleads),
            named_problem=name_problem("comparison", form, written[low], written[high]),
        )


def write_decimal(number: int, decimals: int) -> str:
    """Write a number of so many parts of one, without zeros at its end.

    >>> write_decimal(911, 2), write_decimal(990, 2), write_decimal(900, 2)
    ('9.11', '9.9', '9')
    """
    whole, rest = divmod(number, 10**decimals)
    return f"{whole}.{rest:0{decimals}}".rstrip("0") if rest else str(whole)


def read_needed(prompt: Prompt) -> dict[str, float]:
    """Return what a question needs the knobs to be."""
    numbers = find_numbers(prompt.text)
    if len(numbers) < 2:
        return {}
    values = [float(number) for number in numbers]
    decimals = max(len(number.partition(".")[2]) for number in numbers)
    return {"largest": max(values), "gap": abs(values[0] - values[1]), "decimals": decimals}


COMPARISON = Family(
    "comparison",
    tuple(COMPARED_WORDS),
    ComparisonKnobs,
    generate,
    {"greater": "GreaterThan", "less": "LessThan", "wide": "WideGap"},
    tuple(SIZES),
    count_problems,
    usual_ranges={"largest": "2..1000"},
    needs=read_needed,
    readable=("largest", "gap", "decimals"),
    kinds={
        "comparison": QuestionKind(
            re.compile(r"[Ii]s (?P<a>\d+) (?P<word>greater|less) than (?P<b>\d+)"),
            (("a",), ("b",), ("word", "said")),
            complete=lambda parts: {**parts, "said": {"greater": "bigger", "less": "smaller"}[parts["word"]]},
        ),
        "sizes": QuestionKind(
            re.compile(r"(?P<word>larger|smaller)[,:] (?P<a>[\d.]+) or (?P<b>[\d.]+)\?"), (("a",), ("b",), ("word",))
        ),
    },
    natural=NATURAL_QUESTIONS,
)
