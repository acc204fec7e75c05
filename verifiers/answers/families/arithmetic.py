"""Arithmetic prompts: small sums, differences and products, and numbers too large for a small policy."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from learnable.data.records import Prompt, name_problem
from learnable.data.sources.family import Family, UsualNumber, check_knobs, count_pairs, knob, on_scale, shuffled_grid
from learnable.data.sources.wording import QuestionKind
from learnable.verifiers.answers.families.questions import CURRICULA, NATURAL_QUESTIONS, find_numbers

ARITHMETIC_TEMPLATES = (
    "Calculate: {a} {sign} {b} = ",
    "What is {a} {sign} {b}?",
    "Compute {a} {sign} {b}.",
    "Work out {a} {sign} {b} = ",
)
OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
SIGNS = {
    "Addition": ("+",),
    "Subtraction": ("-",),
    "Multiplication": ("*",),
    "LargeSums": ("+",),
    "LargeProducts": ("*",),
}


@dataclass(frozen=True, slots=True)
class ArithmeticKnobs:
    """`largest`: no operand is above it; unless it is set, those of the large forms may be.

    `digits`: no operand has more; those of the large forms have just so many.
    """

    largest: int = knob(UsualNumber(20), 1, 10**12)
    digits: int = knob(UsualNumber(4), 2, 12)

    def __post_init__(self) -> None:
        check_knobs("arithmetic", self)


def generate(form: str, seed: int, knobs: ArithmeticKnobs) -> Iterator[Prompt]:
    """Yield the prompts of one arithmetic form."""
    operands = _operands(form, knobs)
    for a, b, sign, template in shuffled_grid(f"{form}:{seed}", operands, operands, SIGNS[form], ARITHMETIC_TEMPLATES):
        yield Prompt(
            prompt=template.format(a=a, b=b, sign=sign),
            verifier="arithmetic",
            spec={"answer": OPERATIONS[sign](a, b)},
            family="arithmetic",
            form=form,
            difficulty=rate(a, sign, b),
            named_problem=_name(a, sign, b),
        )


def count_problems(forms: Sequence[str], knobs: ArithmeticKnobs) -> int:
    """Return how many problems the forms have: of sums and products, those in the other order are the same."""
    total = 0
    for sign in OPERATIONS:
        ranges = list(dict.fromkeys(_operands(form, knobs) for form in forms if sign in SIGNS[form]))
        total += sum(len(one) ** 2 if sign == "-" else count_pairs(len(one)) for one in ranges)
        if len(ranges) == 2:
            one, other = ranges
            total -= count_pairs(max(0, min(one.stop, other.stop) - max(one.start, other.start)))
    return total


def _operands(form: str, knobs: ArithmeticKnobs) -> range:
    longest = 10**knobs.digits - 1
    if form.startswith("Large"):
        most = longest if UsualNumber.is_kept(knobs.largest) else min(longest, knobs.largest)
        return range(10 ** (knobs.digits - 1), most + 1)
    return range((knobs.largest if UsualNumber.is_kept(knobs.digits) else min(longest, knobs.largest)) + 1)


def _name(a: int, sign: str, b: int) -> str:
    first, second = (a, b) if sign == "-" else sorted((a, b))
    return name_problem("arithmetic", first, sign, second)


def rate(a: int, sign: str, b: int) -> float:
    """Rate a sum: more digits and larger operands are harder, products most of all, negative answers a little."""
    digits = len(str(abs(OPERATIONS[sign](a, b))))
    size = min(3.0, max(a, b) / 10)
    trivial = min(a, b) <= 1
    return on_scale(digits + (0 if trivial else size + 2 * (sign == "*")) + (sign == "-" and b > a))


def read_needed(prompt: Prompt) -> dict[str, float]:
    """Return what a question needs the knobs to be.

    >>> read_needed(Prompt("What is 7 + 12?", "arithmetic", {"answer": 19}, "arithmetic", "Addition"))
    {'largest': 12.0, 'digits': 2}
    """
    numbers = find_numbers(prompt.text)
    return {"largest": max(map(float, numbers)), "digits": max(map(len, numbers))} if numbers else {}


ARITHMETIC = Family(
    "arithmetic",
    tuple(SIGNS),
    ArithmeticKnobs,
    generate,
    {"add": "Addition", "subtract": "Subtraction", "multiply": "Multiplication", "large": "LargeSums"},
    count=count_problems,
    usual_ranges={"largest": "10..1000"},
    needs=read_needed,
    readable=("largest", "digits"),
    curriculum=CURRICULA / "arithmetic.toml",
    kinds={
        "arithmetic": QuestionKind(
            re.compile(r"(?P<a>\d+) (?P<sign>[+*-]) (?P<b>\d+)"),
            (("a",), ("b",), ("sign", "said")),
            complete=lambda parts: {**parts, "said": {"+": "plus", "-": "minus", "*": "times"}[parts["sign"]]},
        )
    },
    natural=NATURAL_QUESTIONS,
)
