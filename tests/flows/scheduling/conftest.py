"""Commands with a home of their own that end with their test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

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
