"""What a program answered, read off its process: not to be trusted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from learnable.verifiers.programs.sandbox.jail.codec import decode
from learnable.verifiers.programs.sandbox.process import CandidateProcess, ViolationError

MAX_FAILURE_TEXT = 200
Ending = Literal["ended", "killed", "timeout", "violation", "flooded", "refused"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call came to: a value as `jail.codec` writes it, or the type of what it raised. Not to be trusted."""

    worked: bool
    tree: Any

    @property
    def value(self) -> Any:
        """The value itself. Raises `ValueError` or `TypeError` where the process wrote nonsense."""
        return decode(self.tree)


@dataclass(slots=True)
class ProgramOutcome:
    """How a program ended and what it had answered by then, call by call.

    `loaded` says whether it could be run at all; `failed_step` is else `compile` or `load`, and `failure` why.
    """

    end: Ending = "ended"
    loaded: bool = False
    failed_step: str = ""
    failure: str = ""
    answers: list[Answer] = field(default_factory=list)
    cpu_seconds: float | None = None


def read_answers(process: CandidateProcess, outcome: ProgramOutcome, count: int) -> bool:
    """Read what the process says into `outcome`, up to `count` answers. Return False where it ended before.

    Raises `ViolationError` for frames that no honest process writes, and `SandboxError` when it takes too long.
    """
    while len(outcome.answers) < count or not outcome.loaded:
        frame = process.next_frame()
        if frame is None:
            return False
        name, index, value = frame
        if not outcome.loaded:
            if not read_loaded(outcome, name, index, value):
                return True
        elif name in ("answer", "raised") and index == len(outcome.answers) and type(index) is int:
            outcome.answers.append(Answer(name == "answer", value))
        else:
            raise ViolationError
    return True


def read_loaded(outcome: ProgramOutcome, name: str, index: Any, value: Any) -> bool:
    """Read the frame that says whether the program could be run, and return that. Raises `ViolationError`."""
    if name == "loaded" and index == 0:
        outcome.loaded = True
    elif name == "failed" and index in ("compile", "load") and isinstance(value, str):
        outcome.failed_step, outcome.failure = index, value[:MAX_FAILURE_TEXT]
    else:
        raise ViolationError
    return outcome.loaded
