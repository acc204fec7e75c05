"""Arithmetic prompts: small sums, differences and products, and numbers too large for a small policy."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass

from learnable.data.records import Prompt, name_problem
from learnable.data.sources.family import Family, on_scale, require, shuffled_grid

TEMPLATES = (
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
    """`largest`: the small forms draw operands from 0 to it. `digits`: how long operands of the large forms are."""

    largest: int = 20
    digits: int = 4

    def __post_init__(self) -> None:
        require("arithmetic", "largest", self.largest, 1, 10**12)
        require("arithmetic", "digits", self.digits, 2, 12)


def generate(form: str, seed: int, knobs: ArithmeticKnobs) -> Iterator[Prompt]:
    """Yield the prompts of one arithmetic form."""
    large = form.startswith("Large")
    operands = range(10 ** (knobs.digits - 1), 10**knobs.digits) if large else range(knobs.largest + 1)
    for a, b, sign, template in shuffled_grid(f"{form}:{seed}", operands, operands, SIGNS[form], TEMPLATES):
        yield Prompt(
            prompt=template.format(a=a, b=b, sign=sign),
            verifier="arithmetic",
            spec={"answer": OPERATIONS[sign](a, b)},
            family="arithmetic",
            form=form,
            difficulty=rate(a, sign, b),
            named_problem=name_problem("arithmetic", a, sign, b),
        )


def rate(a: int, sign: str, b: int) -> float:
    """Rate a sum: more digits and larger operands are harder, products most of all, negative answers a little."""
    digits = len(str(abs(OPERATIONS[sign](a, b))))
    size = min(3.0, max(a, b) / 10)
    trivial = min(a, b) <= 1
    return on_scale(digits + (0 if trivial else size + 2 * (sign == "*")) + (sign == "-" and b > a))


ARITHMETIC = Family(
    "arithmetic",
    tuple(SIGNS),
    ArithmeticKnobs,
    generate,
    {"add": "Addition", "subtract": "Subtraction", "multiply": "Multiplication", "large": "LargeSums"},
)
