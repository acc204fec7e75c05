"""Run a notebook from top to bottom, and keep what it shows; what libraries say on stderr is left out.

python notebooks/run.py NOTEBOOK [OUTPUT]
"""

from __future__ import annotations

import sys

import nbformat
from nbclient import NotebookClient


def main(notebook: str, output: str) -> None:
    """Run it. Raises `CellExecutionError` where a cell fails."""
    cells = nbformat.read(notebook, as_version=4)
    NotebookClient(cells, timeout=600, kernel_name="python3").execute()
    for cell in cells.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [shown for shown in cell.outputs if shown.get("name") != "stderr"]
    nbformat.write(cells, output)
    count = sum(cell.cell_type == "code" for cell in cells.cells)
    print(f"{output}: {count} cells were run, with what they show")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[-1])
