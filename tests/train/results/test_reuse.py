"""An evaluation is made once: which earlier one is of the very completions that another would find."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.policies import find_policy
from learnable.data.records import Sampling
from learnable.train.results.evaluation import (
    Evaluation,
    EvaluationSettings,
    PromptResult,
    find_versions,
    read_held_out,
)
from learnable.train.results.reuse import evaluation_file, find_evaluation, settings_file


@pytest.fixture
def wanted(make_curated: Any, tiny_policy: Path, tmp_path: Path) -> EvaluationSettings:
    """What a run in `runs/new` asks for."""
    curated = str(make_curated(tiny_policy))
    sampling = Sampling(temperature=1.0, max_tokens=3)
    return EvaluationSettings(curated, str(tiny_policy), sampling, 4, 0, None, str(tmp_path / "runs/new/before.json"))


def leave(wanted: EvaluationSettings, run: str, moment: str = "before", **changes: Any) -> Path:
    """Leave what a run beside that one measured, with the same settings."""
    folder = Path(wanted.output).parents[1] / run
    folder.mkdir(parents=True, exist_ok=True)
    output = evaluation_file(folder, moment)
    replace(wanted, output=str(output)).write(settings_file(folder, moment))
    prompts = read_held_out(open_curated(wanted.curated)).prompts
    results = tuple(PromptResult(p.prompt_id, p.family, p.form, 4, 2, 0.5, 0, 0.0, False) for p in prompts)
    policy_id = find_policy(wanted.policy).policy_id
    whole = Evaluation(policy_id, results, tokens=9, seconds=1.0, verifiers=find_versions(prompts))
    output.write_text(json.dumps(asdict(replace(whole, **changes))))
    return output


def find(wanted: EvaluationSettings) -> Path | None:
    return find_evaluation(wanted, Path(wanted.output).parent)


def test_a_run_beside_it_has_measured_the_same(wanted: EvaluationSettings) -> None:
    assert find(wanted) is None
    found = leave(wanted, "old")
    leave(wanted, "unread").write_text("{")
    assert find(wanted) == found
    own = leave(wanted, "new")
    assert find(wanted) == own


def test_what_is_after_one_run_is_before_the_next(wanted: EvaluationSettings, tmp_path: Path) -> None:
    trained = shutil.copytree(wanted.policy, tmp_path / "runs" / "old" / "policy")
    found = leave(wanted, "old", "after", policy_id=find_policy(str(trained)).policy_id)
    assert find(replace(wanted, policy=str(trained))) == found


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"group_size": 5},
        {"limit": 3},
        {"held_out": "pool"},
        {"families": ("arithmetic",)},
        {"sampling": Sampling(temperature=0.7, max_tokens=3)},
        {"engine_options": {"dtype": "float16"}},
    ],
    ids=str,
)
def test_other_settings_are_measured(wanted: EvaluationSettings, changes: dict[str, Any]) -> None:
    leave(wanted, "old")
    assert find(replace(wanted, **changes)) is None


@pytest.mark.parametrize("changes", [{"policy_id": "another@1"}, {"verifiers": {}}, {"verifiers": {"arithmetic": "0"}}])
def test_another_policy_or_judge_is_measured(wanted: EvaluationSettings, changes: dict[str, Any]) -> None:
    leave(wanted, "old", **changes)
    assert find(wanted) is None


def test_a_set_with_other_prompts_at_the_same_place_is_measured(
    wanted: EvaluationSettings, make_curated: Any, prompts_of_ones: Any, tiny_policy: Path
) -> None:
    leave(wanted, "old")
    shutil.rmtree(wanted.curated)
    make_curated(tiny_policy, test=prompts_of_ones(12, length=6))
    assert find(wanted) is None
