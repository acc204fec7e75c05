"""`docs/reference/settings.md` says of every setting what its field declares, and every settings class is there."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

from learnable.rollouts.registry import list_engines
from tests.support.paths import ROOT


def load_writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("settings_reference", ROOT / ".ci" / "settings_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_settings_say() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    assert page == load_writer().write_page(), "run make docs"


def test_every_class_with_settings_is_on_the_page() -> None:
    sources = [file for room in ("data", "filters", "flows", "train") for file in (ROOT / room).rglob("*.py")]
    classes = {kind.__name__ for kind in list_engines().values()}
    for source in sources:
        for body in re.split(r"^(?=class )", source.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            if re.search(r"^    \w+: Annotated\[[^=]*?\bSetting\(", body, flags=re.MULTILINE):
                classes.add(re.findall(r"\w+", body)[1])
    listed = {kind.__name__ for _, kind in load_writer().SECTIONS}
    assert classes - {"MeasuringSettings"} == listed  # nobody sets those: an evaluation makes them
