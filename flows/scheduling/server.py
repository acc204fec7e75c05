"""A Prefect server of this process's own: a process that ends with this one, however that ends.

python -m learnable.flows.scheduling.server SOCKET

It has a session, an output and a listening socket of its own, so it keeps no pipe of the caller's open, Ctrl-C does not
reach it, and no other server can take its port. It ends when its standard input does: the kernel closes that pipe even
when its parent is killed.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO

from learnable.data.errors import LearnableError

SERVER_START_SECONDS = 180.0  # it shares two cores with an engine's start
STOP_SECONDS = 5.0
ANSWER_SECONDS = 10.0
PREFECT_DEFAULTS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",  # the console says what went wrong, once
}
TEMPORARY = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}


class OwnServer:
    """A Prefect server under way at `url`, ready or not yet."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: IO[bytes]) -> None:
        self.process, self.port, self._log = process, port, log

    @property
    def url(self) -> str:
        """The address of its API."""
        return f"http://127.0.0.1:{self.port}/api"

    def wait_until_ready(self) -> None:
        """Return once it answers.

        Raises `LearnableError` with its last words when it ends, or does not answer in time.
        """
        end = time.monotonic() + SERVER_START_SECONDS
        while not self._answers():
            status = self.process.poll()
            if status is not None or time.monotonic() > end:
                why = (
                    f"did not answer in {SERVER_START_SECONDS:g} s" if status is None else f"ended with status {status}"
                )
                raise LearnableError(
                    f"the Prefect server {why}: {self._last_words()}; run without it with `use_prefect=False`"
                )
            time.sleep(0.1)

    def stop(self) -> None:
        """End it, if it has not ended."""
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self._log.close()

    def _answers(self) -> bool:
        import httpx

        with suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/health", timeout=1.0, trust_env=False).is_success
        return False

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read().decode(errors="replace").splitlines() if line.strip()]
        return lines[-1][:300] if lines else "it said nothing"


def start_own_server(environment: Mapping[str, str]) -> OwnServer:
    """Start a server with what `environment` adds to this process's own. It ends with this process."""
    from prefect.settings import get_current_settings

    log = tempfile.TemporaryFile()  # noqa: SIM115 - the server's, for as long as that lives
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "learnable.flows.scheduling.server", str(listening.fileno())],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=[listening.fileno()],
            start_new_session=True,
            env={**os.environ, **get_current_settings().to_environment_variables(exclude_unset=True), **environment},
        )
    return OwnServer(process, port, log)


_temporary: list[OwnServer] = []  # at most one, which all runs of this process share


@contextmanager
def prefect_server() -> Iterator[None]:
    """Start a temporary Prefect server, unless one is configured, while the block runs; wait for it at the end.

    It ends when this process does. Raises `LearnableError` where it does not start.
    """
    for name, value in PREFECT_DEFAULTS.items():
        os.environ.setdefault(name, value)
    if has_server() or _temporary:
        yield
        return
    server = start_own_server(TEMPORARY)
    try:
        yield
        server.wait_until_ready()
    except BaseException:
        server.stop()
        raise
    _let_clients_use(server)


def has_server() -> bool:
    """Whether a Prefect server is configured, rather than to be started for this run."""
    from prefect.settings import PREFECT_API_URL

    return bool(PREFECT_API_URL.value())


def check_answers(url: str) -> None:
    """Raise `LearnableError` where no server answers at an address."""
    import httpx

    try:
        httpx.get(f"{url.rstrip('/')}/health", timeout=ANSWER_SECONDS).raise_for_status()
    except httpx.HTTPError as error:
        raise LearnableError(
            f"the Prefect server at PREFECT_API_URL {url!r} does not answer ({error}): start one with "
            "`prefect server start`, or unset PREFECT_API_URL to let this command run its own"
        ) from error


def _let_clients_use(server: OwnServer) -> None:
    """Give the server to Prefect as the one that its clients start where none is configured: they find it running."""
    from prefect.server.api.server import SubprocessASGIServer

    shared = SubprocessASGIServer()
    shared.port, shared.server_process, shared.running = server.port, server.process, True
    _temporary.append(server)
    atexit.register(server.stop)


def main(descriptor: int) -> None:
    """Serve on an inherited socket until standard input ends. Runs in the server's process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import uvicorn

    config = uvicorn.Config("prefect.server.api.server:create_app", factory=True, log_level="error", lifespan="on")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)  # nobody is left to report to, and its database stands a sudden end


if __name__ == "__main__":
    main(int(sys.argv[1]))
