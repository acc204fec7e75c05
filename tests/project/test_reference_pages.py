"""The generated pages of `docs/reference` are what the code says."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from tests.support.domains import needs_poems
from tests.support.paths import ROOT

FOLDER = ROOT / "docs" / "reference"
TOO_LITTLE = {"keys": {"What every form has": {"title": "a title"}}, "special": {}}


def load_writer(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = load_writer("reference_pages").PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_says(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), "run make docs"


@needs_poems
def test_a_name_without_a_meaning_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = load_writer("reference_pages")
    monkeypatch.setattr(writer, "_read_meanings", lambda: TOO_LITTLE)
    with pytest.raises(ValueError, match=r"meanings\.toml: say what these mean, or take them out: .*aliases"):
        writer.write_poem_keys()


@needs_poems
def test_the_rules_of_poems_are_what_the_declarations_say() -> None:
    page = (FOLDER / "poem-rules.md").read_text(encoding="utf-8")
    assert page == load_writer("handbook_table").write_page(), "run make docs"


@needs_poems
def test_every_form_has_its_row() -> None:
    from learnable.verifiers.poetry.forms import poem_forms

    page = load_writer("handbook_table").write_page()
    assert not [name for name in poem_forms() if f"| {name} |" not in page]


@needs_poems
def test_the_page_tells_what_decides_from_what_earns_reward_only() -> None:
    page = load_writer("handbook_table").write_page()
    rows = {row.split("|")[1].strip(): row for row in page.splitlines() if row.startswith("| ")}
    _, _, decides, earns, *_ = rows["Pantoum"].split("|")
    assert "refrains (90%)" in decides
    assert "rhyme" in earns
    assert "rhyme" not in decides
