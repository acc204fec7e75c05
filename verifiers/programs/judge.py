"""What a program's outcome is worth: the score of one program under one spec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from learnable.data.records import Score, Spec
from learnable.verifiers.programs.sandbox.outcome import Answer, ProgramOutcome
from learnable.verifiers.programs.sandbox.sandbox import Sandbox
from learnable.verifiers.programs.test_code.cases import CallCase, make_cases
from learnable.verifiers.programs.test_code.conversion import convert
from learnable.verifiers.programs.test_code.equality import prints_same
from learnable.verifiers.programs.test_code.examination import count_tests, examine

_ENDS = {
    "killed": "crashed: the program was killed before it answered",
    "timeout": "timeout",
    "violation": "crashed: the program wrote where only the sandbox may",
    "flooded": "crashed: the program wrote too much",
}


@dataclass(frozen=True, slots=True)
class Marks:
    """Which tests a program passed, and the outcome that says why the first of the others failed."""

    right: list[bool]
    outcome: ProgramOutcome


def judge(sandbox: Sandbox, source: str, spec: Spec) -> Score:
    """Score a program under a spec that `check` has passed.

    Raises `SandboxError` where it could not be run for no fault of its own, and `NoSandboxError` where this machine
    has no sandbox.
    """
    if "stdin" in spec:
        marks = _judge_console(sandbox, source, spec)
    elif "test_code" in spec:
        marks = _judge_test_code(sandbox, source, spec)
    else:
        marks = _judge_cases(sandbox, source, spec, make_cases(spec["cases"], _equality(spec)))
    return _score(marks, float(spec.get("partial_credit", 0.5)))


def fail(reason: str, *, compiles: bool = False) -> Score:
    """Return the score of a program that passed nothing."""
    return Score(0.0, False, {"compiles": float(compiles), "tests": 0.0}, reason=reason)


@lru_cache(maxsize=1024)
def convert_cached(test_code: str, entry: str, equality: str) -> list[CallCase] | None:
    """Return the cases of a test code; many programs share them."""
    return convert(test_code, entry, equality)


def _judge_cases(sandbox: Sandbox, source: str, spec: Spec, cases: Sequence[CallCase]) -> Marks:
    outcome = sandbox.run_calls(source, spec["entry"], [case.call for case in cases], _seconds(spec))
    return _mark(outcome, [case.passes for case in cases])


def _judge_test_code(sandbox: Sandbox, source: str, spec: Spec) -> Marks:
    cases = convert_cached(spec["test_code"], spec["entry"], _equality(spec))
    if cases is not None:
        return _judge_cases(sandbox, source, spec, cases)
    outcome = examine(sandbox, source, spec["entry"], spec["test_code"], _seconds(spec))
    return _mark(outcome, [lambda answer: answer.worked] * count_tests(spec["test_code"], spec["entry"]))


def _judge_console(sandbox: Sandbox, source: str, spec: Spec) -> Marks:
    """Run the program once for each input, until the seconds for all of them are used up."""
    left, right, first_wrong = _seconds(spec), [], None
    for text, expected in spec["stdin"]:
        outcome = ProgramOutcome(end="timeout", loaded=True)
        # Less is too little for the last of several runs.
        if left >= 0.05:
            outcome = sandbox.run_console(source, text, left)
            left -= outcome.cpu_seconds or 0.0
        right.append(any(_printed(answer, expected, _equality(spec)) for answer in outcome.answers))
        if not right[-1] and first_wrong is None:
            first_wrong = outcome
            first_wrong.answers = [Answer(True, None)] * (len(right) - 1) + outcome.answers
        if outcome.end == "timeout" or outcome.failed_step == "compile":
            break
    missing = [False] * (len(spec["stdin"]) - len(right))
    return Marks(right + missing, first_wrong or ProgramOutcome(loaded=True))


def _printed(answer: Answer, expected: str, equality: str) -> bool:
    return answer.worked and isinstance(answer.tree, str) and prints_same(answer.tree, expected, equality)


def _mark(outcome: ProgramOutcome, checks: Sequence[Callable[[Answer], bool]]) -> Marks:
    answered = [check(answer) for check, answer in zip(checks, outcome.answers, strict=False)]
    return Marks(answered + [False] * (len(checks) - len(answered)), outcome)


def _score(marks: Marks, partial_credit: float) -> Score:
    share = sum(marks.right) / len(marks.right)
    if all(marks.right):
        return Score(1.0, True, {"compiles": 1.0, "tests": 1.0})
    if marks.outcome.failed_step and not any(marks.right):
        return fail(_why_not_loaded(marks.outcome), compiles=marks.outcome.failed_step != "compile")
    reason = _why_wrong(marks.outcome, marks.right.index(False))
    return Score(partial_credit * share, False, {"compiles": 1.0, "tests": share}, reason=reason)


def _why_wrong(outcome: ProgramOutcome, index: int) -> str:
    if index >= len(outcome.answers):
        return _ENDS.get(outcome.end, _why_not_loaded(outcome))
    answer = outcome.answers[index]
    return f"wrong answer: case {index}" + ("" if answer.worked else f" raised {answer.tree!s:.80}")


def _why_not_loaded(outcome: ProgramOutcome) -> str:
    if not outcome.failed_step:
        return "crashed: the program ended before it answered"
    return f"{'syntax_error' if outcome.failed_step == 'compile' else 'crashed'}: {outcome.failure}"


def _equality(spec: Spec) -> str:
    return str(spec.get("equality", "plain"))


def _seconds(spec: Spec) -> float:
    return float(spec.get("cpu_seconds", 2.0))
