"""The documentation builds as a site without a warning, has every page, and asks nothing of other hosts."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mkdocs.exceptions import PluginError

from tests.project.documents_for_tests import list_documents
from tests.support.paths import ROOT

HOOKS = runpy.run_path(str(ROOT / ".ci" / "site_hooks.py"))


def test_the_site_has_every_page(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for page in list_documents():
        name = page.relative_to(ROOT).with_name("index.html" if page.stem == "README" else f"{page.stem}.html")
        heading = page.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ").split("`")[0]
        assert heading in (tmp_path / name).read_text(encoding="utf-8"), name
    assert (tmp_path / "search" / "search_index.json").exists()


PAGE: Any = SimpleNamespace(file=SimpleNamespace(src_uri="docs/how-to/train.md"), parent="How-to", meta={})


class Pages(dict[str, str]):
    get_file_from_path = dict.get


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[page](../tutorial.md#train)", "[page](../tutorial.md#train)"),
        ("[a `folder/`](../../filters)", "a `folder/`"),
        ("[a file](../../Makefile)", "a file"),
        ("[folder](../../data/policy)", "[folder](../../data/policy/README.md)"),
        ("[wrong](../../nowhere)", "[wrong](../../nowhere)"),  # which MkDocs refuses
        ("[elsewhere](https://example.org)", "[elsewhere](https://example.org)"),
        ("![picture](../lift.png)", "![picture](../lift.png)"),
    ],
)
def test_a_link_leads_to_a_page_or_is_words(written: str, shown: str) -> None:
    pages = Pages({"docs/tutorial.md": "a page", "data/policy/README.md": "a page"})
    assert HOOKS["on_page_markdown"](written, page=PAGE, config=None, files=pages) == shown


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="https://cdn.example/a.js">',
        '<link rel="stylesheet" href=//cdn.example/a.css>',
        "<img src='http://x/a.png'>",
    ],
)
def test_a_page_that_loads_from_another_host_is_refused(tag: str) -> None:
    with pytest.raises(PluginError, match=r"docs/how-to/train\.md loads something from another host"):
        HOOKS["on_post_page"](f"<p>{tag}</p>", page=PAGE, config=None)
    own = '<script src="../a.js"></script><a href="https://example.org">a link</a>'
    assert HOOKS["on_post_page"](own, page=PAGE, config=None) == own
