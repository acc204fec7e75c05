"""What holds in every test: Hypothesis without deadlines, Ctrl-C that works, and cores that workers do not share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.paths_for_tests import ROOT
from tests.warm_starts_for_tests import ENGINES, PIPELINE, Starter

settings.register_profile("learnable", deadline=None, max_examples=60, print_blob=True)
settings.register_profile("thorough", settings.get_profile("learnable"), max_examples=1000)
settings.load_profile("learnable")

# A shell starts background jobs with Ctrl-C ignored, and the processes that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW = [ROOT / "tests" / folder for folder in ("attacks", "faults", "verifiers/pool", "verifiers/programs/sandbox")]


def pytest_configure() -> None:
    """Give each worker cores of its own: engines that share cores mostly wait for each other's threads."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and hasattr(os, "sched_setaffinity"):
        cores, workers = sorted(os.sched_getaffinity(0)), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        own = cores[int(worker.removeprefix("gw")) % len(cores) :: workers] or cores
        os.sched_setaffinity(0, own)
        os.environ["OMP_NUM_THREADS"] = str(len(own))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the folders whose tests start processes; begin with what takes long, so that workers end together."""
    for item in items:
        if any(folder in item.path.parents for folder in SLOW):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("e2e") is None)


@pytest.fixture(scope="session")
def pipeline_starter() -> Iterator[Starter]:
    """Starts commands that need no engine."""
    starter = Starter(PIPELINE)
    yield starter
    starter.close()


@pytest.fixture(scope="session")
def starter() -> Iterator[Starter]:
    """Starts commands that run vLLM or a trainer."""
    starter = Starter(ENGINES)
    yield starter
    starter.close()
