"""Verifiers by name: ours, yours as `FILE.py:OBJECT` or `MODULE:OBJECT`, TRL's, or a package's."""

from __future__ import annotations

import importlib
import threading
from functools import cache
from pathlib import Path

from learnable.data.errors import UnknownNameError
from learnable.data.records import installed_verifiers, is_own_verifier
from learnable.verifiers.own.adapter import OwnJudge
from learnable.verifiers.own.finding import find_own_judge
from learnable.verifiers.own.loading import SHAPE, JudgeError
from learnable.verifiers.protocol import Verifier

# Imported on first use, so that asking for one verifier never loads another's dictionaries.
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
SIMULATED = {"simulated": "learnable.verifiers.simulated:SimulatedVerifier"}

_own_judges: dict[tuple[str, str], OwnJudge] = {}  # by name and the working directory it was read in
_loading = threading.Lock()


def find_verifier(name: str) -> Verifier:
    """Return the verifier called `name`: a built-in one, or yours by `FILE.py:OBJECT` or `MODULE:OBJECT`.

    Yours may be a function, a class, an object, or a reward function as TRL calls it: see `OwnJudge` and
    `RewardFunction`; `trl:NAME` is one of TRL's own, and packages may offer some by name. Raises `UnknownNameError`
    with the nearest names, or `JudgeError` when it cannot be imported or cannot judge.
    """
    if name in VERIFIERS or not is_own_verifier(name):
        return _find_ours(name)
    key = (name, str(Path.cwd()))
    if key not in _own_judges:
        with _loading:
            if key not in _own_judges:
                _own_judges[key] = find_own_judge(name)
    return _own_judges[key]


def known_version(name: str) -> str | None:
    """Return the version of a user's judge as this process has read it, or None where it has not."""
    known = _own_judges.get((name, str(Path.cwd())))
    return known.version if known else None


@cache
def _find_ours(name: str) -> Verifier:
    known = VERIFIERS | SIMULATED
    if name.endswith(".py"):
        raise JudgeError(f"verifier {name!r} is only half a name: {SHAPE}")
    if name not in known:
        raise UnknownNameError("verifier", name, {**known, **installed_verifiers()})
    module_name, _, attribute = known[name].partition(":")
    verifier: Verifier = getattr(importlib.import_module(module_name), attribute)()
    return verifier
