"""Test code that is no list of cases: it runs in a second jail, and calls the candidate in the first by message."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from learnable.verifiers.programs.sandbox.outcome import Answer, ProgramOutcome, read_loaded
from learnable.verifiers.programs.sandbox.process import (
    CandidateProcess,
    FloodError,
    SandboxError,
    SandboxJob,
    ViolationError,
)
from learnable.verifiers.programs.sandbox.sandbox import Sandbox
from learnable.verifiers.programs.sandbox.server import Limits


class BrokenTestsError(SandboxError):
    """The test code fails before it has called the candidate at all, or cannot be run against any."""


def examine(sandbox: Sandbox, source: str, entry: str, test_code: str, cpu_seconds: float) -> ProgramOutcome:
    """Run test code against a program. An answer is whether one of its tests passed.

    The tests are the calls of `check`, where it is defined, or else its asserts at the top level. Raises
    `SandboxError`, for test code too that makes objects of the program's own classes, which cannot pass between two
    processes; and `SyntaxError` for test code that is no Python.
    """
    if own := _find_own_class(test_code, entry):
        raise BrokenTestsError(
            f"the tests make objects of the program's own class {own}, and only plain values can pass"
        )
    if refused := sandbox.refuse(source):
        return refused
    prelude, units, remote = _take_apart(test_code, entry)
    limits = sandbox.choose_limits(cpu_seconds)
    program, exam = SandboxJob("serve", source), SandboxJob("exam", prelude, entry=entry, units=units, remote=remote)
    return sandbox.try_twice(lambda: _Examination(sandbox, limits, len(units)).hold(program, exam))


def count_tests(test_code: str, entry: str) -> int:
    """Return how many tests there are. Raises `SyntaxError`."""
    return len(_take_apart(test_code, entry)[1])


@dataclass(slots=True)
class _Examination:
    """One run of test code against a candidate. Raises `SandboxError` where the test code itself fails."""

    sandbox: Sandbox
    limits: Limits
    count: int
    outcome: ProgramOutcome = field(default_factory=ProgramOutcome)
    answered: int = 0  # calls of the candidate
    over: bool = False  # the candidate has ended

    def hold(self, program: SandboxJob, exam: SandboxJob) -> ProgramOutcome:
        self.outcome, self.answered, self.over = ProgramOutcome(), 0, False
        with self.sandbox.open(program, self.limits) as candidate:
            try:
                if not self._load(candidate):
                    return self.outcome
                with self.sandbox.open(exam, self.limits) as examiner:
                    self._answer_questions(candidate, examiner)
            except ViolationError as violation:
                return ProgramOutcome(end="flooded" if isinstance(violation, FloodError) else "violation")
        return self.outcome

    def _load(self, candidate: CandidateProcess) -> bool:
        frame = candidate.next_frame()
        if frame is None:
            self.outcome.end = candidate.end().how
            return False
        return read_loaded(self.outcome, *frame)

    def _answer_questions(self, candidate: CandidateProcess, examiner: CandidateProcess) -> None:
        while len(self.outcome.answers) < self.count:
            frame = _trusted_frame(examiner)
            if frame is None:
                if self.outcome.end == "ended":
                    self.outcome.end = examiner.end().how
                return
            name, key, value = frame
            if name == "call":
                examiner.say(self._ask(candidate, key, value))
            elif name == "failed":
                self._note_failure(value)
                return
            elif name != "loaded":
                self.outcome.answers.append(Answer(name == "answer", value))

    def _note_failure(self, why: Any) -> None:
        if not self.answered and not self.over:
            raise BrokenTestsError(f"the test code fails by itself: {why}")

    def _ask(self, candidate: CandidateProcess, name: str, arguments: Any) -> list[Any]:
        """Pass a call on and return `[worked, value]`. A candidate that has ended raises for ever after."""
        gone = [False, "CandidateError"]
        if self.over:
            return gone
        candidate.say([name, *arguments])
        frame = candidate.next_frame()
        if frame is None:
            self.over, self.outcome.end = True, candidate.end().how
            return gone
        how, index, value = frame
        if how not in ("answer", "raised") or index != self.answered or type(index) is not int:
            raise ViolationError
        self.answered += 1
        return [how == "answer", value]


def _trusted_frame(examiner: CandidateProcess) -> tuple[str, Any, Any] | None:
    """Read what the tests say. They must keep to the protocol as a candidate must, but a breach is not its fault."""
    try:
        return examiner.next_frame()
    except ViolationError as error:
        raise SandboxError("the test code writes where only the sandbox may") from error


@lru_cache(maxsize=512)
def _take_apart(test_code: str, entry: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return what comes before the tests, the tests, and the names that only the candidate can mean."""
    body = ast.parse(test_code).body
    defines_check = any(isinstance(statement, ast.FunctionDef) and statement.name == "check" for statement in body)
    units = [statement for statement in body if isinstance(statement, ast.Assert)]
    calls_of_check = [statement for statement in body if _calls_check(statement)]
    prelude = [statement for statement in body if statement not in units and statement not in calls_of_check]
    texts = [ast.unparse(statement) for statement in units]
    if defines_check:
        texts.append("check(candidate)")
    known = {entry} | (_loaded_names(body) - _bound_names(body) - set(vars(builtins)) - {"candidate"})
    return "\n".join(map(ast.unparse, prelude)), tuple(texts), tuple(sorted(known))


@lru_cache(maxsize=512)
def _find_own_class(test_code: str, entry: str) -> str | None:
    """Return a class that only the candidate can define and of which the tests make objects, if there is one.

    By its name alone, which begins with a capital letter: what a program makes of it must not decide this.
    """
    tree = ast.parse(test_code)
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    own = called - _bound_names(tree.body) - set(vars(builtins)) - {entry}
    return min((name for name in own if name[0].isupper()), default=None)


def _calls_check(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id="check"))):
            return True
    return False


def _loaded_names(body: list[ast.stmt]) -> set[str]:
    return {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _bound_names(body: list[ast.stmt]) -> set[str]:
    bound = set()
    for statement in body:
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                    bound.add(name)
                case ast.ClassDef(name=name):
                    bound.add(name)
                case ast.alias(name=name, asname=other):
                    bound.add(other or name.partition(".")[0])
    return bound
