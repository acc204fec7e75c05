"""Commands that start warm: forked from a process that has imported what takes long, vLLM above all.

A command is a process of its own, with its own session, folder, environment and files; only its imports are done. That
saves two thirds of a command's time. What a command starts in its turn (a Prefect server, the runs of a schedule, the
stages of a training) is warm too: see `tests.support.warm_twins`. What a cold start alone can show (what a command
imports, its first words) is tested by starting it cold.

    python -m tests.support.warm_starts

imports what is imported here and in tests that start cold, which compiles it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from tests.support import warm_forks
from tests.support.warm_prefect import DATABASE
from tests.support.warm_twins import MESSAGE_BYTES

PIPELINE = (
    "pandas",  # pyarrow imports it with the first values that it is given
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
    "transformers.models.llama.modeling_llama",
    "vllm.entrypoints.openai.api_server",
    "vllm.v1.core.sched.scheduler",  # and what else vLLM imports when an engine starts
    "vllm.v1.worker.gpu_model_runner",
    "vllm.model_executor.layers.quantization.online.base",
    "trl.trainer.grpo_trainer",
    "trl.trainer.sft_trainer",
)
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
        try:
            self._socket.connect(address)
        except OSError:
            self._socket.close()
            raise
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
    """Connect to the process that imports `modules`, which all workers share: whoever comes first starts it.

    It ends when nobody is connected any more; commands under way go on. The first Prefect server that one of its
    commands starts leaves its database, as it is before use, at `database`.
    """
    place = database.with_name(f"starter-{modules[-1]}")
    with warm_forks.locked(place):
        try:
            starter = Starter(place.read_text())
        except OSError:
            starter = _start(modules, database, place)
    yield starter
    starter.close()


def _start(modules: Sequence[str], database: Path, place: Path) -> Starter:
    folder = tempfile.mkdtemp(prefix="starter")  # paths of sockets must be short
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(address := str(Path(folder) / "socket"))
        listening.listen()
        starter = Starter(address)
        subprocess.run(
            [sys.executable, "-m", warm_forks.__name__, str(listening.fileno()), str(place), *modules],
            pass_fds=[listening.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "PREFECT_HOME": folder, "DO_NOT_TRACK": "1", DATABASE: str(database)},
            check=True,
        )
    place.write_text(address)
    return starter


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


if __name__ == "__main__":
    warm_forks.import_ahead((*ENGINES, "ray.data.llm"))
    os._exit(0)  # as a starter ends: without what libraries say when they are taken down
