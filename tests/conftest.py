"""What holds in every test: Hypothesis without deadlines, Ctrl-C that works, and a share of threads for each."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

from learnable.verifiers.own.trust import TRUSTED
from tests.support.paths import ROOT
from tests.support.warm_starts import ENGINES, PIPELINE, Starter, starting

settings.register_profile("learnable", deadline=None, max_examples=25, print_blob=True)
settings.register_profile("thorough", settings.get_profile("learnable"), max_examples=1000)
settings.load_profile("learnable")

# vLLM looks once at the class of a model, in a process of its own that imports vLLM anew, and remembers what it saw:
# homes that tests make are told too.
os.environ.setdefault(
    "VLLM_CACHE_ROOT", str(Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")).expanduser() / "vllm")
)

# A shell starts background jobs with Ctrl-C ignored, nohup with hanging up; the processes of tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# They start processes of their own, or simulate for many seconds.
SLOW = [
    ROOT / "tests" / place
    for place in (
        "attacks",
        "cli/test_forecast.py",
        "cli/test_judges.py",
        "cli/test_reward_functions.py",
        "compatibility",
        "data/sources/gym/test_generation.py",
        "data/storage/test_lease.py",
        "data/storage/test_lock.py",
        "data/storage/test_weights.py",
        "faults",
        "filters/posterior/test_certificate.py",
        "filters/posterior/test_value_fit.py",
        "filters/stopping/test_plan.py",
        "flows/curation/test_cost.py",
        "flows/curation/test_forecast_of_cases.py",
        "flows/looping",
        "flows/refreshing",
        "flows/sampling/test_agreement.py",
        "flows/sampling/test_sampler.py",
        "flows/sampling/test_scan.py",
        "flows/scheduling",
        "flows/test_remote_store.py",
        "project/test_store_docs.py",
        "project/test_warm_starts.py",
        "train/policy/test_training.py",
        "verifiers/answers/kinds/test_gym_data_sets.py",
        "verifiers/poetry/sound/test_public_sound.py",
        "verifiers/poetry/test_public_verse.py",
        "verifiers/pool",
        "verifiers/programs/sandbox",
    )
]
LONGEST = [
    ROOT / "tests" / place
    for place in ("rollouts/ray", "project", "flows/scheduling", "faults/test_kill.py", "flows/curation")
]
# No doctest is in these, and Prefect takes more than a second to import.
WITH_PREFECT = [
    ROOT / "src" / "learnable" / "flows" / place
    for place in ("curate.py", "finetune.py", "loop.py", "refresh.py", "scheduling")
]
MAX_WORKERS = 12


@pytest.fixture(autouse=True)
def trusts_no_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin each test without judges that an earlier one has trusted."""
    monkeypatch.setenv(TRUSTED, "[]")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return half as many workers again as there are cores: tests wait for disks, servers and clocks too.

    For `-n logical` a worker a core: fast tests wait for nothing, and each worker has its imports to make.
    """
    cores = count_cores()
    return min(cores if config.getoption("numprocesses") == "logical" else cores + cores // 2, MAX_WORKERS)


def pytest_configure() -> None:
    """Give each worker its share of threads: an engine whose threads share cores with another's mostly waits for those.

    It is bound to no core: what waits for a server or a clock leaves its core to whoever has work.
    And take away the width of a terminal, which readline puts into the environment of whoever starts workers.
    """
    gc.disable()  # until all is imported and collected, of which nothing is garbage
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    if "PYTEST_XDIST_WORKER" in os.environ:
        threads = max(1, count_cores() // int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))
        os.environ |= {name: str(threads) for name in ("OMP_NUM_THREADS", "POLARS_MAX_THREADS")}
        os.environ["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"


def pytest_collection_finish() -> None:
    """Keep ten thousand tests and what they import out of searches for garbage: they were half of a worker's time."""
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
    gc.enable()


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where only fast tests were asked for, do not import the slow ones, nor doctests' modules that import Prefect."""
    wanted = config.getoption("markexpr")
    return True if "not slow" in wanted and collection_path in (*SLOW, *WITH_PREFECT) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow; begin with what takes long, so that workers end together."""
    files = {item.path: item for item in items}  # thousands of tests, and walking up a path is not cheap
    slow, longest = ({path for path, item in files.items() if _is_in(item, places)} for places in (SLOW, LONGEST))
    for item in items:
        if item.path in slow:
            item.add_marker(pytest.mark.slow)
    items.sort(
        key=lambda item: (item.get_closest_marker("e2e") is None, item.path not in longest, item.path not in slow)
    )


def _is_in(item: pytest.Item, places: Sequence[Path]) -> bool:
    return any(place in (item.path, *item.path.parents) for place in places)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all workers find what one of them has made."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def prefect_database(shared_folder: Path) -> Path:
    """The database of a new Prefect server, once one was needed."""
    return shared_folder / "prefect.db"


@pytest.fixture(scope="session")
def pipeline_starter(prefect_database: Path) -> Iterator[Starter]:
    """Starts commands that need no engine."""
    with starting(PIPELINE, prefect_database) as starter:
        yield starter


@pytest.fixture(scope="session")
def starter(prefect_database: Path) -> Iterator[Starter]:
    """Starts commands that run vLLM, a trainer or Prefect."""
    with starting(ENGINES, prefect_database) as starter:
        yield starter
