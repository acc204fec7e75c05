"""`import learnable`: what it offers, that this is what is documented, and that it loads nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from inspect import signature

import pytest

import learnable
from tests.support.paths import ROOT

HEAVY = "torch vllm trl transformers datasets prefect ray polars pyarrow matplotlib numpy scipy typer rich pydantic"
ROW = re.compile(r"^\| `(\w+)` \| \S.*\. \|$", re.MULTILINE)


def test_what_is_offered_is_what_is_documented() -> None:
    documented = ROW.findall((ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8"))
    assert sorted(documented) == sorted(learnable.__all__)
    assert len(documented) == len(set(documented))


@pytest.mark.parametrize("name", learnable.__all__)
def test_each_name_is_there_and_is_no_folder(name: str) -> None:
    assert getattr(learnable, name).__doc__
    assert name in dir(learnable)
    assert not (ROOT / name).exists()  # a folder of that name would take its place once it is imported


def test_settings_and_errors_are_the_ones_that_are_used() -> None:
    from learnable.data.errors import LearnableError
    from learnable.flows.launch import run_curation
    from learnable.flows.settings import CurateSettings

    assert (learnable.LearnableError, learnable.CurateSettings) == (LearnableError, CurateSettings)
    assert learnable.curate is run_curation


def test_a_name_that_there_is_not_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'curat'"):
        learnable.curat  # type: ignore[attr-defined]  # noqa: B018


def test_importing_loads_nothing() -> None:
    code = "import json, sys, learnable; print(json.dumps([name for name in sys.modules if 'learnable.' in name]))\n"
    code += f"print(json.dumps(sorted(set(sys.modules) & set({HEAVY.split()!r}))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[], []]


@pytest.mark.parametrize("function", [learnable.curate, learnable.finetune, learnable.refresh])
def test_runs_are_plain_unless_prefect_is_wanted(function: Callable[..., object]) -> None:
    assert signature(function).parameters["use_prefect"].default is False
