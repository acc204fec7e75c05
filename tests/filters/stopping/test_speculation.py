"""What is made ahead: what is likely to be needed, by all that is there, and before the first fit nearly anything."""

from __future__ import annotations

import numpy as np
import pytest

from learnable.data.band import Band
from learnable.filters.stopping import schedule as module
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.schedule import SamplingRound, Schedule
from learnable.filters.stopping.speculation import MIN_CHANCE, MIN_CHANCE_AT_FIRST, Speculation

HARD, DOUBTFUL, MIXED = 0, 1, 2  # prompts
LONG = 100  # its first rollout is not there for long


@pytest.fixture
def schedule(monkeypatch: pytest.MonkeyPatch) -> Schedule:
    """A pool of 120 prompts that awaits its first blocks."""
    monkeypatch.setattr(module, "ROUND_ROLLOUTS", 400)
    return Schedule(["f"] * 120, np.linspace(0, 0.99, 120), Band(), SamplingBudget(pilot_prompts=8))


def answer(schedule: Schedule, speculation: Speculation, prompt: int, rewards: list[float], first: int = 0) -> None:
    """Let rewards of a prompt be there from a rollout on; they count as made ahead."""
    end = first + len(rewards)
    schedule.rewards[prompt, first:end] = np.array(rewards)
    speculation.ends[prompt] = max(int(speculation.ends[prompt]), end)
    speculation.see(np.full(len(rewards), prompt))


def pick_all(speculation: Speculation) -> dict[int, int]:
    """Make ahead all that is worth it; return the ends of the prompts."""
    while picked := speculation.pick(1000):
        speculation.ends[picked.prompts] = picked.end
    return dict(enumerate(speculation.ends.tolist()))


def test_before_the_first_fit_groups_are_made_as_far_as_they_may_come(schedule: Schedule) -> None:
    speculation = Speculation(schedule)
    join_pilot(schedule)
    answer(schedule, speculation, HARD, [0.0] * 12)
    answer(schedule, speculation, DOUBTFUL, [1.0, 0.0, 0.0, 0.0] * 3)
    answer(schedule, speculation, MIXED, [1.0] * 8, first=12)  # after all failures up to there, which stop it
    answer(schedule, speculation, MIXED, [0.0] * 12)
    ends = pick_all(speculation)
    assert ends[DOUBTFUL] == ends[50] == 48, "of one that is in doubt, and one of which nothing is known"
    assert ends[HARD] == 12
    assert ends[MIXED] == 20


def test_a_rollout_that_takes_long_hides_no_other(schedule: Schedule) -> None:
    join_pilot(schedule)
    by_likelihood: list[int] = []
    for passes in (0.0, 1.0):
        speculation = Speculation(schedule)
        answer(schedule, speculation, LONG, [0.0, passes, 0.0, passes, 0.0, 0.0, passes], first=1)
        speculation.ends[:] = 8
        order = speculation.pick(1000).prompts.tolist()
        by_likelihood.append(order.index(LONG))
    assert by_likelihood[0] == 119, "failures alone are there: the others are likelier to go on"
    assert by_likelihood[1] < 119


def test_after_the_first_fit_blocks_that_are_hardly_needed_are_not_made(schedule: Schedule) -> None:
    assert MIN_CHANCE_AT_FIRST < MIN_CHANCE
    speculation = Speculation(schedule)
    rewards = np.random.default_rng(1).random((120, 52)) < np.linspace(0, 1, 120)[:, None]
    round_ = join_pilot(schedule)
    for prompt, end in zip(round_.prompts, round_.end, strict=True):
        answer(schedule, speculation, int(prompt), rewards[prompt, :end].astype(float).tolist())
    at_first = pick_all(speculation)
    speculation.ends[:] = 0
    schedule.take(round_.prompts)
    assert schedule.cohorts.fits
    later = pick_all(speculation)
    assert sum(later.values()) < 0.7 * sum(at_first.values())


def join_pilot(schedule: Schedule) -> SamplingRound:
    """Request the pilot and all first blocks."""
    return SamplingRound.join([schedule.request_pilot(), schedule.open(1000)])
