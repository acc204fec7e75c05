"""Every notebook runs from top to bottom on the bundled policy, and is kept with what it shows."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.warm_starts import Starter

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.e2e
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(notebook: Path, tmp_path: Path, starter: Starter) -> None:
    out = tmp_path / "executed.ipynb"
    folders = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython")}
    command = [sys.executable, str(FOLDER / "run.py"), str(notebook), str(out)]
    done = starter.run(command, env={**os.environ, **folders, "DO_NOT_TRACK": "1"})  # its kernel starts warm too
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith(f"{out}: ")
    assert "held-out reward" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_shows_its_results(notebook: Path) -> None:
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    shown = [cell for cell in cells if cell["outputs"]]
    assert len(shown) >= len(cells) - 1  # the imports show nothing
    said = notebook.read_text()
    assert "Traceback" not in said
    assert "site-packages" not in said
