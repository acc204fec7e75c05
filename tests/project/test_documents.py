"""README and docs hold as typed: every block runs, or says why it cannot."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.project.documents_for_tests import ROOT, SHOWN, Block, list_documents, read_blocks
from tests.support.homes import make_home
from tests.support.warm_starts import Starter

BLOCKS = [block for document in list_documents() for block in read_blocks(document)]
LINK = re.compile(r"\]\(([^)#\s:]*)(?:#([^)\s]+))?\)")
LINKING = sorted({*list_documents(), *ROOT.glob("*.md"), ROOT / "benchmarks" / "RESULTS.md"})
RUNNABLE = sorted({block.document for block in BLOCKS if not block.reason and block.language not in SHOWN})


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_block_is_run_or_says_why_not(block: Block) -> None:
    assert block.language in ("sh", "python", *SHOWN), f"{block.place}: no language that can be run"
    assert not block.reason or len(block.reason.split()) > 3, f"{block.place}: say in words why it is not run"


def find_anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", LINKING, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for place, anchor in LINK.findall(document.read_text(encoding="utf-8")):
        target = (document.parent / place).resolve() if place else document
        assert target.exists(), f"{document}: {place} is not there"
        assert not anchor or anchor in find_anchors(target), f"{document}: {place} has no heading {anchor}"


@pytest.mark.e2e
@pytest.mark.parametrize("document", RUNNABLE, ids=lambda path: path.stem)
def test_the_blocks_of_a_document_run_as_typed(document: Path, tmp_path: Path, starter: Starter) -> None:
    (tmp_path / "data").symlink_to(ROOT / "data")
    home = {"HOME": str(make_home(tmp_path)), "PREFECT_HOME": str(tmp_path / "prefect"), "TMPDIR": str(tmp_path)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **home, "PATH": path, "PYTHONPATH": str(ROOT), "DO_NOT_TRACK": "1", "COLUMNS": "80"}
    done = starter.run(
        [sys.executable, "-m", "tests.project.documents_for_tests", str(document)], cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
