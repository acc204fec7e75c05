"""Programs against tests, run in a sandbox: see `Sandbox`, and `docs/explanation/sandbox.md` for what it promises."""

from learnable.verifiers.programs.sandbox.ladder import NoSandboxError
from learnable.verifiers.programs.sandbox.outcome import Answer, ProgramOutcome
from learnable.verifiers.programs.sandbox.process import SandboxError
from learnable.verifiers.programs.sandbox.sandbox import Sandbox
from learnable.verifiers.programs.sandbox.server import Limits

__all__ = ["Answer", "Limits", "NoSandboxError", "ProgramOutcome", "Sandbox", "SandboxError"]
