"""Binary prompts: a whole number from decimal to binary, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from learnable.data.records import Prompt, name_problem
from learnable.data.sources.family import Family, check_knobs, knob, on_scale, shuffled_grid
from learnable.data.sources.wording import QuestionKind
from learnable.verifiers.answers.families.questions import NATURAL_QUESTIONS

BINARY_TEMPLATES = {
    "ToBinary": ("Write {given} in binary.", "What is {given} in binary?"),
    "FromBinary": ("Write the binary number {given} in decimal.", "What is the binary number {given} in decimal?"),
}


@dataclass(frozen=True, slots=True)
class BinaryKnobs:
    """`bits`: how many binary digits the numbers have at most."""

    bits: int = knob(6, 1, 32)

    def __post_init__(self) -> None:
        check_knobs("binary", self)


def generate(form: str, seed: int, knobs: BinaryKnobs) -> Iterator[Prompt]:
    """Yield the prompts of one binary form. The answer is read as a number, so zeros in front do not matter."""
    for number, template in shuffled_grid(f"{form}:{seed}", range(2**knobs.bits), BINARY_TEMPLATES[form]):
        binary = f"{number:b}"
        given, answer = (number, int(binary)) if form == "ToBinary" else (binary, number)
        yield Prompt(
            prompt=template.format(given=given),
            verifier="number",
            spec={"answer": answer},
            family="binary",
            form=form,
            difficulty=on_scale(len(binary)),
            named_problem=name_problem("binary", form, number),
        )


def count_problems(forms: Sequence[str], knobs: BinaryKnobs) -> int:
    """Return how many problems the forms have."""
    return len(forms) << knobs.bits


def read_needed(prompt: Prompt) -> dict[str, float]:
    """Return what a question needs the knobs to be."""
    answer = prompt.spec.get("answer")
    if not isinstance(answer, int):
        return {}
    return {"bits": len(str(answer)) if prompt.form == "ToBinary" else answer.bit_length()}


BINARY = Family(
    "binary",
    tuple(BINARY_TEMPLATES),
    BinaryKnobs,
    generate,
    count=count_problems,
    needs=read_needed,
    readable=("bits",),
    kinds={
        "to_binary": QuestionKind(re.compile(r"(?:Write|is) (?P<given>\d+) in binary"), (("given",),)),
        "from_binary": QuestionKind(re.compile(r"the binary number (?P<given>\d+) in decimal"), (("given",),)),
    },
    natural=NATURAL_QUESTIONS,
)
