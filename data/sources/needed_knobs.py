"""What a question needs the knobs of its family to be, read out of it: whether a stage of a curriculum could ask it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from learnable.data.records import Prompt
from learnable.data.sources.family import Knobs, read_levels

READABLE: Mapping[str, tuple[str, ...]] = {
    "arithmetic": ("largest", "digits"),
    "binary": ("bits",),
    "code": ("difficulty",),
    "comparison": ("largest", "gap", "decimals"),
    "counting": ("most_words", "word_length"),
    "mixed": ("largest", "digits", "gap", "most_words"),
    "parity": ("largest",),
    "programs": ("difficulty",),
}
PARTS_OF = {"mixed": ("arithmetic", "comparison", "counting")}  # families whose prompts keep the names of others
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def read_needed(prompt: Prompt) -> dict[str, float]:
    """Return what a question needs each knob of its family to be, as far as its form has to do with it.

    >>> question = Prompt("What is 7 + 12?", "arithmetic", {"answer": 19}, "arithmetic", "Addition")
    >>> read_needed(question)
    {'largest': 12.0, 'digits': 2}
    """
    numbers = NUMBER.findall(prompt.text)
    answer = prompt.spec.get("answer")
    if prompt.family == "arithmetic" and numbers:
        return {"largest": max(map(float, numbers)), "digits": max(map(len, numbers))}
    if prompt.family == "comparison" and len(numbers) > 1:
        values = [float(number) for number in numbers]
        decimals = max(len(number.partition(".")[2]) for number in numbers)
        return {"largest": max(values), "gap": abs(values[0] - values[1]), "decimals": decimals}
    if prompt.family == "counting":
        return _read_counted(prompt, answer)
    if prompt.family == "parity" and numbers:
        return {"largest": max(map(float, numbers))}
    if prompt.family == "binary" and isinstance(answer, int):
        return {"bits": len(str(answer)) if prompt.form == "ToBinary" else answer.bit_length()}
    return {"difficulty": prompt.difficulty} if prompt.difficulty is not None else {}


def is_within(knobs: Knobs, prompt: Prompt) -> bool:
    """Whether a family with these knobs, those of `READABLE`, may ask a question: none of them is passed.

    Raises `LearnableError` for a difficulty that is no level.
    """
    needed = read_needed(prompt)
    for name, bound in knobs.items():
        if name not in needed:
            continue
        if name == "difficulty":
            low, high = read_levels(str(prompt.family), str(bound))
            holds = low <= needed[name] <= high
        else:
            holds = needed[name] >= float(bound) if name == "gap" else needed[name] <= float(bound)
        if not holds:
            return False
    return True


def _read_counted(prompt: Prompt, answer: object) -> dict[str, float]:
    if prompt.form in ("WordCount", "ShortList"):
        return {"most_words": float(answer)} if isinstance(answer, int) else {}
    quoted = re.findall(r"'(\w+)'", prompt.text)
    return {"word_length": max(map(len, quoted))} if quoted else {}
