"""A set with a poem, a program, an answer and a hostile completion, its report, and the browser that opens it."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.flows.scripted_shell_for_tests import ScriptedShell
from tests.support.paths import ROOT

CHROMIUM = shutil.which("chromium")
AXE = ROOT / "build" / "page" / "node_modules" / "axe-core" / "axe.min.js"
needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="no axe-core: `make page` installs it")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path: apt-get install chromium")
HOSTILE = (
    '</script><script>document.title="owned"</script><img src=x onerror="document.title=1">'
    "\x1b[31mred\x1b[0m \u202eevil\u202c שלום " + "long" * 500_000
)
POEM = "I found a road beside the sea\nand walked it in the rain\nand no one walked along with me\nto see the sea again"
BROKEN = "I found a road\nand walked it in the rain\nand no one came\nto see the sea again"
RIGHT = "def increase(n):\n    return n + 9\n"
WRONG = "def increase(n):\n    return n + 8\n"
CASES = {"entry": "increase", "cases": [[[0], 9], [[1], 10]]}
QUATRAIN = {"form": "Quatrain", "schemes": ["abab"], "syllables": [8, 6, 8, 6], "topic": "road"}
SCRIPT = {
    "Write a quatrain about a road.": [POEM, BROKEN],
    "Write increase(n).": [RIGHT, WRONG],
    "Is this hostile?": ["yes", HOSTILE],
    **{f"Is {number} even?": ["yes", "no"] for number in range(0, 120, 2)},
    **{f"Is {number} odd?": ["yes"] for number in range(0, 40, 2)},
}
FIND = ("--store", "store", "--prompts", "questions.jsonl", "--group-size", "8", "--name", "set")


def write_set(shell: ScriptedShell) -> None:
    """Curate the set `store/curated/set` of what `SCRIPT` says."""
    rows: list[dict[str, Any]] = [
        {"prompt": text, "verifier": "choice", "spec": {"answer": "yes"}, "form": "Even" if "even" in text else "Odd"}
        for text in SCRIPT
    ]
    rows[0] |= {"verifier": "poetry", "spec": QUATRAIN, "form": "Quatrain"}
    rows[1] |= {"verifier": "programs", "spec": CASES, "form": "Increase"}
    rows[2] |= {"form": "Hostile"}
    shell.script = dict(SCRIPT)
    shell.write_rows(rows)
    found = shell.find(*FIND)
    assert found.status == 0, found.err


def read_parts(page: str) -> dict[str, Any]:
    """Return the data of a page by the names of their parts."""
    found = re.findall(r'<script type="text/plain" id="data-([\w-]+)">([^<]*)</script>', page)
    return {name: json.loads(gzip.decompress(base64.b64decode(text))) for name, text in found}


def read_column(parts: dict[str, Any], name: str) -> list[Any]:
    """Return a column of the table of prompts as values, wherever the page has it."""
    tables = [parts["prompts"]] if name in parts["prompts"]["columns"] else []
    tables = tables or [part for number, part in parts.items() if number.startswith("heads-")]
    return [value for table in tables for value in _decode(table["columns"][name], table["rows"])]


def _decode(column: Any, rows: int) -> list[Any]:
    if isinstance(column, list):
        return column
    if "all" in column:
        return [column["all"]] * rows
    return [None if code < 0 else column["levels"][code] for code in column["codes"]]


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start Chromium without a window."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def write_run(folder: Path) -> Path:
    """Write the metrics of a training run whose entropy collapses, which raises an alarm; return its folder."""
    folder.mkdir(parents=True)
    lines = [{"step": step, "reward": 0.5 + step / 100, "entropy": 0.0 if step > 5 else 2.0} for step in range(30)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def find_serious(page: Page) -> list[Any]:
    """Return what axe-core says of a page and calls serious or worse."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    told = [(one["id"], one["impact"], [node["html"] for node in one["nodes"]]) for one in found]
    return [one for one in told if one[1] in ("serious", "critical")]


def make_report(folder: Path, capture: pytest.CaptureFixture[str], template: Path) -> Path:
    """Curate the set in a folder, which is the working directory; return the report of its version.

    The store is kept in `template`: only the first test that needs it curates.
    """
    shell = ScriptedShell(folder, capture)
    if (template / "store").exists():
        shutil.copytree(template / "store", folder / "store")
    else:
        write_set(shell)
        shutil.copytree(folder / "store", template / "store")
    return folder / "store/curated/set/v0001/report.html"
