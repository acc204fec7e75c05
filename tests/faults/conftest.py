from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.runs_for_tests import Shell
from tests.support.warm_starts import Starter


@pytest.fixture
def shell(tmp_path: Path, pipeline_starter: Starter) -> Iterator[Shell]:
    """A folder to run commands in; whatever still runs at the end is killed."""
    started = Shell(tmp_path, pipeline_starter)
    yield started
    started.kill_all()
