"""Commands with a home of their own that end with their test."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.flows.scheduling.prefect_processes_for_tests import Command
from tests.support.warm_starts import Starter


@pytest.fixture
def start(tmp_path: Path, starter: Starter) -> Iterator[Callable[..., Command]]:
    """Start commands; whatever still runs at the end is killed."""
    started: list[Command] = []

    def run(*arguments: str, cold: bool = False, **environment: str) -> Command:
        started.append(Command(None if cold else starter, tmp_path, *arguments, **environment))
        return started[-1]

    yield run
    for command in started:
        command.close()


@pytest.fixture(scope="module")
def prefect_url(tmp_path_factory: pytest.TempPathFactory, starter: Starter) -> Iterator[str]:
    """The address of a Prefect server as `prefect server start` starts it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    typed = ("-m", "prefect", "server", "start", "--no-ui", "--port", port)
    few = {"PREFECT_SERVER_SERVICES_SCHEDULER_MAX_RUNS": "30"}  # of a schedule, instead of a hundred
    server = Command(starter, tmp_path_factory.mktemp("server"), *typed, **few)
    url = f"http://127.0.0.1:{port}/api"
    assert server.listen(lambda: answers(url)), server.said
    yield url
    server.process.send_signal(signal.SIGTERM)
    server.listen(lambda: False)
    server.close()


def answers(url: str) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(f"{url}/health", timeout=1, trust_env=False).is_success
    return False
