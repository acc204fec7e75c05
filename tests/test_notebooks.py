"""Every notebook runs from top to bottom on the bundled policy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""
NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    out = tmp_path / "executed.ipynb"
    environment = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "DO_NOT_TRACK": "1"}
    command = [sys.executable, "-c", EXECUTE, str(notebook), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "held-out reward" in out.read_text(encoding="utf-8")
