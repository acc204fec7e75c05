"""Parity prompts: whether a number, or the sum of two, is even or odd. Who guesses is right half of the time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from learnable.data.records import Prompt, name_problem
from learnable.data.sources.family import Family, check_knobs, count_pairs, knob, on_scale, shuffled_grid
from learnable.data.sources.wording import QuestionKind
from learnable.verifiers.answers.families.questions import NATURAL_QUESTIONS, find_numbers

PARITY_FORMS = ("EvenOrOdd", "ParityOfSum")
PARITIES = ("even", "odd")


@dataclass(frozen=True, slots=True)
class ParityKnobs:
    """`largest`: the numbers are 0 to it."""

    largest: int = knob(99, 1, 10**12)

    def __post_init__(self) -> None:
        check_knobs("parity", self)


def generate(form: str, seed: int, knobs: ParityKnobs) -> Iterator[Prompt]:
    """Yield the prompts of one parity form."""
    axes = [range(knobs.largest + 1)] * (1 if form == "EvenOrOdd" else 2)
    templates = ("Is {counted} even or odd?", "Even or odd: {counted}?")
    for *numbers, template in shuffled_grid(f"{form}:{seed}", *axes, templates):
        total = sum(numbers)
        yield Prompt(
            prompt=template.format(counted=" + ".join(map(str, numbers))),
            verifier="choice",
            spec={"answer": PARITIES[total % 2], "choices": list(PARITIES)},
            family="parity",
            form=form,
            difficulty=on_scale(len(str(total)) + 2 * (len(numbers) - 1)),
            named_problem=name_problem("parity", *sorted(numbers)),
        )


def count_problems(forms: Sequence[str], knobs: ParityKnobs) -> int:
    """Return how many problems the forms have: a sum in the other order is the same."""
    size = knobs.largest + 1
    return size * ("EvenOrOdd" in forms) + count_pairs(size) * ("ParityOfSum" in forms)


def read_needed(prompt: Prompt) -> dict[str, float]:
    """Return what a question needs the knobs to be."""
    numbers = find_numbers(prompt.text)
    return {"largest": max(map(float, numbers))} if numbers else {}


PARITY = Family(
    "parity",
    PARITY_FORMS,
    ParityKnobs,
    generate,
    count=count_problems,
    needs=read_needed,
    readable=("largest",),
    kinds={"parity": QuestionKind(re.compile(r"(?:Is|odd:) (?P<counted>\d+(?: \+ \d+)?)"), (("counted",),))},
    natural=NATURAL_QUESTIONS,
)
