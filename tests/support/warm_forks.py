"""The process that commands are forked from: it has imported what takes long, and serves all workers of the tests.

    python -m tests.support.warm_forks SOCKET PLACE MODULE ...

SOCKET is the descriptor of a listening socket, PLACE the file where its address stands for as long as it may be used.
See `tests.support.warm_starts`.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import logging
import multiprocessing.process
import os
import runpy
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from learnable.rollouts.vllm_engine import VLLM_ENVIRONMENT
from tests.support.warm_prefect import DATABASE, is_with_prefect, start_anew
from tests.support.warm_twins import MESSAGE_BYTES, place_files, set_twin_aside

with_prefect: list[str] = []  # what a starter has imported of Prefect and of what imports it


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Keep others from starting, finding or ending the starter of a place."""
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Forks:
    """Forks a command for each request, and says when a command has ended. Whoever starts it is connected already."""

    def __init__(self, listening: socket.socket, place: Path) -> None:
        self._listening, self._place = listening, place
        self._connections: list[socket.socket] = []
        self._owners: dict[int, socket.socket] = {}
        self._woken, self._waker = os.pipe()

    def serve(self) -> list[str] | None:
        """Fork until nobody is connected any more; in a command, return its arguments."""
        os.set_blocking(self._waker, False)
        signal.set_wakeup_fd(self._waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            for ready in select.select([self._listening, self._woken, *self._connections], [], [])[0]:
                if ready == self._woken:
                    os.read(self._woken, 4096)
                    self._report_ends()
                elif ready is self._listening:
                    self._connections.append(self._listening.accept()[0])
                elif (arguments := self._fork(ready)) is not None:
                    return arguments
            if not self._connections and self._withdraw():
                return None

    def _withdraw(self) -> bool:
        """Take the address away, unless somebody has used it just now."""
        with locked(self._place):
            if select.select([self._listening], [], [], 0)[0]:
                return False
            self._place.unlink(missing_ok=True)
            return True

    def _fork(self, connection: socket.socket) -> list[str] | None:
        data, files, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, 3)
        if not data:
            self._connections.remove(connection)
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
        for connection in (self._listening, *self._connections):
            connection.close()
        for file in (self._woken, self._waker):
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


def main(number: int, place: Path, modules: Sequence[str]) -> NoReturn:
    """Leave whoever started this, import and serve."""
    if os.fork():
        os._exit(0)
    listening = socket.socket(fileno=number)
    folder = Path(listening.getsockname()).parent
    import_ahead(modules)
    typed = Forks(listening, place).serve()
    if typed is not None:
        end(typed)
    shutil.rmtree(folder)
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
