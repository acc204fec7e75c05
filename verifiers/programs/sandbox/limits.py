"""How much processor time a program deserves: scaled from what the reference solution takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from learnable.verifiers.programs.sandbox.sandbox import Sandbox
from learnable.verifiers.programs.test_code.cases import listed_cases

TIMES_REFERENCE = 10.0
LEAST_SECONDS, MOST_SECONDS = 0.3, 2.0


def scaled_limit(reference_seconds: float) -> float:
    """Return the seconds to allow where the reference solution takes so many: ten times that, between .3 and 2.

    A loop costs its whole limit, so small limits are worth more than fast forks.

    >>> scaled_limit(0.002), scaled_limit(0.1), scaled_limit(1.5)
    (0.3, 1.0, 2.0)
    """
    return min(MOST_SECONDS, max(LEAST_SECONDS, TIMES_REFERENCE * reference_seconds))


def measure_reference(sandbox: Sandbox, source: str, spec: Mapping[str, Any]) -> float:
    """Return the processor seconds that a reference solution takes for the cases of a spec. Raises `SandboxError`."""
    calls = [case.call for case in listed_cases(spec["cases"], "plain")]
    outcome = sandbox.run_calls(source, spec["entry"], calls, MOST_SECONDS, measured=True)
    return outcome.cpu_seconds or 0.0
