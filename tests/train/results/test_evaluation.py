from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.data.records import Message, Prompt, Sampling, Score
from learnable.rollouts.protocol import GroupRequest
from learnable.rollouts.scripted import ScriptedEngine
from learnable.train.results.evaluation import (
    SEED_OFFSET,
    EvaluationSettings,
    HeldOutPrompts,
    evaluate_policy,
    read_evaluation,
    read_held_out,
    summarise_prompt,
)
from learnable.verifiers.pool.scoring import ScoringPool

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


class RecordingEngine(ScriptedEngine):
    """Remembers the requests that it got."""

    requested: list[tuple[GroupRequest, Sampling]]

    def generate(self, requests, sampling):
        requests = list(requests)
        self.requested = [*getattr(self, "requested", []), *((request, sampling) for request in requests)]
        return super().generate(requests, sampling)


def test_every_prompt_gets_fresh_completions_and_a_greedy_one(prompts_of_ones: Prompts) -> None:
    prompts = prompts_of_ones(3)
    engine = RecordingEngine({prompt.text: ["1"] if index else ["2"] for index, prompt in enumerate(prompts)})
    events: list[Any] = []

    with ScoringPool(workers=0) as pool:
        found = evaluate_policy(engine, pool, HeldOutPrompts(prompts), settings(), events.append)

    assert [(result.n, result.passes, result.mean, result.greedy) for result in found.prompts] == [
        (6, 0, 0.0, 0.0),
        (6, 6, 1.0, 1.0),
        (6, 6, 1.0, 1.0),
    ]
    assert {(request.group_size, sampling.temperature) for request, sampling in engine.requested} == {
        (6, 0.9),
        (1, 0.0),
    }
    assert {request.seed for request, _ in engine.requested} == {4 + SEED_OFFSET}
    assert events[-1] == {"event": "rollouts", "done": 21, "total": 21, "tokens": 21}


def test_unscored_completions_are_counted_and_left_out(prompts_of_ones: Prompts) -> None:
    [prompt] = prompts_of_ones(1)
    scores = [Score(1.0, True), Score(0.0, False), Score.unscored("broken")]

    result = summarise_prompt(prompt, scores, Score.unscored("broken"))

    assert (result.n, result.passes, result.mean, result.unscored, result.greedy) == (2, 1, 0.5, 1, None)
    assert summarise_prompt(prompt, scores[2:], Score(1.0, True)).mean is None


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


def test_the_part_of_a_prompt_is_said_and_read_again(prompts_of_ones: Prompts, tmp_path: Path) -> None:
    prompts = prompts_of_ones(2)
    engine = RecordingEngine({prompt.text: ["1"] for prompt in prompts})
    with ScoringPool(workers=0) as pool:
        held_out = HeldOutPrompts(prompts, {prompts[1].prompt_id})
        found = evaluate_policy(engine, pool, held_out, settings(), lambda event: None)
    assert [result.part for result in found.prompts] == ["kept", "rejected"]

    (tmp_path / "new.json").write_text(json.dumps(asdict(found)))
    assert read_evaluation(tmp_path / "new.json") == found
    old = asdict(found)
    for prompt in old["prompts"]:
        del prompt["part"], prompt["difficulty"], prompt["problem_id"]
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert {result.part for result in read_evaluation(tmp_path / "old.json").prompts} == {"kept"}


def test_settings_of_an_earlier_version_are_those_of_today() -> None:
    assert not {"held_out", "engine_options"} & settings().as_json().keys()
    given = settings(held_out="pool", engine_options={"max_model_len": 64}).as_json()
    assert (given["held_out"], given["engine_options"]) == ("pool", {"max_model_len": 64})


def test_an_evaluation_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(LearnableError, match="--resume"):
        read_evaluation(tmp_path / "before.json")


def test_settings_are_plain_data(tmp_path: Path) -> None:
    settings(limit=5).write(tmp_path / "s.json")

    assert json.loads((tmp_path / "s.json").read_text())["sampling"]["max_tokens"] == 3
