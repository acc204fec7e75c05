"""Run the notebooks from top to bottom in one session, and keep what they show but for what libraries say on stderr.

They share a folder, so one finds the store that another filled. Each begins with an empty namespace.

python notebooks/run.py FOLDER NOTEBOOK...
"""

from __future__ import annotations

import sys
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient


def main(folder: Path, paths: list[Path]) -> None:
    """Run them in order, and write them to a folder. Raises `CellExecutionError` where a cell fails."""
    notebooks = {path.name: nbformat.read(path, as_version=4) for path in paths}
    session = deepcopy(next(iter(notebooks.values())))
    session.cells = []
    for notebook in notebooks.values():
        session.cells += [nbformat.v4.new_code_cell("%reset -f"), *notebook.cells]
    with TemporaryDirectory(prefix="learnable-") as workspace:
        NotebookClient(
            session, timeout=1800, kernel_name="python3", resources={"metadata": {"path": workspace}}
        ).execute()
    for name, notebook in notebooks.items():
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        for number, cell in enumerate(code, start=1):
            _tidy(cell, number)
        nbformat.write(notebook, folder / name)
        print(f"{name}: {len(code)} cells were run, with what they show")


def _tidy(cell: nbformat.NotebookNode, number: int) -> None:
    """Number a cell as if its notebook had run alone, and drop times and what went to stderr."""
    cell.metadata = {}
    cell.execution_count = number
    cell.outputs = [shown for shown in cell.outputs if shown.get("name") != "stderr"]
    for shown in cell.outputs:
        if "execution_count" in shown:
            shown.execution_count = number


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
