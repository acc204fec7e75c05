"""Rung D: a subset of Python that needs nothing of the kernel, for machines without seccomp.

The interpreter is pydantic-monty, written in Rust: it has no files, no sockets and no processes to give, and runs in
worker processes of its own, so that one that crashes harms nobody. It knows a part of the language and of the
standard library, so an honest program may fail for what it lacks: rewards of this rung are not to be mixed with those
of another.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from learnable.verifiers.programs.sandbox.jail.codec import encode
from learnable.verifiers.programs.sandbox.jail.limits import MAX_OUTPUT_BYTES
from learnable.verifiers.programs.sandbox.jail.probes import HONEST
from learnable.verifiers.programs.sandbox.ladder import NoSandboxError
from learnable.verifiers.programs.sandbox.outcome import MAX_FAILURE_TEXT, Answer, ProgramOutcome
from learnable.verifiers.programs.sandbox.process import Call, SandboxError
from learnable.verifiers.programs.sandbox.server import Limits

if TYPE_CHECKING:
    from pydantic_monty import Monty, MontyError, MontySession

INSTALL = "pip install 'learnable[monty]'"


class Subset:
    """Runs functions in the subset. May be shared by threads. Its limit is time on the wall, not of the processor."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: Monty | None = None

    def start(self) -> dict[str, str]:
        """Start a worker and try what must fail; return each probe with "refused" or "passed".

        Raises `NoSandboxError` where the interpreter is missing, and `SandboxError` where a probe misbehaves.
        """
        try:
            import pydantic_monty as monty
        except ImportError as error:
            raise NoSandboxError(f"rung D needs the extra 'monty': {INSTALL}") from error
        with self._lock:
            if self._pool is None:
                self._pool = monty.Monty(feed_duration_limit_grace=1.0).__enter__()
            pool = self._pool
        probes = {}
        probes = {"open": "open('/')", "socket": "import socket", "process": "import subprocess"}
        for name, code in probes.items():
            with self._session(pool, Limits()) as session:
                try:
                    session.feed_run(code)
                except monty.MontyRuntimeError:
                    probes[name] = "refused"
                else:
                    raise SandboxError(f"the sandbox's own test failed: {name!r} was not refused")
        with self._session(pool, Limits()) as session:
            if session.feed_run("sum(range(10))") != HONEST:
                raise SandboxError("the sandbox's own test failed: an honest program came to something else")
        return {**probes, "honest": "passed"}

    def close(self) -> None:
        """End the workers."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.__exit__(None, None, None)

    def run_calls(self, source: str, entry: str, calls: Sequence[Call], limits: Limits) -> ProgramOutcome:
        """Do as `Sandbox.run_calls`, once started. Raises `SandboxError` where the workers have been ended."""
        import pydantic_monty as monty

        outcome, started = ProgramOutcome(), time.perf_counter()
        try:
            with self._session(self._pool, limits) as session:
                if not _load(session, source, outcome):
                    return outcome
                for call in calls:
                    if outcome.end == "timeout" or time.perf_counter() - started > limits.cpu_seconds:
                        outcome.end = "timeout"
                        break
                    _answer(session, entry, call, outcome)
        except monty.MontyCrashedError:
            outcome.end = "killed"
        outcome.cpu_seconds = time.perf_counter() - started
        return outcome

    @staticmethod
    def _session(pool: Monty | None, limits: Limits) -> MontySession:
        if pool is None:
            raise SandboxError("the workers have been ended")
        bounds: Any = {"max_feed_duration_secs": limits.cpu_seconds, "max_memory": limits.memory_bytes}
        return pool.checkout(
            script_name="candidate.py", limits=bounds, os_policy={"sleep": "zero", "random_start": {"seed": 0}}
        )


def _load(session: MontySession, source: str, outcome: ProgramOutcome) -> bool:
    import pydantic_monty as monty

    try:
        session.feed_run(source, print_callback=monty.CollectString(MAX_OUTPUT_BYTES))
    except monty.MontyError as error:
        if _is_late(error):
            outcome.end = "timeout"
            return False
        outcome.failed_step = "compile" if isinstance(error, monty.MontySyntaxError) else "load"
        outcome.failure = f"{type(error.exception()).__name__}: {error}"[:MAX_FAILURE_TEXT]
        return False
    outcome.loaded = True
    return True


def _answer(session: MontySession, entry: str, call: Call, outcome: ProgramOutcome) -> None:
    import pydantic_monty as monty

    positional, keywords, wrappers = call
    code, inputs = f"{entry}(*_positional, **_keywords)", {"_positional": list(positional), "_keywords": keywords}
    for place, (name, more) in enumerate(wrappers):
        code, inputs[f"_more{place}"] = f"{name}({code}, *_more{place})", list(more)
    try:
        value = session.feed_run(code, inputs=inputs, print_callback=monty.CollectString(MAX_OUTPUT_BYTES))
        outcome.answers.append(Answer(True, encode(value)))
    except monty.MontyError as error:
        if _is_late(error):
            outcome.end = "timeout"
        else:
            outcome.answers.append(Answer(False, type(error.exception()).__name__))
    except (TypeError, ValueError) as error:  # an answer that is no plain value
        outcome.answers.append(Answer(False, type(error).__name__))


def _is_late(error: MontyError) -> bool:
    # So the interpreter words it; a program's own TimeoutError says something else.
    return isinstance(error.exception(), TimeoutError) and "time limit exceeded" in str(error)
