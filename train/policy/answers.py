"""Answers to the built-in prompts, right or wrong on purpose."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from learnable.data.records import Prompt
from learnable.train.policy.noise import find_level, miss_number
from learnable.verifiers.programs.family import PROBLEMS

# What a slip of the pen does to a program.
SLIPS = (
    ("return ", ""),
    (":\n", "\n"),
    (" == ", " != "),
    (" + ", " - "),
    (" * ", " + "),
    (" % ", " // "),
    (" > ", " < "),
    (" < ", " > "),
    ("+= ", "-= "),
    ("[::-1]", "[::1]"),
    ("range(", "range(1 + "),
    ("sum(", "len("),
    ("max(", "min("),
    ("min(", "max("),
    (" = 0", " = 1"),
)


def write_answer(prompt: Prompt, rng: random.Random, noisy: bool = True) -> str:
    """Answer a built-in prompt. Without `noisy` the answer passes its verifier."""
    return WRITERS[prompt.family](prompt, rng, noisy)


def _write_sum(prompt: Prompt, rng: random.Random, noisy: bool) -> str:
    answer = int(prompt.spec["answer"])
    a, sign, b = re.findall(r"(\d+) ([-+*]) (\d+)", prompt.text)[0]
    easy = prompt.form.startswith("Large") or min(int(a), int(b)) <= 1
    level = 0.0 if easy or not noisy else find_level("arithmetic", sign, b)
    return str(miss_number(rng, answer, signed=True) if rng.random() < level else answer)


def _write_choice(prompt: Prompt, rng: random.Random, noisy: bool) -> str:
    answer = prompt.spec["answer"]
    a, b = map(int, re.findall(r"\d+", prompt.text))
    level = 0.6 - 0.045 * abs(a - b) if noisy else 0.0
    wrong = next(choice for choice in prompt.spec["choices"] if choice != answer)
    return str(wrong if rng.random() < level else answer)


def _write_count(prompt: Prompt, rng: random.Random, noisy: bool) -> str:
    answer = int(prompt.spec["answer"])
    if prompt.form in ("WordCount", "ShortList"):
        level = max(0, answer - 2) / 14
    else:
        level = find_level("counting", prompt.form, re.findall(r"'(\w{2,})'", prompt.text)[0])
    return str(miss_number(rng, answer, signed=False) if noisy and rng.random() < level else answer)


def _write_program(prompt: Prompt, rng: random.Random, noisy: bool) -> str:
    problem = PROBLEMS[prompt.form]
    name = prompt.spec["entry"]
    parameters = _find_parameters(prompt.form, prompt.spec_json, prompt)
    source = problem.write(rng.choice(problem.solutions), name, parameters)
    if not noisy or rng.random() >= find_level("programs", prompt.form, name):
        return source
    head, body = source.split("\n", 1)
    before, after = rng.choice([slip for slip in SLIPS if slip[0] in body])
    return f"{head}\n{body.replace(before, after, 1)}"


_found: dict[tuple[str, str], Any] = {}


def _find_parameters(form: str, spec_json: str, prompt: Prompt) -> Any:
    """Return the parameters whose cases the prompt carries."""
    if (form, spec_json) not in _found:
        problem = PROBLEMS[form]
        _found[form, spec_json] = next(p for p in problem.parameters if problem.cases(p) == prompt.spec["cases"])
    return _found[form, spec_json]


def _write_poem(prompt: Prompt, rng: random.Random, noisy: bool) -> str:
    from learnable.train.policy.poems import write_poem  # which needs poems to be there

    return write_poem(prompt, rng, noisy)


WRITERS: dict[str, Callable[[Prompt, random.Random, bool], str]] = {
    "arithmetic": _write_sum,
    "comparison": _write_choice,
    "counting": _write_count,
    "poetry": _write_poem,
    "programs": _write_program,
}
