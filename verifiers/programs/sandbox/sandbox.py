"""The sandbox: runs a program that nobody trusts, and says what it answered."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, NotRequired, Self, TypedDict, TypeVar

from learnable.data.errors import LearnableError
from learnable.verifiers.programs.sandbox.ladder import MEANING, STRICT, Machine, NoSandboxError, Rung, look_at_machine
from learnable.verifiers.programs.sandbox.outcome import ProgramOutcome, read_answers
from learnable.verifiers.programs.sandbox.process import (
    Call,
    CandidateProcess,
    FloodError,
    SandboxError,
    SandboxJob,
    ViolationError,
)
from learnable.verifiers.programs.sandbox.server import Limits, SandboxServer, check_server
from learnable.verifiers.programs.sandbox.subset import Subset

MAX_SOURCE_BYTES = 256 << 10

Result = TypeVar("Result")


class SandboxReport(TypedDict):
    """What a run's metadata should hold of its sandbox, ready for JSON.

    `probes` says of each thing that was tried whether it was "refused" or "passed"; `remarks` say why no better rung is
    reached. The rest is what the server said of itself, see `ServerFacts`; rung D has no server.
    """

    rung: str
    meaning: str
    probes: dict[str, str]
    remarks: list[str]
    landlock: NotRequired[int]
    uid: NotRequired[int]
    dropped: NotRequired[bool]
    pid: NotRequired[int]


class Sandbox:
    r"""Runs Python programs that nobody trusts. It starts on first use; threads may share it; it is a context manager.

    A program gets a process of its own, forked from a server that holds the standard library and nothing else: no
    answer, no environment, no open file. That process computes and answers, and can do nothing more: the kernel
    refuses it files, sockets, processes, threads, signals and executable memory (seccomp; Landlock and namespaces
    behind it, see `ladder`). Time, memory and the length of its answers are bounded. The server tries all that must
    fail before the first program runs, and refuses to serve when something does not.

    What it does not stop:

    - a fault of the kernel in one of the thirty or so calls that it leaves open, or of the processor (side channels);
    - a program that tells inputs apart: it sees every input of its own job, so cases that the prompt shows can be
      hard-coded;
    - the clock, and chance from the kernel (`os.urandom`): such programs may answer differently twice;
    - use of the processor up to the limit, and of memory up to the limit for each program that runs at once;
    - what its caller does with an answer: it is a plain value, made by whoever wrote the program.

    >>> with Sandbox() as sandbox:
    ...     outcome = sandbox.run("def double(x):\n    return 2 * x", "double", [[21], ["ab"]])
    >>> [answer.value for answer in outcome.answers]
    [42, 'abab']

    `strict` takes rungs A and B alone, and no root that cannot become nobody. `rung` names the one rung to take; D, a
    subset of Python that only calls functions, is taken in no other way. `unsafe` goes on without any sandbox where
    none can be had.

    Raises `LearnableError` for wishes that contradict each other, and, on first use, `NoSandboxError` where the machine
    falls short.
    """

    def __init__(
        self,
        *,
        strict: bool = False,
        rung: Rung | str | None = None,
        unsafe: bool = False,
        limits: Limits | None = None,
    ) -> None:
        if strict and unsafe:
            raise LearnableError("a sandbox cannot be strict and unsafe: give one of them")
        self._strict, self._unsafe = strict, unsafe
        self._wanted = None if rung is None else Rung(rung)
        if strict and self._wanted not in (None, *STRICT):
            raise LearnableError(f"rung {self._wanted} is not strict: leave one of them out")
        self._subset = Subset() if self._wanted == Rung.D else None
        self._limits = limits or Limits()
        self._lock = threading.Lock()
        self._server: SandboxServer | None = None
        self._rung: Rung | None = None
        self._probes: dict[str, str] = {}
        self._remarks: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def rung(self) -> Rung:
        """The rung that this machine reaches. Starts the server. Raises `NoSandboxError` or `SandboxError`."""
        self.start()
        if self._rung is None:
            raise SandboxError("a sandbox without a rung")
        return self._rung

    @property
    def report(self) -> SandboxReport:
        """What a run's metadata should hold. Starts the server. Raises `NoSandboxError` or `SandboxError`."""
        rung = self.rung
        report: SandboxReport = {
            "rung": str(rung),
            "meaning": MEANING[rung],
            "probes": dict(self._probes),
            "remarks": [],
        }
        if self._subset is not None:
            return report
        facts = self._running().facts
        return {
            **report,
            "remarks": list(self._remarks),
            "landlock": facts.landlock,
            "uid": facts.uid,
            "dropped": facts.dropped,
            "pid": facts.pid,
        }

    @property
    def server_pid(self) -> int | None:
        """Process id of the server, or None where none runs."""
        return None if self._server is None else self._server.pid

    def run(
        self, source: str, entry: str, calls: Sequence[Sequence[Any]], cpu_seconds: float | None = None
    ) -> ProgramOutcome:
        """Run a program and call its function `entry` with each list of arguments.

        `cpu_seconds` is for all calls together. Raises `SandboxError` where the sandbox failed, `NoSandboxError` where
        this machine has none, and `LearnableError` for arguments that are too large.
        """
        return self.run_calls(source, entry, [(tuple(call), {}, []) for call in calls], cpu_seconds)

    def run_calls(
        self,
        source: str,
        entry: str,
        calls: Sequence[Call],
        cpu_seconds: float | None = None,
        *,
        measured: bool = False,
    ) -> ProgramOutcome:
        """Do as `run`, with calls of `(positional, keywords, wrappers)`: the built-ins the answer is passed through.

        With `measured` the outcome always has `cpu_seconds`: the end of the process is waited for. Raises
        `NoSandboxError` and `SandboxError` as `run` does.
        """
        if self._subset is not None:
            self.start()
            return self.refuse(source) or self._subset.run_calls(source, entry, calls, self.choose_limits(cpu_seconds))
        job = SandboxJob("calls", source, entry=entry, calls=list(calls))
        return self._run_job(job, len(calls), cpu_seconds, measured=measured)

    def run_console(self, source: str, text: str, cpu_seconds: float | None = None) -> ProgramOutcome:
        """Run a program with `text` as standard input; its one answer is what it wrote to standard output.

        `cpu_seconds` is for the whole run. Raises `NoSandboxError` as `run` does, and `SandboxError` on rung D, which
        cannot do this.
        """
        return self._run_job(SandboxJob("console", source, text=text), 1, cpu_seconds, measured=True)

    def open(self, job: SandboxJob, limits: Limits) -> CandidateProcess:
        """Return a process that runs this job and can be talked to: for test code.

        Raises `OSError` where the server is gone, and otherwise `NoSandboxError` and `SandboxError` as `run` does.
        """
        process = self._running().new_process(limits)
        try:
            process.give(job.pack(), more=True)
            process.await_ready()
        except BaseException:
            process.close()
            raise
        return process

    def try_twice(self, action: Callable[[], Result]) -> Result:
        """Do something, and once more with a fresh server where that failed for no fault of the program's.

        Raises `SandboxError` about the second failure, and `NoSandboxError` where this machine has no sandbox.
        """
        server = self._running()
        try:
            return action()
        except (OSError, SandboxError):
            self._discard(server)
        server = self._running()
        try:
            return action()
        except (OSError, SandboxError) as error:
            self._discard(server)
            raise SandboxError(f"the sandbox failed twice: {error}") from error

    def start(self) -> None:
        """Start the server now rather than at the first program. Raises `NoSandboxError` or `SandboxError`."""
        if self._subset is None:
            self._running()
        elif self._rung is None:
            self._probes, self._rung = self._subset.start(), Rung.D

    def close(self) -> None:
        """End the server and everything in it. The next use starts another."""
        if self._subset is not None:
            self._subset.close()
            self._rung = None
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.close()

    def choose_limits(self, cpu_seconds: float | None) -> Limits:
        """Return the limits of one program: this sandbox's, with `cpu_seconds` in place of its own where given."""
        return self._limits if cpu_seconds is None else replace(self._limits, cpu_seconds=cpu_seconds)

    @staticmethod
    def refuse(source: str) -> ProgramOutcome | None:
        """Return the outcome of a program that is not even tried, None for others."""
        try:
            size = len(source.encode())
        except UnicodeEncodeError:
            return ProgramOutcome(
                end="refused", failed_step="compile", failure="the program cannot be written as UTF-8"
            )
        if size <= MAX_SOURCE_BYTES:
            return None
        why = f"the program is longer than {MAX_SOURCE_BYTES} bytes"
        return ProgramOutcome(end="refused", failed_step="compile", failure=why)

    def _run_job(
        self, job: SandboxJob, count: int, cpu_seconds: float | None, *, measured: bool = False
    ) -> ProgramOutcome:
        if refused := self.refuse(job.source):
            return refused
        content, limits, reads = job.pack(), self.choose_limits(cpu_seconds), job.mode == "console"
        return self.try_twice(lambda: _run_once(self._running(), content, count, limits, reads, measured))

    def _running(self) -> SandboxServer:
        if self._subset is not None:
            raise SandboxError("rung D calls functions with given arguments, and can do nothing else")
        with self._lock:
            if self._server is None or self._server.owner != os.getpid():
                self._server = self._climb()
            return self._server

    def _discard(self, server: SandboxServer) -> None:
        with self._lock:
            if self._server is server:
                self._server = None
        server.close()

    def _climb(self) -> SandboxServer:
        """Start a server on the best rung there is. Once found, the rung is kept: a restart changes nothing."""
        machine = look_at_machine()
        rungs = [self._rung] if self._rung else _candidates(machine, self._wanted, self._strict, self._unsafe)
        remarks: list[str] = []
        for rung in rungs:
            try:
                server, self._probes = _start(rung, machine, self._strict)
            except (SandboxError, OSError) as error:
                remarks.append(f"rung {rung} is out of reach: {error}")
                continue
            self._rung, self._remarks = rung, remarks + self._remarks
            return server
        if self._rung:
            raise SandboxError("; ".join(remarks))
        raise NoSandboxError(_why_not(machine, remarks, self._strict))


def _start(rung: Rung, machine: Machine, strict: bool) -> tuple[SandboxServer, dict[str, str]]:
    server = SandboxServer(rung, machine)
    try:
        if strict and not server.facts.dropped:
            raise SandboxError("root cannot become nobody here, and the sandbox is strict")
        return server, check_server(server, rung)
    except BaseException:
        server.close()
        raise


def _candidates(machine: Machine, wanted: Rung | None, strict: bool, unsafe: bool) -> list[Rung]:
    possible = machine.rungs
    if unsafe and machine.system == "linux":
        possible.append(Rung.E)
    if wanted is not None:
        possible = [wanted] if wanted in (*possible, Rung.C) and (wanted != Rung.C or machine.seccomp) else []
    return [rung for rung in possible if rung in STRICT or not strict]


def _why_not(machine: Machine, remarks: Sequence[str], strict: bool) -> str:
    reasons = "; ".join([*remarks, *machine.advice])
    return (
        f"programs cannot be confined {'as strictly as asked ' if strict else ''}on this machine: {reasons}. "
        "See docs/explanation/sandbox.md; `learnable doctor` shows each probe"
    )


def _run_once(
    server: SandboxServer, job: bytes, count: int, limits: Limits, reads: bool, measured: bool
) -> ProgramOutcome:
    outcome = ProgramOutcome()
    with server.new_process(limits, reads=reads) as process:
        process.give(job)
        server.keep_ready(limits, reads=reads)
        process.await_ready()
        try:
            complete = read_answers(process, outcome, count)
        except ViolationError as violation:
            return ProgramOutcome(end="flooded" if isinstance(violation, FloodError) else "violation")
        if measured or not complete:
            end = process.end()
            outcome.end, outcome.cpu_seconds = end.how, end.cpu_seconds
    return outcome
