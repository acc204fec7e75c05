"""Commands that start warm: forked from a process that has imported what takes long, vLLM above all.

A command is a process of its own, with its own session, folder, environment and files; only its imports are done. That
saves two thirds of a command's time. The stages of a training, which a command starts as processes of their own, are
forked from the same process. What a cold start alone can show (what a command imports, its first words) is tested by
starting it cold.

    python -m tests.warm_starts_for_tests ADDRESS MODULE ...
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType, SimpleNamespace
from typing import IO, Any

from learnable.rollouts.vllm_engine import QUIET

PIPELINE = (
    "polars",
    "pyarrow.parquet",
    "scipy.optimize",
    "scipy.stats",
    "learnable.flows.curation.pipeline",
    "learnable.cli.app",
)
ENGINES = (*PIPELINE, "transformers", "vllm.entrypoints.llm", "trl.trainer.grpo_trainer", "trl.trainer.sft_trainer")
ADDRESS = "LEARNABLE_TEST_STARTER"  # in the environment of commands: where their starter listens
MESSAGE_BYTES = 1 << 20
POLL_SECONDS = 0.005


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

    def send_signal(self, number: int) -> None:
        """Signal it, if it still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Starter:
    """A connection to the process that commands are forked from."""

    def __init__(self, address: str) -> None:
        self.address = address
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
        environment = {**(env or os.environ), ADDRESS: self.address}
        request = {"arguments": list(command[1:]), "cwd": str(cwd or Path.cwd()), "env": environment}
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
def starting(modules: Sequence[str]) -> Iterator[Starter]:
    """Start a process that imports `modules`, and connect to it; it ends with the block, commands under way go on."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(address := str(Path(folder) / "starter"))
        listening.listen()
        with subprocess.Popen(
            [sys.executable, "-m", __name__, str(listening.fileno()), *modules],
            pass_fds=[listening.fileno()],
            stdin=subprocess.PIPE,
            start_new_session=True,
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
    os.environ.update({name: value for name, value in QUIET.items() if name not in os.environ})
    logging.getLogger("vllm").setLevel("ERROR")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in modules:
            importlib.import_module(module)


def become(request: Mapping[str, Any], files: Sequence[int]) -> list[str]:
    """Turn this process into the one that was asked for; return its arguments."""
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.path[1:1] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    tempfile.tempdir = None
    start_stages_warm(start_by_request)
    return list(request["arguments"])


def start_stages_warm(start: Callable[..., WarmProcess]) -> None:
    """Let the stages of a training that this process runs be started by `start`."""
    from learnable.train import child

    child.subprocess = SimpleNamespace(Popen=start, PIPE=subprocess.PIPE)  # type: ignore[assignment]


def start_by_request(*arguments: Any, **options: Any) -> WarmProcess:
    """Start a process as the starter of this one would: `Starter.start`, by a connection of its own."""
    return Starter(os.environ[ADDRESS]).start(*arguments, **options)


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


if __name__ == "__main__":
    import_ahead(sys.argv[2:])
    typed = Forks(socket.socket(fileno=int(sys.argv[1]))).serve()
    if typed is not None:
        run(typed)
