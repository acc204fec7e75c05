"""Commands that start warm: forked from a process that has imported what takes long, vLLM above all.

A command is a process of its own, with its own session, folder, environment and files; only its imports are done. That
saves two thirds of a command's time. What a command starts in its turn (a Prefect server, the runs of a schedule, the
stages of a training) is warm too: see `tests.support.warm_twins`. What a cold start alone can show (what a command
imports, its first words) is tested by starting it cold.

    python -m tests.support.warm_starts ADDRESS MODULE ...
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import logging
import multiprocessing.process
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import IO, Any, NoReturn

from learnable.rollouts.vllm_engine import VLLM_ENVIRONMENT
from tests.support.warm_prefect import DATABASE, is_with_prefect, start_anew
from tests.support.warm_twins import MESSAGE_BYTES, place_files, set_twin_aside

PIPELINE = (
    "polars",
    "pyarrow.parquet",
    "scipy.optimize",
    "scipy.stats",
    "learnable.flows.curation.pipeline",
    "learnable.cli.app",
)
FLOWS = (
    "learnable.flows.curate",
    "learnable.flows.finetune",
    "learnable.flows.refresh",
    "prefect.runner",
    "prefect.server.api.server",
    "prefect.server.database",
    "uvicorn",
)
ENGINES = (
    *PIPELINE,
    *FLOWS,
    "transformers",
    "vllm.entrypoints.llm",
    "trl.trainer.grpo_trainer",
    "trl.trainer.sft_trainer",
)
POLL_SECONDS = 0.005

with_prefect: list[str] = []  # what a starter has imported of Prefect and of what imports it


@dataclass(frozen=True)
class Ended:
    """A command that has ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


class WarmProcess:
    """A command under way: as much of `subprocess.Popen` as is used."""

    def __init__(self, starter: Starter, pid: int, stdin: IO[Any] | None, stdout: IO[Any] | None) -> None:
        self._starter, self.pid = starter, pid
        self.stdin, self.stdout = stdin, stdout
        self.returncode: int | None = None

    def __enter__(self) -> WarmProcess:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout):
            if stream is not None:
                stream.close()
        self.wait()

    def poll(self) -> int | None:
        """Return its exit status, negative for a signal, None while it runs."""
        if self.returncode is None:
            self.returncode = self._starter.status_of(self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises `subprocess.TimeoutExpired`."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            time.sleep(POLL_SECONDS)
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """End it at once, if it still runs."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """Signal it, if it still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Starter:
    """A connection to the process that commands are forked from."""

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.connect(address)
        self._statuses: dict[int, int] = {}
        self._started: list[int] = []

    def start(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: IO[Any] | int | None = None,
        stderr: IO[Any] | int | None = None,
        text: bool = True,
        start_new_session: bool = True,
    ) -> WarmProcess:
        """Start what `subprocess.Popen` would start; the command is `[sys.executable, ...]`, its session its own."""
        assert command[0] == sys.executable
        assert start_new_session
        request = {
            "arguments": list(command[1:]),
            "cwd": str(cwd or Path.cwd()),
            "env": dict(env or os.environ),
            "session": True,
            "numbers": [0, 1, 2],
        }
        with ExitStack() as theirs:
            read, our_stdin = _piped("w", text, theirs) if stdin == subprocess.PIPE else (_null(theirs), None)
            written, our_stdout = _piped("r", text, theirs) if stdout == subprocess.PIPE else (stdout, None)
            files = [
                read,
                *(
                    number if file is None else _descriptor(file, theirs)
                    for number, file in ((1, written), (2, stderr))
                ),
            ]
            socket.send_fds(self._socket, [json.dumps(request).encode()], files)
            while not self._started:
                self._listen(None)
        return WarmProcess(self, self._started.pop(), our_stdin, our_stdout)

    def run(self, command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ended:
        """Run a command to its end."""
        with TemporaryFile() as out, TemporaryFile() as err:
            status = self.start(command, cwd=cwd, env=env, stdout=out, stderr=err).wait()
            return Ended(status, *(_all_of(file) for file in (out, err)))

    def status_of(self, pid: int) -> int | None:
        """Return the exit status of a command, None while it runs."""
        while self._listen(0):
            pass
        return self._statuses.get(pid)

    def close(self) -> None:
        """Hang up; commands under way go on."""
        self._socket.close()

    def _listen(self, timeout: float | None) -> bool:
        if not select.select([self._socket], [], [], timeout)[0]:
            return False
        data = self._socket.recv(MESSAGE_BYTES)
        assert data, "the starter has ended"
        message = json.loads(data)
        if "started" in message:
            self._started.append(message["started"])
        else:
            self._statuses[message["ended"]] = message["status"]
        return True


@contextmanager
def starting(modules: Sequence[str], database: Path) -> Iterator[Starter]:
    """Start a process that imports `modules`, and connect to it; it ends with the block, commands under way go on.

    The first Prefect server that one of its commands starts leaves its database, as it is before use, at `database`.
    """
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(address := str(Path(folder) / "starter"))
        listening.listen()
        with subprocess.Popen(
            [sys.executable, "-m", __name__, str(listening.fileno()), *modules],
            pass_fds=[listening.fileno()],
            stdin=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PREFECT_HOME": folder, "DO_NOT_TRACK": "1", DATABASE: str(database)},
        ):
            starter = Starter(address)
            yield starter
            starter.close()


def _piped(mode: str, text: bool, theirs: ExitStack) -> tuple[int, IO[Any]]:
    """Return the end of a pipe that a command gets, and ours, which is for reading or writing."""
    reading, writing = os.pipe()
    given, kept = (reading, writing) if mode == "w" else (writing, reading)
    theirs.callback(os.close, given)
    return given, os.fdopen(kept, mode if text else f"{mode}b", encoding="utf-8" if text else None)


def _null(theirs: ExitStack) -> int:
    return theirs.enter_context(Path(os.devnull).open("r+b")).fileno()


def _descriptor(file: IO[Any] | int, theirs: ExitStack) -> int:
    if file == subprocess.DEVNULL:
        return _null(theirs)
    return file if isinstance(file, int) else file.fileno()


def _all_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


class Forks:
    """The starter's own side: it forks a command for each request, and says when a command has ended."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._owners: dict[int, socket.socket] = {}
        self._woken, self._waker = os.pipe()
        self._files: list[socket.socket | int] = [listening, self._woken, 0]

    def serve(self) -> list[str] | None:
        """Fork until standard input ends; in a command, return its arguments."""
        os.set_blocking(self._waker, False)
        signal.set_wakeup_fd(self._waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            for ready in select.select(self._files, [], [])[0]:
                if ready == 0:
                    return None
                if ready == self._woken:
                    os.read(self._woken, 4096)
                    self._report_ends()
                elif ready is self._listening:
                    self._files.append(self._listening.accept()[0])
                elif isinstance(ready, socket.socket) and (arguments := self._fork(ready)) is not None:
                    return arguments

    def _fork(self, connection: socket.socket) -> list[str] | None:
        data, files, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, 3)
        if not data:
            self._files.remove(connection)
            connection.close()
            return None
        pid = os.fork()
        if pid == 0:
            self._close()
            return become(json.loads(data), files)
        for file in files:
            os.close(file)
        self._owners[pid] = connection
        with suppress(OSError):
            connection.send(json.dumps({"started": pid}).encode())
        return None

    def _close(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for file in (*self._files, self._waker):
            if isinstance(file, socket.socket):
                file.close()
            elif file:
                os.close(file)

    def _report_ends(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                status = os.waitstatus_to_exitcode(ended[1])
                with suppress(OSError):
                    self._owners.pop(ended[0]).send(json.dumps({"ended": ended[0], "status": status}).encode())


def import_ahead(modules: Sequence[str]) -> None:
    """Import what commands import, under the settings that they import it with."""
    os.environ.update({name: value for name, value in VLLM_ENVIRONMENT.items() if name not in os.environ})
    logging.getLogger("vllm").setLevel("ERROR")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in modules:
            importlib.import_module(module)
    with_prefect.extend(name for name, module in sys.modules.items() if is_with_prefect(name, module))
    gc.collect()
    gc.freeze()  # a look at these objects copies their pages, in every command


def become(request: Mapping[str, Any], files: Sequence[int]) -> list[str]:
    """Turn this process into the one that was asked for; return its arguments."""
    while True:
        if request["session"]:
            os.setsid()
        born = set_twin_aside(files)
        if born is None:
            break
        request, files = born
    place_files(files, request["numbers"])
    database = os.environ.get(DATABASE)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    multiprocessing.process.ORIGINAL_DIR = request["cwd"]  # it looks there for the script of its processes
    sys.path[1:1] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    if os.environ.get("PYTHONUNBUFFERED"):
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True, write_through=True)  # type: ignore[union-attr]
    tempfile.tempdir = None
    if with_prefect:
        start_anew(request["arguments"], with_prefect, database)
    return list(request["arguments"])


def run(arguments: list[str]) -> None:
    """Run a module, a text or a script as `python` does."""
    if arguments[0] == "-c":
        sys.argv = arguments[:1] + arguments[2:]
        sys.path[0] = ""
        sys.modules["__main__"] = main = ModuleType("__main__")
        exec(compile(arguments[1], "<string>", "exec"), vars(main))
    elif arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = str(Path.cwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(arguments[0]).parent)
        runpy.run_path(arguments[0], run_name="__main__")


def end(arguments: list[str]) -> NoReturn:
    """Run what `run` runs and end as Python does, but for taking every module down, which takes seconds."""
    status: int = 0
    try:
        run(arguments)
    except SystemExit as request:
        status = _status_of(request)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if not stream.closed:
                stream.flush()
        except OSError:
            status = 120
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status & 0xFF)


def _status_of(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    import_ahead(sys.argv[2:])
    typed = Forks(socket.socket(fileno=int(sys.argv[1]))).serve()
    if typed is not None:
        end(typed)
    os._exit(0)
