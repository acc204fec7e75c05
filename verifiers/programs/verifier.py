"""Programs: the share of tests that a program written by a policy passes."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cache

from learnable.data.errors import LearnableError
from learnable.data.records import Failure, FailureKind, Score, Spec
from learnable.data.sources.test_code.stubs import find_stub
from learnable.verifiers.programs.extraction import extract_program
from learnable.verifiers.programs.judge import fail, judge
from learnable.verifiers.programs.sandbox.ladder import Machine, Rung, look_at_machine
from learnable.verifiers.programs.sandbox.process import SANDBOX_GRACE_SECONDS, SandboxError
from learnable.verifiers.programs.sandbox.sandbox import Sandbox
from learnable.verifiers.programs.spec import MAX_CPU_SECONDS, check

MODE_VARIABLE = "LEARNABLE_SANDBOX"
SANDBOX_MODES = ("", "strict", "subset", "unsafe")
# Both tries of `Sandbox.twice` at their longest, and more: test code has two processes, one after the other's end.
TIME_LIMIT = 2 * 2 * (2 * MAX_CPU_SECONDS + 1 + SANDBOX_GRACE_SECONDS) + 10

NOTICES = {
    Rung.A: "",
    Rung.B: "programs run confined by Landlock and seccomp, without namespaces: `learnable doctor` tells more.",
    Rung.C: "this kernel has no Landlock: programs are confined by seccomp alone. `learnable doctor` tells more.",
    Rung.D: f"programs run as a subset of Python, as {MODE_VARIABLE}=subset asks: "
    "honest ones may fail for what it lacks.",
    Rung.E: f"programs run without any sandbox, as {MODE_VARIABLE}=unsafe asks: "
    "they can read your files and use the network.",
}


class ScoreCache:
    """The scores last given, by `hash_program`: the completions of a group repeat. Threads may share it."""

    # About 16 MiB of scores.
    def __init__(self, capacity: int = 16_384) -> None:
        self._capacity = capacity
        self._scores: OrderedDict[bytes, Score] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Score | None:
        """Return the score under a key of `hash_program`, if it is still kept."""
        with self._lock:
            if key in self._scores:
                self._scores.move_to_end(key)
            return self._scores.get(key)

    def put(self, key: bytes, score: Score) -> None:
        """Keep a score. Where there are too many, the one that was needed longest ago goes."""
        with self._lock:
            self._scores[key] = score
            if len(self._scores) > self._capacity:
                self._scores.popitem(last=False)


_SCORES = ScoreCache()


@dataclass(frozen=True, slots=True)
class ProgramVerifier:
    """Does a program answer what the tests expect? Expected answers never reach the program's process.

    Spec, one of:

    - `{"entry": name, "cases": [[[argument, ...], expected], ...]}`: calls of the function `entry`;
    - `{"stdin": [[input, output], ...]}`: runs of the whole program;
    - `{"entry": name, "test_code": text}`: asserts about `entry`, or a function `check(candidate)` that holds them,
      as in MBPP and HumanEval. What can be said as calls and answers is; other test code runs in a second sandbox,
      which calls the program by message, and sees only plain values of it.

    With an `entry`, optionally `stub`: the code of the prompt that a policy may continue (see `extraction`). Without
    it, the stub is looked for in the prompt. Each with, optionally, `equality`: `plain` (Python's), `strict` (types
    too), `close` (floats within 1e-6) or `unordered`; `cpu_seconds` for all tests together; `partial_credit`, .5
    unless given. Reward: 1 if every test passes, else `partial_credit` times the share that does. See
    `docs/explanation/sandbox.md`.

    The environment variable `LEARNABLE_SANDBOX` may be `strict`, which refuses all but the two best rungs of the
    sandbox, `subset`, which runs a part of Python on any machine (cases alone, neither `stdin` nor test code that is
    no cases), or `unsafe`, which goes on without one where there is none.
    """

    name: str = "programs"
    version: str = "4"
    time_limit: float = TIME_LIMIT

    @property
    def notice(self) -> str:
        """What users must know of this machine. Raises `LearnableError` where programs cannot be confined at all."""
        machine, mode = look_at_machine(), _mode()
        if not machine.rungs and mode not in ("subset", "unsafe"):
            raise LearnableError(f"programs cannot be confined on this machine: {'; '.join(machine.advice)}")
        return NOTICES[_rung(machine, mode)]

    @property
    def conditions(self) -> dict[str, str]:
        """The rung of the sandbox, and the mode that the user chose. Raises `LearnableError` for an unknown mode."""
        mode = _mode()
        return {"sandbox_rung": _rung(look_at_machine(), mode).name, "sandbox_mode": mode or "default"}

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless the spec holds well-formed tests."""
        check(spec)

    def warm_up(self) -> None:
        """Start the sandbox. Raises `LearnableError` where programs cannot be confined."""
        find_sandbox().start()

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Run one program. Where it cannot be run for no fault of its own, the verdict is `verifier_error`.

        Raises `LearnableError` where programs cannot be confined on this machine.
        """
        entry = spec.get("entry")
        stub = entry and (spec.get("stub") or find_stub(prompt, entry))
        source = extract_program(completion, entry, stub)
        if not source.strip():
            unread = Failure(FailureKind.UNREAD, "no program in the completion")
            return replace(fail(""), failure=unread)
        key = hash_program(source, json.dumps(dict(spec), sort_keys=True))
        if (known := _SCORES.get(key)) is not None:
            return known
        try:
            score = judge(find_sandbox(), source, spec)
        except SandboxError as error:
            return Score.unscored(str(error))
        _SCORES.put(key, score)
        return score


@cache
def find_sandbox() -> Sandbox:
    """Return this process's sandbox for programs. Raises `LearnableError` for a mode that does not exist."""
    mode = _mode()
    made = Sandbox(strict=mode == "strict", unsafe=mode == "unsafe", rung=Rung.D if mode == "subset" else None)
    atexit.register(made.close)
    return made


def hash_program(source: str, spec_json: str) -> bytes:
    """Return a hash of everything that a score depends on."""
    text = f"{len(source)}\n{source}{spec_json}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _rung(machine: Machine, mode: str) -> Rung:
    if mode == "subset":
        return Rung.D
    return next(iter(machine.rungs), Rung.E)


def _mode() -> str:
    mode = os.environ.get(MODE_VARIABLE, "")
    if mode not in SANDBOX_MODES:
        raise LearnableError(
            f"environment variable {MODE_VARIABLE} is {mode!r}: use strict, subset or unsafe, or unset it"
        )
    return mode
