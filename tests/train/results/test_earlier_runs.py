"""Two runs on parts of one set: which are compared, and what is said of them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from learnable.train.results.earlier_runs import compare_parts, find_earlier_runs
from learnable.train.results.evaluation import Evaluation, PromptResult
from learnable.train.settings import TrainSettings

COMPLETIONS = 10


def evaluation(passes: list[int]) -> Evaluation:
    results = [
        PromptResult(f"p{index}", "ones", "Ones", COMPLETIONS, count, count / COMPLETIONS, 0, 0.0, False)
        for index, count in enumerate(passes)
    ]
    return Evaluation("tiny@1", tuple(results), tokens=0, seconds=1.0)


@pytest.fixture
def settings(tmp_path: Path) -> TrainSettings:
    return TrainSettings(curated="c", output=str(tmp_path / "runs" / "ones-control-1"), part="control", batch_size=32)


def finish(settings: TrainSettings, name: str, after: list[int], *, age: int = 0, **report: Any) -> Path:
    """Leave what a finished run leaves in a folder beside the one of `settings`."""
    folder = settings.folder.parent / name
    folder.mkdir(parents=True)
    for when, passes in (("before", [3] * len(after)), ("after", after)):
        (folder / f"{when}.json").write_text(json.dumps(asdict(evaluation(passes))))
    usual = {"curated": "set/v0001", "policy_id": "tiny@1", "held_out": {}, "settings": settings.as_json()}
    (folder / "report.json").write_text(json.dumps({**usual, "held_out": {"prompts": len(after)}, **report}))
    os.utime(folder / "report.json", (1_000_000 - age, 1_000_000 - age))
    return folder


def find(settings: TrainSettings) -> list[Any]:
    return find_earlier_runs(settings, "set/v0001", "tiny@1")


def test_runs_on_other_parts_are_found_and_those_on_this_one_are_not(settings: TrainSettings) -> None:
    on_train = replace(settings, part="train", output="elsewhere", resume=True, save_steps=7)
    train = finish(on_train := replace(on_train, output=settings.output), "ones-1", [5] * 10)
    finish(settings, "ones-control-0", [5] * 10)
    finish(on_train, "others-1", [5] * 10, curated="other/v0001")
    finish(on_train, "unmeasured-1", [5] * 10, held_out=None)
    (settings.folder.parent / "broken").mkdir()
    (settings.folder.parent / "broken" / "report.json").write_text("[]")

    [run] = find(settings)

    assert (run.folder, run.part, run.differs) == (train, "train", ())


def test_the_same_part_under_the_other_sampler_is_compared_too(settings: TrainSettings) -> None:
    live = replace(settings, part="pool", sampler="live")
    finish(live, "ones-0", [9] * 10)
    plain = finish(replace(live, sampler="static"), "ones-1", [5] * 10)
    [run] = find(live)
    assert (run.folder, run.part, run.differs) == (plain, "pool", ())
    found = compare_parts(live, evaluation([3] * 10), evaluation([9] * 10), run)
    assert (found.first.part, found.second.part) == ("pool (live)", "pool")
    assert found.verdict.startswith("training on pool (live) ended higher than training on pool:")


def test_the_newest_run_that_can_be_compared_is_taken(settings: TrainSettings) -> None:
    train = replace(settings, part="train")
    finish(train, "ones-1", [5] * 10, age=30)
    good = finish(train, "ones-2", [5] * 10, age=20)
    finish(replace(train, steps=7), "ones-3", [5] * 10, age=10)

    [run] = find(settings)

    assert run.folder == good


@pytest.mark.parametrize(
    ("change", "report", "words"),
    [
        ({"steps": 7}, {}, "steps 7 there, 60 here"),
        ({"seed": 3}, {}, "seed 3 there, 0 here"),
        ({"families": ("a",)}, {}, "families ['a'] there, [] here"),
        ({}, {"policy_id": "tiny@2"}, "policy tiny@2 there, tiny@1 here"),
    ],
)
def test_what_cannot_be_compared_is_said(
    settings: TrainSettings, change: dict[str, Any], report: dict[str, Any], words: str
) -> None:
    folder = finish(replace(settings, part="train", **change), "ones-1", [5] * 10, **report)

    [run] = find(settings)

    assert f"{folder} trained on train too, but cannot be compared: {words}" in run.objection


@pytest.mark.parametrize(
    ("train", "control", "words"),
    [
        ([7, 6] * 8, [4, 5] * 8, "training on train ended higher than training on control: held-out reward +0.200"),
        ([4, 5] * 8, [7, 6] * 8, "training on train ended lower than training on control: held-out reward -0.200"),
        ([4, 6] * 8, [6, 4] * 8, "no clear difference between training on train and on control"),
        ([9] * 7, [1] * 7, "too few prompts to tell training on train from training on control"),
    ],
)
def test_the_verdict_claims_no_more_than_the_interval(
    settings: TrainSettings, train: list[int], control: list[int], words: str
) -> None:
    finish(replace(settings, part="train"), "ones-1", train)
    [run] = find(settings)

    found = compare_parts(settings, evaluation([3] * len(control)), evaluation(control), run)

    assert found.verdict.startswith(words)
    assert (found.first.part, found.second.part, found.prompts) == ("train", "control", len(train))
    assert found.difference.value == pytest.approx((sum(train) - sum(control)) / COMPLETIONS / len(train))
