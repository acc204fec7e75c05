from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.data.policies import find_policy
from learnable.data.records import Message, Prompt, Sampling
from learnable.train.results.evaluation import (
    Evaluation,
    EvaluationSettings,
    PromptResult,
    find_versions,
    is_measured,
    read_evaluation,
    read_evaluation_settings,
    read_held_out,
    settings_file,
)

Prompts = Callable[..., list[Prompt]]


def settings(**changes: Any) -> EvaluationSettings:
    usual: dict[str, Any] = {
        "curated": "c",
        "policy": "p",
        "sampling": Sampling(temperature=0.9, max_tokens=3),
        "group_size": 6,
        "seed": 4,
        "limit": None,
        "output": "o",
    }
    return EvaluationSettings(**{**usual, **changes})


def test_read_held_out_prompts_are_those_that_were_curated(make_curated, prompts_of_ones: Prompts) -> None:
    test = [*prompts_of_ones(4, chat=True)]
    folder = make_curated(test=test)

    found = read_held_out(open_curated(folder)).prompts

    assert {prompt.prompt_id for prompt in found} == {prompt.prompt_id for prompt in test}
    assert isinstance(found[0].prompt[0], Message)
    assert read_held_out(open_curated(folder), limit=2).prompts == found[:2]
    assert read_held_out(open_curated(folder), families=("poetry",)).prompts == []


def test_the_pool_s_held_out_prompts_are_kept_and_rejected_ones(make_curated, prompts_of_ones: Prompts) -> None:
    kept, others = prompts_of_ones(4), prompts_of_ones(6, length=6)
    rejects = [replace(prompt, split="test" if index < 3 else "train") for index, prompt in enumerate(others)]
    folder = make_curated(test=kept, others={"rejects": rejects}, columns={"decision": "too_hard"})

    found = read_held_out(open_curated(folder), "pool")

    parts = {prompt.prompt_id: found.find_part(prompt) for prompt in found.prompts}
    assert parts == {**{p.prompt_id: "kept" for p in kept}, **{p.prompt_id: "rejected" for p in rejects[:3]}}
    assert list(parts) == sorted(parts)
    assert {prompt.prompt_id for prompt in read_held_out(open_curated(folder)).prompts} == {p.prompt_id for p in kept}


def test_what_earlier_versions_wrote_is_read_again(tmp_path: Path) -> None:
    results = tuple(PromptResult(f"p{n}", "f", "f", 4, 2, 0.5, 0, 0.0, False, part="rejected") for n in range(2))
    found = Evaluation("p@0", results, tokens=9, seconds=1.0)
    (tmp_path / "new.json").write_text(json.dumps(asdict(found)))
    assert read_evaluation(tmp_path / "new.json") == found
    old = asdict(found)
    for prompt in old["prompts"]:
        del prompt["part"], prompt["difficulty"], prompt["problem_id"]
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert {result.part for result in read_evaluation(tmp_path / "old.json").prompts} == {"kept"}


def test_settings_of_an_earlier_version_are_those_of_today() -> None:
    assert not {"held_out", "engine_options", "store"} & settings().as_json().keys()
    given = settings(held_out="pool", engine_options={"max_model_len": 64}).as_json()
    assert (given["held_out"], given["engine_options"]) == ("pool", {"max_model_len": 64})


def test_an_evaluation_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(LearnableError, match="`resume`"):
        read_evaluation(tmp_path / "before.json")


def test_settings_are_plain_data(tmp_path: Path) -> None:
    given = settings(limit=5, families=("a",), held_out="pool", store="s")
    given.write(tmp_path / "s.json")

    assert json.loads((tmp_path / "s.json").read_text())["sampling"]["max_tokens"] == 3
    assert read_evaluation_settings(tmp_path / "s.json") == given
    with pytest.raises(LearnableError, match=r"o\.json' cannot be read"):
        read_evaluation_settings(tmp_path / "o.json")


@pytest.fixture
def wanted(make_curated: Any, tiny_policy: Path, tmp_path: Path) -> EvaluationSettings:
    """What a run asks for, and has."""
    sampling = Sampling(temperature=1.0, max_tokens=3)
    wanted = EvaluationSettings(
        str(make_curated(tiny_policy)), str(tiny_policy), sampling, 4, 0, None, str(tmp_path / "before.json")
    )
    leave(wanted)
    return wanted


def leave(wanted: EvaluationSettings, **changes: Any) -> None:
    wanted.write(settings_file(Path(wanted.output).parent, "before"))
    prompts = read_held_out(open_curated(wanted.curated)).prompts
    results = tuple(PromptResult(p.prompt_id, p.family, p.form, 4, 2, 0.5, 0, 0.0, False) for p in prompts)
    policy_id = find_policy(wanted.policy).policy_id
    whole = Evaluation(policy_id, results, tokens=9, seconds=1.0, verifiers=find_versions(prompts))
    Path(wanted.output).write_text(json.dumps(asdict(replace(whole, **changes))))


def has(wanted: EvaluationSettings) -> bool:
    return is_measured(wanted, settings_file(Path(wanted.output).parent, "before"))


def test_what_was_measured_is_there_wherever_its_policy_and_completions_lie(
    wanted: EvaluationSettings, tmp_path: Path
) -> None:
    assert has(wanted)
    moved = shutil.copytree(wanted.policy, tmp_path / Path(wanted.policy).name)
    assert has(replace(wanted, policy=str(moved), store=str(tmp_path)))


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
    assert not has(replace(wanted, **changes))


@pytest.mark.parametrize("changes", [{"policy_id": "another@1"}, {"verifiers": {}}, {"verifiers": {"arithmetic": "0"}}])
def test_another_policy_or_judge_is_measured(wanted: EvaluationSettings, changes: dict[str, Any]) -> None:
    leave(wanted, **changes)
    assert not has(wanted)


def test_a_set_with_other_prompts_at_the_same_place_is_measured(
    wanted: EvaluationSettings, make_curated: Any, prompts_of_ones: Any, tiny_policy: Path
) -> None:
    shutil.rmtree(wanted.curated)
    make_curated(tiny_policy, test=prompts_of_ones(12, length=6))
    assert not has(wanted)


def test_what_cannot_be_read_is_measured(wanted: EvaluationSettings) -> None:
    Path(wanted.output).write_text("{")
    assert not has(wanted)
