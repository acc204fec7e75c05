"""Planted failures raise the right alarm within ten steps of their onset, and healthy runs raise none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learnable.train.monitor.rules import read_rules
from learnable.train.monitor.watching import Alarm, find_alarms
from tests.train.monitor.simulated_runs import HELD_OUT, SimulatedRun, State

ONSET = 40
IN_TIME = 10
SEEDS = range(2)


def collapse(state: State, step: int) -> None:
    """No KL term and a high rate: within a few steps all prompts get the same text, mostly a wrong one."""
    if step >= ONSET:
        state.same_text = min(1.0, state.same_text + 0.25)
        state.entropy *= 0.5


def dissolve(state: State, step: int) -> None:
    """The other way to collapse: entropy rises to that of noise, and nothing is right any more."""
    if step >= ONSET:
        state.entropy = min(6.0, state.entropy + 1.0)
        state.pass_rates *= 0.5


def break_up(state: State, step: int) -> None:
    """The rate is so high that gradients explode and KL runs away, before rewards show it."""
    if step >= ONSET:
        state.gradient = min(1e6, state.gradient * 5)
        state.kl = min(1e3, state.kl * 8)


def wear_out(state: State, step: int) -> None:
    """The policy masters nine prompts in ten of its set."""
    if step == ONSET:
        state.pass_rates[: -HELD_OUT // 10 * 9] = 1.0


def give_up_format(state: State, step: int) -> None:
    """A component falls silent."""
    if step >= ONSET:
        state.parts["format"] = 0.0


def never_fire(state: State, step: int) -> None:
    """A component is silent from the start."""
    state.parts["rhyme"] = 0.0


def over_fit(state: State, step: int) -> None:
    """What is trained on rises, what is held out falls, by .04 a step."""
    if step > ONSET:
        state.pass_rates[:-HELD_OUT] = np.minimum(0.97, state.pass_rates[:-HELD_OUT] + 0.01)
        state.pass_rates[-HELD_OUT:] = np.maximum(0.05, state.pass_rates[-HELD_OUT:] - 0.04)


def forget(state: State, step: int) -> None:
    """Half of the held-out prompts are mastered early, and a third of those are forgotten within three steps."""
    mastered = state.pass_rates[-HELD_OUT : -HELD_OUT // 2]
    if step <= ONSET:
        mastered[:] = 1.0
    else:
        mastered[: mastered.size // 3] = max(0.1, 1 - 0.3 * (step - ONSET))


def loop(state: State, step: int) -> None:
    """Completions say one word again and again."""
    if step >= ONSET:
        state.loops = min(0.9, state.loops + 0.2)


def ramble(state: State, step: int) -> None:
    """Completions grow until they are cut short."""
    if step >= ONSET:
        state.length = min(40, state.length * 2)
        state.clipped = min(0.9, state.clipped + 0.3)


def hush(state: State, step: int) -> None:
    """Completions end at once."""
    if step >= ONSET:
        state.length = 2


PLANTED = {
    "collapse": (
        SimulatedRun(collapse),
        {"entropy", "collapse", "reward_drop", "below_baseline", "within_group_std", "distinct_ngrams"},
    ),
    "collapse of a long text": (SimulatedRun(collapse, length=30, entropy=3.3), {"entropy", "distinct_ngrams"}),
    "collapse, five prompts a step": (SimulatedRun(collapse, per_step=5), {"collapse", "below_baseline"}),
    "noise": (SimulatedRun(dissolve), {"entropy_rise", "reward_drop", "below_baseline"}),
    "explosion": (SimulatedRun(break_up), {"gradient", "kl"}),
    "worn out": (SimulatedRun(wear_out), {"zero_std"}),
    "component falls silent": (SimulatedRun(give_up_format), {"lost_component"}),
    "over-fit": (SimulatedRun(over_fit), {"over_fit"}),
    "forgetting": (SimulatedRun(forget), {"forgetting"}),
    "loops": (SimulatedRun(loop, length=16), {"repeated_ngrams"}),
    "longer": (SimulatedRun(ramble), {"longer", "clipped"}),
    "shorter": (SimulatedRun(hush), {"shorter"}),
}
FROM_THE_START = {
    "component silent": (SimulatedRun(never_fire), {"silent_component"}),
    "dead pool": (SimulatedRun(dead=0.85), {"zero_std"}),
}
# Rates and sets as real runs have them: few and many groups a step, short answers and texts, a control of which a third
# is dead, a set that is learned to a reward of about .9.
HEALTHY = {
    "usual": SimulatedRun(),
    "fast": SimulatedRun(learns=0.04),
    "slow": SimulatedRun(learns=0.0),
    "three prompts a step": SimulatedRun(per_step=3, steps=160, learns=0.01),
    "many prompts a step": SimulatedRun(per_step=16),
    "groups of eight": SimulatedRun(group_size=8, per_step=16),
    "texts": SimulatedRun(length=30, entropy=3.3),
    "one-word answers": SimulatedRun(length=3, entropy=0.4),
    "a third of the pool dead": SimulatedRun(dead=0.3),
    "nearly learned": SimulatedRun(learns=0.03, steps=90),
}


def run(course: SimulatedRun, seed: int, steps: int) -> list[Alarm]:
    return find_alarms(read_rules(), replace(course, seed=seed, steps=steps).list_records())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_failure_raises_its_alarm_in_time(name: str, seed: int) -> None:
    course, wanted = PLANTED[name]
    alarms = run(course, seed, ONSET + IN_TIME)
    assert [alarm.line for alarm in alarms if alarm.step < ONSET] == []
    assert {alarm.rule for alarm in alarms} >= wanted


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FROM_THE_START)
def test_a_failure_from_the_start_raises_its_alarm_in_time(name: str, seed: int) -> None:
    course, wanted = FROM_THE_START[name]
    assert {alarm.rule for alarm in run(course, seed, IN_TIME)} == wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_of_few_groups_a_step_in_a_dead_pool_only_what_is_so_is_said(seed: int) -> None:
    """Five empty logs in a row, and gradients ten times the median, are chance there and no reason to stop."""
    course = SimulatedRun(per_step=3, steps=320, dead=0.65, learns=0.0)
    assert {alarm.rule for alarm in run(course, seed, course.steps)} <= {
        "zero_std",
        "small_advantage",
        "within_group_std",
    }


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_raises_none(name: str) -> None:
    course = HEALTHY[name]
    assert [alarm.line for alarm in run(course, 0, course.steps)] == []
