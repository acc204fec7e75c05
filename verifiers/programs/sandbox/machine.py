"""How well this machine can confine programs, and what would make it better."""

from __future__ import annotations

from collections.abc import Sequence

from learnable.data.records import JsonObject
from learnable.verifiers.programs.sandbox.ladder import NoSandboxError, look_at_machine
from learnable.verifiers.programs.sandbox.process import SandboxError
from learnable.verifiers.programs.sandbox.sandbox import Sandbox


def examine_machine(*, strict: bool) -> tuple[JsonObject | None, Sequence[str], str]:
    """Start the sandbox, `strict` on the two best rungs alone.

    Returns what it says of itself, or None where there is none; what would make it better; and why there is none.
    """
    advice = look_at_machine().advice
    try:
        with Sandbox(strict=strict) as sandbox:
            return dict(sandbox.report), advice, ""
    except (NoSandboxError, SandboxError) as error:
        return None, advice, str(error)
