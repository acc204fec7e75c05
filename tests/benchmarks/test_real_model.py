"""What `make real-model` does without a model, and whether its pools can be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.real_model import POOLS, list_keys, main, run, say_why


def test_without_a_model_it_says_what_to_bring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["real_model", "--model", str(tmp_path / "none")])
    main()
    said = capsys.readouterr().out
    assert said.startswith(f"skipped: {tmp_path / 'none'} holds no model")
    assert "make real-model REAL_MODEL=FOLDER" in said


@pytest.mark.slow
@pytest.mark.parametrize("name", POOLS)
def test_the_prompts_of_each_pool_are_read(name: str) -> None:
    pytest.importorskip("reasoning_gym")
    assert "prompt" in run("find", *POOLS[name], "--limit", 2, "--show", 1)


@pytest.mark.slow
def test_a_stage_that_refuses_says_why() -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        run("find", "--form", "hiaku", "--show", 1)
    assert say_why(refused.value).startswith("find: ")
    assert "did you mean" in say_why(refused.value)


def test_a_row_is_a_figure_that_some_pool_has() -> None:
    assert list_keys([{"kept": 3, "ended": "train: no"}, {"kept": 1, "after": 0.5}]) == ["kept", "after"]
