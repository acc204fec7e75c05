"""The set of `SCRIPT` in a working directory of its own, for every test that looks at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.viewing.pages_for_tests import make_report


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test of a file leaves the store that the others copy."""
    return tmp_path_factory.mktemp("template")


@pytest.fixture
def report(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, template: Path) -> Path:
    """Go to a folder with the curated set `store/curated/set`; return its report."""
    monkeypatch.chdir(tmp_path)
    return make_report(tmp_path, capfd, template)
