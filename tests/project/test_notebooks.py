"""Every notebook runs from top to bottom on the bundled policy, and is kept with what it shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths_for_tests import ROOT
from tests.warm_starts_for_tests import ADDRESS, Starter

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
WARM_STAGES = """
from tests.warm_starts_for_tests import start_by_request, start_stages_warm

start_stages_warm(start_by_request)
"""


@pytest.mark.e2e
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(notebook: Path, tmp_path: Path, starter: Starter) -> None:
    out, startup = tmp_path / "executed.ipynb", tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "stages.py").write_text(WARM_STAGES)
    folders = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "IPYTHONDIR": str(startup.parents[1])}
    stages = {"PYTHONPATH": str(ROOT), ADDRESS: starter.address}
    environment = {**os.environ, **folders, **stages, "DO_NOT_TRACK": "1"}
    command = [sys.executable, str(FOLDER / "run.py"), str(notebook), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
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
