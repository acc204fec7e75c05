"""The built page is that of its sources, and lets nothing but its own script run."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from learnable.viewing.packing import FIRST, LATER, NO_NETWORK, fill_page, read_page
from tests.support.paths import ROOT

SOURCES = ROOT / "viewing" / "page"
BUILT_OF = (".ts", ".css", ".html", ".mjs", ".json")
STALE = "viewing/page.html was built from other sources: run `make page`"


def hash_sources(folder: Path) -> str:
    """Return the SHA-256 of names and contents, as `viewing/page/build.mjs` takes it."""
    files = [file for file in folder.iterdir() if file.suffix in BUILT_OF] + list((folder / "source").iterdir())
    digest = hashlib.sha256()
    for name in sorted(file.relative_to(folder).as_posix() for file in files):
        digest.update(f"{name}\0".encode() + (folder / name).read_bytes() + b"\0")
    return digest.hexdigest()


def test_the_built_page_is_that_of_its_sources() -> None:
    found = re.search(r"sources ([0-9a-f]{64})", read_page())
    assert found is not None
    assert found[1] == hash_sources(SOURCES), STALE


def test_the_lock_names_no_registry() -> None:
    lock = (SOURCES / "package-lock.json").read_text()
    assert "integrity" in lock
    assert "http" not in lock.replace("https://opencollective", "").replace("https://github.com/sponsors", "")


def test_only_the_page_s_own_script_may_run_and_nothing_may_load() -> None:
    page = read_page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    script, style = (re.search(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL) for tag in ("script", "style"))
    assert script is not None
    assert style is not None
    for kind, text in (("script-src", script[1]), ("style-src", style[1])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'")
    assert NO_NETWORK in policy[1]
    assert "unsafe" not in policy[1]
    assert set(re.findall(r"https?://[^\"'` )]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "innerHTML" not in page


def test_what_the_script_needs_first_stands_before_it() -> None:
    page = "".join(fill_page({"summary": "abc"}, {"block-0": "def"}))
    assert page.count(FIRST) == page.count(LATER) == 1
    assert page.index('id="data-summary">abc<') < page.index("<script>") < page.index('id="data-block-0">def<')
