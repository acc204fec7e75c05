"""Write `docs/reference/settings.md`: every setting with its flag, its default, its values and what it is for.

    python .ci/settings_reference.py

All of it comes from the fields of the settings classes (`data/settings.py`). `tests/project/test_settings_reference.py`
compares the page with what this writes.
"""

from __future__ import annotations

from dataclasses import MISSING
from pathlib import Path
from typing import Any, get_args, get_origin

from learnable.data.records import Sampling
from learnable.data.settings import DeclaredSetting, list_settings
from learnable.filters.band import Band
from learnable.filters.decisions.presets import Preset
from learnable.filters.dial.aim import Aim
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.settings import (
    ChatSettings,
    CurateSettings,
    PromptSettings,
    RaySettings,
    RefreshSettings,
    ServerSettings,
)
from learnable.flows.settings.dial import DialSettings
from learnable.flows.settings.evaluation import EvalSettings
from learnable.flows.settings.loop import LoopSettings
from learnable.train.settings import TrainSettings

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
HEAD = """\
# Settings

Written by `python .ci/settings_reference.py` from the settings classes; do not edit it here. A setting without a flag
is set in a preset, in a file of settings or in Python. Where a command has another default, its `--help` says so.
"""
COLUMNS = "| setting | flag | default | values | what it is for |\n|---|---|---|---|---|\n"
SECTIONS: tuple[tuple[str, type[Any]], ...] = (
    ("Finding prompts: `CurateSettings`", CurateSettings),
    ("Which prompts: `PromptSettings`", PromptSettings),
    ("Chats: `ChatSettings`", ChatSettings),
    ("How completions are drawn: `Sampling`", Sampling),
    ("How many rollouts prompts get: `SamplingBudget`", SamplingBudget),
    ("What is kept, prompt by prompt: `Band`", Band),
    ("What is kept of all those: `Preset`", Preset),
    ("A server as the engine: `ServerSettings`", ServerSettings),
    ("Ray as the engine: `RaySettings`", RaySettings),
    ("Training: `TrainSettings`", TrainSettings),
    ("Refreshing: `RefreshSettings`", RefreshSettings),
    ("A loop of training and refreshing: `LoopSettings`", LoopSettings),
    ("Evaluating: `EvalSettings`", EvalSettings),
    ("The wanted pass rate of a dial: `Aim`", Aim),
    ("Dialling: `DialSettings`", DialSettings),
)


def write_page() -> str:
    """Return the page as text."""
    tables = ((title, list_settings(kind).values()) for title, kind in SECTIONS)
    return "\n".join([HEAD, *(f"## {title}\n\n{COLUMNS}{''.join(map(_row, rows))}" for title, rows in tables)])


def _row(declared: DeclaredSetting) -> str:
    flags = " ".join(f"`{flag}`" for flag in declared.flags)
    values = ", ".join(f"`{choice}`" for choice in declared.choices) or declared.setting.range or _name(declared.kind)
    cells = (f"`{declared.name}`", flags, _say_default(declared), values, declared.setting.help)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _say_default(declared: DeclaredSetting) -> str:
    if declared.default is MISSING:
        return "must be given"
    if declared.setting.usual or declared.default in (None, "", (), {}):
        return declared.setting.usual or "none"
    return {True: "yes", False: "no"}[declared.default] if declared.kind is bool else f"`{declared.default}`"


def _name(kind: Any) -> str:
    """Return the name of a type, as a user would say it."""
    names = {str: "text", int: "whole number", float: "number", bool: "yes or no"}
    inside = [one for one in get_args(kind) if one is not Ellipsis]
    if get_origin(kind) is tuple:
        return f"{len(inside)} numbers" if inside[1:] else f"{names[inside[0]]}s"
    return names.get(kind, "whole numbers" if int in inside else "names with values")


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(write_page(), encoding="utf-8")
