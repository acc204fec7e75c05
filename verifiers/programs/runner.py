"""The process that runs candidates: `python runner.py`, one JSON job a line in, one JSON outcome a line out.

It forks a child for each job, so a candidate starts from a clean interpreter in about a millisecond. It never
sees an expected answer. Standard library only: it is started as a file and imports nothing of the package.

The child has limits on CPU time, memory, file size, open files and processes, no standard streams, and, where
the runner is root, no root rights. It can still read files and use the network.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

MEMORY_BYTES = 256 << 20
OPEN_FILES = 16
MAX_ANSWER_BYTES = 1 << 20
NOBODY = 65_534
RESULT_FD = 3
# Loaded before the fork: a candidate without root rights may be unable to read the library's files.
PRELOADED = (
    "abc array bisect calendar cmath collections collections.abc contextlib copy dataclasses datetime decimal enum "
    "fractions functools hashlib heapq inspect io itertools math numbers operator queue re secrets statistics string "
    "struct textwrap threading traceback types typing unicodedata warnings"
).split()


def main() -> None:
    """Serve jobs until input ends."""
    answers = os.fdopen(os.dup(1), "w")
    jobs = os.fdopen(os.dup(0), "r")
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            __import__(name)
    gc.collect()
    gc.freeze()
    for line in jobs:
        answers.write(json.dumps(run_job(json.loads(line))) + "\n")
        answers.flush()


def run_job(job: dict[str, Any]) -> dict[str, str]:
    """Run one candidate; return how it ended and the lines it wrote.

    Ends: `exited`, `killed` (by a signal other than a time limit), `timeout`, `flooded`.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        run_candidate(job, writing)
    os.close(writing)
    end, answer = "exited", b""
    try:
        end, answer = collect(reading, time.monotonic() + 2 * job["cpu_seconds"] + 1)
    finally:
        os.close(reading)
        status = stop(pid, patience=0.05 if end == "exited" else 0.0)
    if end == "exited" and os.WIFSIGNALED(status):
        end = "timeout" if os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGXCPU) else "killed"
    return {"end": end, "answer": answer.decode("ascii", "replace")}


def collect(reading: int, deadline: float) -> tuple[str, bytes]:
    """Read until the candidate closes its pipe, writes too much, or the time (monotonic seconds) is up."""
    answer = bytearray()
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([reading], [], [], left)[0]:
            break
        chunk = os.read(reading, 65_536)
        if not chunk:
            return "exited", bytes(answer)
        answer += chunk
        if len(answer) > MAX_ANSWER_BYTES:
            return "flooded", bytes(answer[:MAX_ANSWER_BYTES])
    return "timeout", bytes(answer)


def stop(pid: int, patience: float) -> int:
    """Kill the candidate with its process group and return its wait status.

    It has `patience` seconds to end by itself, and then keeps the status it chose; its group goes all the same.
    """
    deadline = time.monotonic() + patience
    ended, status = os.waitpid(pid, os.WNOHANG)
    while not ended and time.monotonic() < deadline:
        time.sleep(0.0002)  # it has closed its pipe, as a rule because it is ending
        ended, status = os.waitpid(pid, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    if not ended:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    return status


def run_candidate(job: dict[str, Any], writing: int) -> NoReturn:
    """Run the program in this forked child and write one line for each step. Never returns."""
    try:
        os.setsid()
        os.dup2(writing, RESULT_FD)
        os.closerange(RESULT_FD + 1, 256)
        out = os.fdopen(RESULT_FD, "w", closefd=False)
        if step(out, "ready", lambda: limit(job["cpu_seconds"])):
            answer_calls(job, out)
    except BaseException:  # the candidate's, whatever it is; there is nobody to tell
        os._exit(1)
    os._exit(0)


def limit(cpu_seconds: float) -> bool:
    """Lower this process's limits and give up root rights, for good; start chance from a fixed state."""
    whole = int(cpu_seconds) + 1  # RLIMIT_CPU counts whole seconds; the timer below is the finer one
    for kind, value in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, whole),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(kind, (value, value))
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    if os.getuid() == 0:  # the process limit does not bind root
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    random.seed(0)
    return True


def answer_calls(job: dict[str, Any], out: Any) -> None:
    """Compile, run and call the program; write `["compiled", ok, why]`, `["loaded", ok, why]`, `[index, ok, value]`."""
    code = step(out, "compiled", lambda: compile(job["source"], "<candidate>", "exec", dont_inherit=True))
    function = code and step(out, "loaded", lambda: load(code, job["entry"]))
    if function is None:
        return
    for index, arguments in enumerate(job["calls"]):
        try:
            line = json.dumps([index, True, function(*arguments)])
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: a wrong answer, nothing more
            line = json.dumps([index, False, type(error).__name__])
        out.write(line + "\n")
        out.flush()


def load(code: Any, entry: str) -> Any:
    """Run the module's code and return its function `entry`."""
    module: dict[str, Any] = {"__name__": "__candidate__"}
    exec(code, module)
    if not callable(module.get(entry)):
        raise NameError(f"no function {entry!r}")
    return module[entry]


def step(out: Any, name: str, action: Callable[[], Any]) -> Any:
    """Do something of the candidate's, write whether it worked, and return its result, or None."""
    result, failure = None, ""
    try:
        result = action()
    except BaseException as error:
        failure = f"{type(error).__name__}: {error}"[:200]
    out.write(json.dumps([name, not failure, failure]) + "\n")
    out.flush()
    return result


if __name__ == "__main__":
    sys.setrecursionlimit(1000)
    main()
