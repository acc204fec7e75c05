"""Rewards stay as they are: a family's values are fitted to those here, and found in those of the ledger."""

from __future__ import annotations

import polars as pl
import pytest

from learnable.data.band import Band
from learnable.data.records import Prompt, Rollout, Score
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.schedule import Schedule, hash_to_uniforms
from learnable.flows.sampling.reward_table import RewardTable
from learnable.flows.settings import CurateSettings

PROMPT = Prompt("Say yes.", "choice", {"answer": "yes"}, "own", "own")
REWARDS = [0.3, 1 / 3, 0.7, 1.0]


@pytest.fixture
def schedule() -> Schedule:
    return Schedule([PROMPT.family], hash_to_uniforms([PROMPT.prompt_id]), Band(0.2, 0.8), SamplingBudget())


def rollout(index: int) -> Rollout:
    return Rollout(PROMPT.question_id, "policy@1", "t1", 8, index, "yes", "stop", 1)


def test_scores_are_taken_to_the_last_digit(schedule: Schedule) -> None:
    table = RewardTable(schedule, [PROMPT], CurateSettings())
    answered = [(PROMPT, rollout(index)) for index in range(len(REWARDS))]
    table.take(answered, [Score(reward, passed=reward == 1) for reward in REWARDS])
    assert schedule.rewards[0, : len(REWARDS)].tolist() == REWARDS


def test_so_are_scores_of_the_ledger(schedule: Schedule) -> None:
    scored = pl.DataFrame({"reward": REWARDS}).with_row_index("rollout_index")
    scored = scored.with_columns(prompt_id=pl.lit(PROMPT.prompt_id), num_tokens=1, verdict=pl.lit("scored"))
    RewardTable(schedule, [PROMPT], CurateSettings()).take_frame(scored)
    assert schedule.rewards[0, : len(REWARDS)].tolist() == REWARDS
