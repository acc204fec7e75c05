"""A curriculum during training: which stage a batch is drawn from, by step and by success."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from learnable.data.errors import LearnableError
from learnable.train.live.course import EARLIER, WINDOW, Course
from learnable.train.live.rates import Certificates, PassRates
from learnable.train.live.sampler import BatchLayout, LiveOrder, PromptPicker
from learnable.verifiers.families.curriculum import Curriculum, Stage

GROUP, EACH = 16, 40
STAGES = tuple(Stage(name, 10 * number) for number, name in enumerate(("ten", "hundred", "thousand")))
STAGE_OF = np.repeat([0, 1, 2, -1], EACH)


def make_picker(by: str = "step", *, is_even: bool = False, rates: float = 0.5) -> PromptPicker:
    count = len(STAGE_OF)
    known = Certificates(np.full(count, 20 * rates), np.full(count, 20 * (1 - rates)), np.zeros(count), np.zeros(count))
    course = Course(Curriculum("", STAGES), STAGE_OF, by)  # type: ignore[arg-type]
    return PromptPicker(PassRates.of(known), BatchLayout(8, GROUP, 1), 3, course=course, is_even=is_even)


def play(picker: PromptPicker, batches: int, rate_of: Callable[[int], float]) -> list[list[int]]:
    """Draw batches, and tell what completions of these rates earn; return each batch's stages."""
    rng, order, found = np.random.default_rng(1), LiveOrder(picker), []
    assert picker.course
    for _ in range(batches):
        batch = order._next_batch()
        groups = {index: int(rng.binomial(GROUP, rate_of(int(STAGE_OF[index])))) for index in batch}
        picker.observe({index: (passes, GROUP - passes) for index, passes in groups.items()})
        order.finish_batch()
        found.append([int(STAGE_OF[index]) for index in batch])
    return found


@pytest.mark.parametrize("is_even", [False, True])
def test_by_step_each_stage_begins_at_its_step(is_even: bool) -> None:
    drawn = play(make_picker(is_even=is_even), 40, lambda stage: 0.5)
    assert [max(batch) for batch in drawn] == [0] * 10 + [1] * 10 + [2] * 20
    late = Counter(stage for batch in drawn[20:] for stage in batch)
    assert 0 < late[0] + late[1] < 2 * EARLIER * 160  # some of the stages before come back
    assert late[-1] == 0


def test_a_batch_that_several_steps_share_counts_for_all_of_them() -> None:
    picker = make_picker()
    assert picker.course
    picker.course.steps_per_batch = 2.0
    assert [max(batch) for batch in play(picker, 12, lambda stage: 0.5)] == [0] * 5 + [1] * 5 + [2] * 2


@pytest.mark.parametrize("is_even", [False, True])
def test_what_is_mastered_leads_up_and_what_fails_leads_back(is_even: bool) -> None:
    picker = make_picker("success", is_even=is_even)
    drawn = play(picker, 40, lambda stage: (0.95, 0.9, 0.1)[stage])
    highest = [max(batch) for batch in drawn]
    assert highest[0] == 0
    assert {1, 2} <= set(highest)
    first = highest.index(2)
    assert 1 in highest[first:]  # a pass rate of .1 leads back
    assert first >= 2 * WINDOW // 8


def test_a_pass_rate_in_between_stays() -> None:
    assert {max(batch) for batch in play(make_picker("success"), 40, lambda stage: 0.5)} == {0}


def test_the_pass_rate_is_that_of_the_stage_and_not_of_what_is_drawn() -> None:
    # Half of the stage always pass and are seldom taken; the others pass half of the time and are drawn most.
    count = 400
    passing = np.arange(count) < count // 2
    known = Certificates(np.where(passing, 30.0, 10.0), np.where(passing, 2.0, 10.0), np.zeros(count), np.zeros(count))
    course = Course(Curriculum("", STAGES, up=1.0, down=0.0), np.zeros(count, np.int64), "success")
    picker = PromptPicker(PassRates.of(known), BatchLayout(8, GROUP, 1), 3, course=course)
    rng, order, seen, estimates = np.random.default_rng(1), LiveOrder(picker), [], []
    for _ in range(60):
        batch = order._next_batch()
        rates = [15 / 16 if passing[index] else 0.5 for index in batch]
        groups = {index: int(rng.binomial(GROUP, rate)) for index, rate in zip(batch, rates, strict=True)}
        picker.observe({index: (passes, GROUP - passes) for index, passes in groups.items()})
        order.finish_batch()
        seen += [passes / GROUP for passes in groups.values()]
        estimates.append(course.success)
    truth = (15 / 16 + 0.5) / 2
    assert np.mean(seen) < truth - 0.04
    assert np.mean(estimates[5:]) == pytest.approx(truth, abs=0.04)


def test_stage_and_shares_of_the_batch_in_training_are_logged() -> None:
    picker = make_picker()
    order = LiveOrder(picker)
    assert picker.course
    for number in range(11):
        order._next_batch()  # the loader reads one ahead
        if number:
            logged = dict(picker.course.list_metrics())
            assert logged["stage"] == 1.0
            order.finish_batch()
    logged = dict(picker.course.list_metrics())
    assert logged["stage"] == 2.0
    shares = [logged[f"stage_share/{name}"] for name in ("ten", "hundred", "thousand")]
    assert shares == pytest.approx([EARLIER, 1 - EARLIER, 0.0])


@pytest.mark.parametrize("by", ["step", "success"])
def test_a_state_goes_on_as_if_it_had_not_been_kept(by: str) -> None:
    whole = make_picker(by)
    rates: Callable[[int], float] = lambda stage: (0.9, 0.5, 0.5)[stage]  # noqa: E731
    play(whole, 9, rates)
    state = whole.get_state()
    numbers = json.loads(
        json.dumps({name: value for name, value in state.items() if not isinstance(value, np.ndarray)})
    )
    resumed = make_picker(by)
    resumed.set_state({**state, **numbers})
    assert play(whole, 20, rates) == play(resumed, 20, rates)
    assert whole.course
    assert resumed.course
    assert whole.course.get_state() == resumed.course.get_state()


def test_a_state_of_other_stages_is_refused() -> None:
    state = make_picker().get_state()
    other = make_picker()
    assert other.course
    other.course.curriculum = Curriculum("", (Stage("one", 0), Stage("two", 5)))
    with pytest.raises(LearnableError, match="had the stages ten, hundred, thousand, and the curriculum has one, two"):
        other.set_state(state)
