"""Verifiers by name: ours, or yours as `package.module:object`."""

from __future__ import annotations

import importlib
from functools import cache

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.verifiers.protocol import Verifier, verifier_time_limit

# Imported on first use, so that asking for one verifier never loads another's dictionaries.
VERIFIERS = {
    "arithmetic": "learnable.verifiers.answers:ArithmeticVerifier",
    "choice": "learnable.verifiers.answers:ChoiceVerifier",
    "counting": "learnable.verifiers.answers:CountingVerifier",
    "poetry": "learnable.verifiers.poetry.verifier:PoetryVerifier",
    "programs": "learnable.verifiers.programs.verifier:ProgramVerifier",
}
# No judge of what a model writes: it only reads what the simulated engine drew.
SIMULATED = {"simulated": "learnable.verifiers.simulated:SimulatedVerifier"}


@cache
def find_verifier(name: str) -> Verifier:
    """Return the verifier called `name`: a built-in one, or `package.module:object` to import yours.

    The object may be a verifier or a class that makes one without arguments. Raises `UnknownNameError`
    with the nearest names, or `LearnableError` when the import fails or yields something else.
    """
    known = VERIFIERS | SIMULATED
    path = known.get(name, name)
    if ":" not in path:
        raise UnknownNameError("verifier", name, known)
    module_name, _, attribute = path.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise LearnableError(f"verifier {name!r} cannot be imported: {error}") from error
    verifier = found() if isinstance(found, type) else found
    if not isinstance(verifier, Verifier):
        raise LearnableError(f"verifier {name!r} is no verifier: it needs name, version, check_spec and score")
    verifier_time_limit(verifier)  # a wrong one is found here, before any completion waits for it
    return verifier
