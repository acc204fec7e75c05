"""`docs/handbook.md` says of every form what its declaration judges."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from learnable.verifiers.poetry.forms import poem_forms
from tests.support.paths import ROOT


def load_writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("handbook_table", ROOT / ".ci" / "handbook_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_declarations_say() -> None:
    page = (ROOT / "docs" / "handbook.md").read_text(encoding="utf-8")
    assert page == load_writer().write_page(), "run python .ci/handbook_table.py"


def test_every_form_has_its_row() -> None:
    page = load_writer().write_page()
    assert not [name for name in poem_forms() if f"| {name} |" not in page]


def test_the_page_tells_what_decides_from_what_earns_reward_only() -> None:
    rows = {row.split("|")[1].strip(): row for row in load_writer().write_page().splitlines() if row.startswith("| ")}
    _, _, decides, earns, *_ = rows["Pantoum"].split("|")
    assert "refrains (90%)" in decides
    assert "rhyme" in earns
    assert "rhyme" not in decides
