"""The one place that names the domains: what judges and what asks, each as `MODULE:OBJECT`, imported on first use.

Packages add to it by entry points of the same names: `learnable.verifiers` and `learnable.families`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from learnable.data.errors import LearnableError

FAMILY_ENTRY_POINTS = "learnable.families"  # the group in which packages offer families

VERIFIERS = {
    "arithmetic": "learnable.verifiers.answers.judges:ArithmeticVerifier",
    "choice": "learnable.verifiers.answers.judges:ChoiceVerifier",
    "counting": "learnable.verifiers.answers.judges:CountingVerifier",
    "instructions": "learnable.verifiers.instructions.verifier:InstructionsVerifier",
    "json": "learnable.verifiers.answers.kinds.structured:JsonVerifier",
    "mathematics": "learnable.verifiers.answers.kinds.mathematics:MathsVerifier",
    "number": "learnable.verifiers.answers.kinds.number:NumberVerifier",
    "poetry": "learnable.verifiers.poetry.verifier:PoetryVerifier",
    "programs": "learnable.verifiers.programs.verifier:ProgramVerifier",
    "reasoning-gym": "learnable.verifiers.answers.kinds.gym:GymVerifier",
    "regex": "learnable.verifiers.answers.kinds.pattern:RegexVerifier",
    "text": "learnable.verifiers.answers.kinds.text:TextVerifier",
}
# No judge of what a model writes: it only reads what the simulated engine drew.
SIMULATED_VERIFIERS = {"simulated": "learnable.verifiers.simulated:SimulatedVerifier"}

# Families that are drawn from where none is named, in their order.
FAMILIES = {
    "arithmetic": "learnable.verifiers.answers.families.arithmetic:ARITHMETIC",
    "comparison": "learnable.verifiers.answers.families.comparison:COMPARISON",
    "counting": "learnable.verifiers.answers.families.counting:COUNTING",
    "poetry": "learnable.verifiers.poetry.family:POETRY",
    "programs": "learnable.verifiers.programs.family:PROGRAMS",
}
# In no default, only where they are named: what the bundled policy was not trained on, and what no model could answer.
ON_REQUEST = {
    "binary": "learnable.verifiers.answers.families.binary:BINARY",
    "code": "learnable.verifiers.programs.bank.family:CODE",
    "mixed": "learnable.verifiers.answers.families.mixed:MIXED",
    "parity": "learnable.verifiers.answers.families.parity:PARITY",
    "simulated": "learnable.data.sources.simulated:SIMULATED_FAMILY",
}
# What `learnable explain` asks about a poem, or whatever else has forms: why it scores what it scores.
EXPLANATIONS = {"poetry": "learnable.verifiers.poetry.explanation:explain_poem"}
# What reads whole files for `learnable explain`, by its option: a function from a path to JSON rows.
FILE_READERS = {
    "--rhyme-scheme": "learnable.verifiers.poetry.batch:scheme_rows",
    "--scansion": "learnable.verifiers.poetry.batch:scansion_rows",
}
# What `learnable doctor` asks: how well this machine can run what a policy wrote.
MACHINE_CHECKS = {"a sandbox": "learnable.verifiers.programs.sandbox.machine:examine_machine"}

# What verifiers read from the environment, and so from the caller's wherever they run.
VARIABLES = ("LEARNABLE_SANDBOX",)


def load_from(places: Mapping[str, str], name: str) -> Any:
    """Import what one of the tables has under a name. Raises `LearnableError` where it has none."""
    if name not in places:
        raise LearnableError(f"no domain that is here offers {name}: those that do are {', '.join(places) or 'none'}")
    return load(places[name])


def load(place: str) -> Any:
    """Import what stands at `MODULE:OBJECT`."""
    module_name, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module_name), attribute)


@cache
def installed_families() -> dict[str, str]:
    """Return the families that installed packages offer as entry points, by name, each as `MODULE:OBJECT`."""
    from importlib.metadata import entry_points

    return {point.name: f"{point.module}:{point.attr}" for point in entry_points(group=FAMILY_ENTRY_POINTS)}
