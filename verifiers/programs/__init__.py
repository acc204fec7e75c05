"""Programs against tests, run in a sandbox: see `Sandbox`, and `docs/sandbox.md` for what it promises."""

from learnable.verifiers.programs.ladder import Refused
from learnable.verifiers.programs.outcome import Answer, Outcome
from learnable.verifiers.programs.process import SandboxError
from learnable.verifiers.programs.sandbox import Sandbox
from learnable.verifiers.programs.server import Limits

__all__ = ["Answer", "Limits", "Outcome", "Refused", "Sandbox", "SandboxError"]
