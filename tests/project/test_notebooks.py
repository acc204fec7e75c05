"""The notebooks run from top to bottom on the bundled policy, show what they speak of, and are kept with that."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.warm_starts import Starter

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.e2e
def test_notebooks_show_what_they_speak_of(tmp_path: Path, starter: Starter) -> None:
    """All in one kernel: what the first finds, the others judge anew and train on, here for half as many steps."""
    (tmp_path / "typed").mkdir()
    typed = [Path(shutil.copy(path, tmp_path / "typed")) for path in NOTEBOOKS]
    _change(typed[-1], "steps=12", "steps=6")
    _run(typed, tmp_path, starter)
    first, groups, verifier, trained = [_printed(tmp_path / path.name) for path in NOTEBOOKS]
    (kept,) = _numbers(r"kept (\d+) of 160 prompts", first)
    assert 40 < kept < 120
    _check_groups(groups)
    judged, new = _numbers(r"(\d+) completions judged, (\d+) of them new", verifier)
    assert judged >= 8 * 40
    assert new == 0  # the other notebook's rollouts are judged anew
    before, after = _numbers(r"groups without spread: (\d+)% judged right or wrong, (\d+)% by digits", verifier)
    assert after < before - 15
    _check_training(trained)


def _change(notebook: Path, old: str, new: str) -> None:
    text = notebook.read_text(encoding="utf-8")
    assert text.count(old) == 1
    notebook.write_text(text.replace(old, new), encoding="utf-8")


def _run(notebooks: list[Path], folder: Path, starter: Starter) -> None:
    folders = {"HOME": str(folder), "TMPDIR": str(folder), "IPYTHONDIR": str(folder / "ipython")}
    command = [sys.executable, str(FOLDER / "run.py"), str(folder), *map(str, notebooks)]
    done = starter.run(command, env={**os.environ, **folders, "DO_NOT_TRACK": "1"})  # its kernel starts warm too
    assert done.returncode == 0, done.stderr[-3000:]
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [path.name for path in notebooks]


def _check_groups(said: str) -> None:
    (agreed,) = _numbers(r"A, groups agree: .*advantage\| (\S+)", said)
    deviation, disagreed = _numbers(r"B, groups disagree: reward std (\S+), .*advantage\| (\S+)", said)
    assert agreed == 0
    assert disagreed > 0.5
    assert _numbers(r"A, groups agree: reward std ([\d.]+)", said)[0] > 0.8 * deviation  # looks as lively
    shares = _numbers(r"within groups (\S+), between prompts (\S+), between forms (\S+)", said)
    assert sum(shares) == pytest.approx(1, abs=0.02)
    assert 0.2 < shares[0] < 0.7
    everywhere, best = _numbers(r"zero-std groups: (\d+)% over all forms, (\d+)% in", said)
    assert best < everywhere / 2


def _check_training(said: str) -> None:
    """Both parts were trained on, what their certificates forecast is what training saw, and the policies compared."""
    usable = {}
    for part in ("control", "train"):
        forecast, seen = _numbers(rf"{part}: (\d+)% of groups usable by the forecast, (\d+)% in training", said)
        assert seen == pytest.approx(forecast, abs=20)  # 48 groups, of a policy that moves
        usable[part] = seen
        assert _numbers(rf"{part}: held-out reward .*, (\d+) prompts", said)[0] > 40
    assert usable["train"] > usable["control"] + 15
    assert re.search(r"training on train .*, \d+ prompts, paired", said)


def _numbers(pattern: str, said: str) -> list[float]:
    found = re.search(pattern, said)
    assert found, f"{pattern} is not in {said}"
    return [float(number.rstrip(",")) for number in found.groups()]


def _printed(notebook: Path) -> str:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    shown = [output for cell in cells for output in cell.get("outputs", [])]
    return "".join(text for output in shown if output.get("name") == "stdout" for text in output["text"])


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_with_its_results(notebook: Path) -> None:
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    shown = [cell for cell in cells if cell["outputs"]]
    assert len(shown) >= len(cells) - 1  # the imports show nothing
    said = notebook.read_text()
    assert "Traceback" not in said
    assert "site-packages" not in said
    assert not re.search(r'"/(?:tmp|home|work|root)/', said)
    assert notebook.stat().st_size < 250_000
