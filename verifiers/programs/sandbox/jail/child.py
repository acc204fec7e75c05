"""The process of one candidate: give up every right, then read the job, run the program and write its answers.

A job is a dict, marshalled by the judge: `source`, `mode`, and what the mode needs. The frames that are written are
`["ready", 0, null]` once nothing more can be given up, `["loaded", 0, null]` or `["failed", step, message]`, and then
`["answer", index, value]` or `["raised", index, type]`, each index once and in order.
"""

from __future__ import annotations

import builtins
import gc
import io
import marshal
import os
import sys
import types
from collections.abc import Callable
from typing import Any, NoReturn, TextIO

from .codec import CONNECTION, LENGTH_BYTES, decode, encode, pack, read_exactly, receive, send
from .exam import JailJob, sit
from .limits import MAX_OUTPUT_BYTES, keep_only

READY = pack(["ready", 0, None])
BEFORE_READY = 97  # exit status of a child that could not be confined
STDIN, STDOUT = 0, 1

_made: list[TextIO] = []  # standard output as the program finds it
_FILE_OPEN = open


def run_child(connection: int, reads: bool, lower: Callable[[], None], confine: Callable[[], None]) -> NoReturn:
    """Run the job that comes over `connection`, and never return. `lower` lowers the limits, `confine` sets the filter.

    The job may come much later: the client has processes made before it needs them. A program that `reads` standard
    input needs files in memory, which must be made before the filter is in place, and so its job is awaited first.
    """
    job = None
    try:
        keep_only(connection)
        if reads:
            job = _read_job()
            prepare_console(job["text"])
        lower()
        confine()
        gc.enable()
        os.write(CONNECTION, READY)
    except BaseException:  # there is nobody to tell but the server, by the status
        os._exit(BEFORE_READY)
    try:
        job = job or _read_job()
        RUN_MODES[job["mode"]](job)
    except BaseException:  # the candidate's, whatever it is
        os._exit(1)
    os._exit(0)


def answer_calls(job: JailJob) -> None:
    """Call the function `entry` with each of `calls`: `(positional, keywords, wrappers)`."""
    module = _load(job, "__candidate__")
    if module is None:
        return
    function = module.get(job["entry"])
    if not callable(function):
        send(["failed", "load", f"NameError: no function {job['entry']!r}"])
        return
    send(["loaded", 0, None])
    for index, (positional, keywords, wrappers) in enumerate(job["calls"]):
        report(index, lambda: _wrapped(function(*positional, **keywords), wrappers))  # noqa: B023


def run_console(job: JailJob) -> None:
    """Run a program that reads standard input, and answer with what it wrote to standard output."""
    module = _load(job, "__main__", ends=True)
    if module is not None:
        send(["loaded", 0, None])
        report(0, read_console)


def serve_calls(job: JailJob) -> None:
    """Answer calls as they come: the test code of another child makes them."""
    module = _load(job, "__candidate__")
    if module is None:
        return
    send(["loaded", 0, None])
    index = 0
    while (call := receive()) is not None:
        name, positional, keywords = call
        report(index, lambda: module[name](*decode(positional), **decode(keywords)))  # noqa: B023
        index += 1


def _load(job: JailJob, name: str, ends: bool = False) -> dict[str, Any] | None:
    """Run the module and return its names, or None when that failed, which is reported.

    With `ends`, leaving by `sys.exit()` is an end like any other.
    """
    step = "compile"
    try:
        code = compile(job["source"], "<candidate>", "exec", dont_inherit=True)
        step = "load"
        module = types.ModuleType(name)
        sys.modules[name] = module  # dataclasses and pickle look there
        exec(code, module.__dict__)
    except SystemExit as end:
        if ends and end.code in (None, 0):
            return module.__dict__
        send(["failed", step, "SystemExit"])
    except BaseException as error:
        send(["failed", step, f"{name_type(error)}: {error}"[:200]])
    else:
        return module.__dict__
    return None


def report(index: int, action: Callable[[], Any]) -> None:
    """Do something of the candidate's and write its result, or the type of what it raised."""
    try:
        frame = ["answer", index, encode(action())]
    except BaseException as error:  # SystemExit and KeyboardInterrupt too: a wrong answer, nothing more
        frame = ["raised", index, name_type(error)]
    send(frame)


def name_type(error: BaseException) -> str:
    """Return the name of an exception's type, of a bounded length."""
    return str(type(error).__name__)[:80]


def _wrapped(answer: Any, wrappers: list[tuple[str, tuple[Any, ...]]]) -> Any:
    for name, more in wrappers:
        answer = getattr(builtins, name)(answer, *more)
    return answer


def _read_job() -> JailJob:
    header = read_exactly(LENGTH_BYTES)
    content = None if header is None else read_exactly(int.from_bytes(header, "little"))
    if content is None:
        raise EOFError
    job: JailJob = marshal.loads(content)
    return job


def prepare_console(text: str) -> None:
    """Make `text` standard input, and keep what is written to standard output: two files in memory.

    Nothing can be opened later, so call it while descriptors may still be opened.
    """
    for target in (STDIN, STDOUT):
        memory = os.memfd_create("console")
        os.dup2(memory, target)
        os.close(memory)
    content = memoryview(text.encode("utf-8", "surrogatepass"))
    while content:
        content = content[os.write(STDIN, content) :]
    os.lseek(STDIN, 0, os.SEEK_SET)
    sys.stdin = open(STDIN, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(STDOUT, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    _made.append(sys.stdout)
    builtins.open = io.open = _open


def read_console() -> str:
    """Return what was written to standard output, in whichever way."""
    for stream in (sys.stdout, *_made):
        stream.flush()
    os.lseek(STDOUT, 0, os.SEEK_SET)
    content = bytearray()
    while len(content) < MAX_OUTPUT_BYTES and (chunk := os.read(STDOUT, MAX_OUTPUT_BYTES)):
        content += chunk
    return content.decode("utf-8", "replace")


def _open(file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
    """Open the input by its number, as many programs do: the filter refuses the call that opens it otherwise."""
    if file in (STDIN, "/dev/stdin"):
        return sys.stdin.buffer if "b" in mode else sys.stdin
    return _FILE_OPEN(file, mode, *more, **options)


RUN_MODES: dict[str, Callable[[JailJob], None]] = {
    "calls": answer_calls,
    "console": run_console,
    "serve": serve_calls,
    "exam": sit,
}
