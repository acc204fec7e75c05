"""Programs: the share of test cases that a function written by a policy passes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from learnable.data.records import Score, Spec
from learnable.verifiers.programs.client import GRACE_SECONDS, Outcome, Runner, RunnerError
from learnable.verifiers.programs.equality import EQUALITIES
from learnable.verifiers.programs.extraction import program_text
from learnable.verifiers.specs import check_keys, check_text, fault

NOTICE = (
    "programs written by the policy run in a child process with limits on time, memory, files and processes; "
    "that is not a sandbox yet: they can read your files and use the network."
)
DEFAULT_CPU_SECONDS = 2.0
MAX_CPU_SECONDS = 60.0
TIME_LIMIT = 2 * (2 * MAX_CPU_SECONDS + 1 + GRACE_SECONDS) + 10  # both tries of `Runner.run` at their longest, and more

_ENDS = {"exited": "ended", "killed": "was killed", "flooded": "wrote too much"}

_RUNNER = Runner()


@dataclass(frozen=True, slots=True)
class ProgramVerifier:
    """Does a function return what the test cases expect?

    Spec: `{"entry": name, "cases": [[[argument, ...], expected], ...]}`, and optionally `equality` (see
    `equality`) and `cpu_seconds`, for all cases together. Expected answers never leave this process.
    Reward: 1 if every case passes, else half the share that does.
    """

    name: str = "programs"
    version: str = "1"
    notice: str = NOTICE
    time_limit: float = TIME_LIMIT

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless the spec names a function and holds well-formed cases."""
        check_keys(spec, ["entry", "cases"], ["equality", "cpu_seconds"])
        check_text(spec, "entry")
        if not spec["entry"].isidentifier():
            raise fault("entry", spec["entry"], "give the name of the function to call")
        _check_cases(spec["cases"])
        if (equality := spec.get("equality", "plain")) not in EQUALITIES:
            raise fault("equality", equality, f"use one of {', '.join(EQUALITIES)}")
        seconds = spec.get("cpu_seconds", DEFAULT_CPU_SECONDS)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= MAX_CPU_SECONDS:
            raise fault("cpu_seconds", seconds, f"give seconds, more than 0 and at most {MAX_CPU_SECONDS:g}")

    def warm_up(self) -> None:
        """Start the runner."""
        _RUNNER.start()

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Run one program. Where it cannot be run for no fault of its own, the verdict is `verifier_error`."""
        source = program_text(completion)
        if not source.strip():
            return _failed("extraction_failed: no program in the completion")
        try:
            return _judge(source, json.dumps(dict(spec), sort_keys=True))
        except RunnerError as error:
            return Score.unscored(str(error))


@lru_cache(maxsize=4096)  # the completions of a group repeat
def _judge(source: str, spec_json: str) -> Score:
    spec = json.loads(spec_json)
    cases = spec["cases"]
    seconds = float(spec.get("cpu_seconds", DEFAULT_CPU_SECONDS))
    outcome = _RUNNER.run(source, spec["entry"], [arguments for arguments, _ in cases], seconds)
    frames = read_frames(outcome.answer)
    for name in ("compiled", "loaded"):
        worked, detail = frames.get(name, (False, ""))
        if not worked:
            return _failed(_why(name, str(detail), outcome), compiled=name == "loaded")
    return _verdict(frames, [expected for _, expected in cases], spec.get("equality", "plain"), outcome)


def read_frames(answer: str) -> dict[object, tuple[bool, Any]]:
    """Return what the candidate's process wrote as `{step or case number: (worked, value)}`.

    Anyone may have written there: reading ends at the first line that is malformed or comes twice.
    """
    frames: dict[object, tuple[bool, Any]] = {}
    for line in answer.splitlines():
        try:
            key, worked, value = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            break
        if not isinstance(key, str | int) or isinstance(key, bool) or not isinstance(worked, bool) or key in frames:
            break
        frames[key] = (worked, value)
    return frames


def _verdict(frames: dict[object, tuple[bool, Any]], expected: Sequence[Any], equality: str, outcome: Outcome) -> Score:
    equal = EQUALITIES[equality]
    answers = [frames.get(index) for index in range(len(expected))]
    right = [a is not None and a[0] and equal(a[1], e) for a, e in zip(answers, expected, strict=True)]
    share = sum(right) / len(right)
    components = {"compiles": 1.0, "tests": share}
    if all(right):
        return Score(1.0, True, components)
    index = right.index(False)
    answer = answers[index]
    if answer is None:
        reason = _why("ran", "", outcome)
    else:
        reason = f"wrong answer: case {index}" if answer[0] else f"wrong answer: case {index} raised {answer[1]}"
    return Score(0.5 * share, False, components, reason=reason)


def _why(step: str, detail: str, outcome: Outcome) -> str:
    if outcome.end == "timeout":
        return "timeout"
    if not detail:
        return f"crashed: the program {_ENDS.get(outcome.end, outcome.end)} before it answered"
    return f"{'syntax_error' if step == 'compiled' else 'crashed'}: {detail}"


def _failed(reason: str, compiled: bool = False) -> Score:
    return Score(0.0, False, {"compiles": float(compiled), "tests": 0.0}, reason=reason)


def _check_cases(cases: Any) -> None:
    if not isinstance(cases, list | tuple) or not cases:
        raise fault("cases", cases, "give a non-empty list of [[argument, ...], expected]")
    for index, case in enumerate(cases):
        if not isinstance(case, list | tuple) or len(case) != 2 or not isinstance(case[0], list | tuple):
            raise fault("cases", case, f"case {index} must be [[argument, ...], expected]")
