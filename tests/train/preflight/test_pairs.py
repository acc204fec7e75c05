"""What a run on pairs is asked before it starts, and which pairs it takes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.train.preflight.checks import prepare_run
from learnable.train.preflight.pairs import read_pairs
from learnable.train.settings import TrainSettings


@pytest.fixture
def settings(
    make_curated: Callable[..., Path], prompts_of_ones: Callable[..., Any], tiny_policy: Path, tmp_path: Path
) -> TrainSettings:
    """A run on six pairs, whose rewards are 1, .2 (as floats have it) or .1 apart."""
    curated = make_curated(tiny_policy, others={"preferences": prompts_of_ones(6)})
    return TrainSettings(curated=str(curated), output=str(tmp_path / "run"), method="dpo", steps=4)


@pytest.mark.parametrize(("margin", "pairs"), [(None, 4), (0.0, 6), (0.2, 4), (0.21, 2), (1.0, 2)])
def test_pairs_are_taken_that_are_far_enough_apart(settings: TrainSettings, margin: float | None, pairs: int) -> None:
    run = prepare_run(replace(settings, dpo_margin=margin))
    assert read_pairs(run.curated, run.settings).num_rows == run.settings.batch_size == pairs
    assert run.settings.beta == 0.1
    shown = 0.2 if margin is None else margin
    assert run.notes == (
        f"`batch_size` {pairs}, not the usual 64: {pairs} of the set's {pairs} preferences a step",
        f"`dpo_margin` {shown:g}: rewards are so far apart in {pairs} of the set's 6 pairs",
    )


def test_pairs_are_those_of_the_families(settings: TrainSettings) -> None:
    curated = open_curated(settings.curated)
    assert read_pairs(curated, replace(settings, families=("arithmetic",))).num_rows == 4
    assert read_pairs(curated, replace(settings, families=("sums",))).num_rows == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_generations": 8}, "`num_generations` has no use under `method` dpo, which trains on stored"),
        ({"no_kl": True}, "`no_kl` has no use"),
        ({"loss_type": "dapo"}, "`loss_type` has no use"),
        ({"signal": "pass"}, "`signal` has no use"),
        ({"reward_range": (-1.0, 1.0)}, "`reward_range` has no use"),
        ({"scale_rewards": "none"}, "`scale_rewards` has no use"),
        ({"use_vllm": True}, "`use_vllm` has no use"),
        ({"eval_steps": 5}, "`eval_steps` has no use"),
        ({"sampler": "live"}, "`sampler` live chooses among groups, and `method` dpo has none"),
        ({"part": "pool"}, "trains on the preferences of train, and pool has none"),
        ({"beta": 0.0}, "`beta` 0 leaves DPO nothing to learn"),
        ({"dpo_margin": 1.5}, "`dpo_margin` 1.5 is not between 0 and 1"),
        ({"dpo_margin": -0.5}, "`dpo_margin` -0.5 is not between 0 and 1"),
        ({"method": "grpo", "dpo_margin": 0.5}, "`dpo_margin` 0.5 has no use under `method` grpo"),
        ({"batch_size": 6}, "takes 6 prompts a step, but .* has 4 to train on"),
    ],
)
def test_what_cannot_work_is_refused(settings: TrainSettings, change: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        prepare_run(replace(settings, **change))


def test_a_set_without_pairs_is_refused(make_curated: Callable[..., Path], tiny_policy: Path, tmp_path: Path) -> None:
    curated = make_curated(tiny_policy, others={"preferences": []})
    with pytest.raises(LearnableError, match="has no pair of completions whose rewards are `dpo_margin` apart: give a"):
        prepare_run(TrainSettings(curated=str(curated), output=str(tmp_path / "run"), method="dpo"))


def test_texts_that_pass_the_context_are_refused_unless_they_are_cut(
    make_curated: Callable[..., Path], prompts_of_ones: Callable[..., Any], tiny_policy: Path, tmp_path: Path
) -> None:
    """Prompts of 6 tokens and an answer of 2, where there is room for 7."""
    policy = tmp_path / "short"
    shutil.copytree(tiny_policy, policy)
    config = json.loads((policy / "config.json").read_text())
    (policy / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 7}))
    pairs = prompts_of_ones(6)
    curated = make_curated(policy, test=prompts_of_ones(16, length=4), others={"preferences": pairs})
    settings = TrainSettings(
        curated=str(curated), output=str(tmp_path / "run"), method="dpo", max_completion_length=1, steps=4
    )
    with pytest.raises(LearnableError, match=r"the longest pair of .* has 8 tokens .* `trl` max_length=7"):
        prepare_run(settings)
    cut = prepare_run(replace(settings, trl={"max_length": 7}))
    assert cut.memory is not None
    assert cut.memory.activations > 0
