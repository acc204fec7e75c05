from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnable.data.errors import LearnableError
from learnable.train.live.rates import Certificates, PassRates
from learnable.train.live.sampler import PLACES_A_REVIEW, BatchLayout, LiveOrder, PromptPicker

GROUP = 16


def make_picker(truth: np.ndarray, prompts: int, seed: int = 0, told: int = 16) -> PromptPicker:
    """Return a picker over prompts of these rates, of each of which `told` completions are known.

    The prior has a third of the prompts at either end, and the others anywhere between.
    """
    passes = np.round(truth * told)
    by_chance = 1 / (told + 1)  # that a rate between the ends shows none, or all
    zero, one = ((passes == end) / (1 + by_chance) for end in (0, told))
    found = Certificates(1 + passes, 1 + told - passes, zero, one)
    return PromptPicker(PassRates.of(found), BatchLayout(prompts, GROUP, 1), seed)


def play(picker: PromptPicker, truth: np.ndarray, batches: int, seed: int = 1) -> list[list[int]]:
    """Draw batches and tell what completions of these rates would earn."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(batches):
        batch = picker.draw()
        groups = {index: int(rng.binomial(GROUP, truth[index])) for index in batch}
        picker.observe({index: (passes, GROUP - passes) for index, passes in groups.items()})
        found.append(batch)
    return found


def share_of_zero_std(batches: list[list[int]], truth: np.ndarray) -> float:
    rates = truth[np.concatenate(batches)]
    return float(np.mean(rates**GROUP + (1 - rates) ** GROUP))


@given(st.integers(1, 40), st.integers(0, 5), st.integers(0, 1000))
@settings(max_examples=30)
def test_a_batch_has_different_prompts(prompts: int, more: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.beta(0.3, 0.3, prompts + more)
    for batch in play(make_picker(truth, prompts, seed), truth, 5):
        assert len(set(batch)) == len(batch) == prompts


def test_a_pool_that_is_mostly_dead_gives_live_groups() -> None:
    rng = np.random.default_rng(3)
    truth = np.where(rng.random(2000) < 0.7, rng.integers(0, 2, 2000), rng.uniform(0.2, 0.8, 2000))
    uniform = share_of_zero_std([list(range(2000))], truth)
    live = share_of_zero_std(play(make_picker(truth, 8), truth, 200), truth)
    assert uniform > 0.6
    assert live < 0.15


def test_prompts_in_the_middle_are_all_visited_and_about_as_often() -> None:
    rng = np.random.default_rng(4)
    truth = rng.uniform(0.25, 0.75, 64)
    counts = Counter(np.concatenate(play(make_picker(truth, 8), truth, 80)).tolist())
    assert len(counts) == 64
    assert max(counts.values()) - min(counts.values()) <= 8


def test_without_certificates_dead_prompts_are_soon_left_alone() -> None:
    rng = np.random.default_rng(5)
    truth = np.where(rng.random(400) < 0.7, rng.integers(0, 2, 400), rng.uniform(0.2, 0.8, 400))
    picker = PromptPicker(PassRates.of(Certificates.unknown(400)), BatchLayout(8, GROUP, 1), 0)
    batches = play(picker, truth, 250)
    assert share_of_zero_std(batches[:25], truth) > 0.5
    assert share_of_zero_std(batches[-100:], truth) < 0.3


def test_every_prompt_is_reviewed_in_the_end() -> None:
    truth = np.array([1.0] * 30 + [0.5] * 10)
    batches = play(make_picker(truth, 4, told=200), truth, 40 * PLACES_A_REVIEW // 4)
    assert set(np.concatenate(batches).tolist()) == set(range(40))


def test_prompts_that_the_policy_unlearns_come_back() -> None:
    truth = np.array([1.0] * 20 + [0.5] * 20)
    picker = make_picker(truth, 4, told=64)
    play(picker, truth, 50)
    later = np.array([0.5] * 20 + [1.0] * 20)
    batches = play(picker, later, 300)
    drawn = Counter(index < 20 for index in np.concatenate(batches[-50:]).tolist())
    assert drawn[True] > 4 * drawn[False]


def test_a_dry_pool_still_fills_its_batches_and_says_so() -> None:
    truth = np.array([0.0] * 40)
    picker = make_picker(truth, 8, told=400)
    [batch] = play(picker, truth, 1)
    assert len(set(batch)) == 8
    assert picker.is_starved(batch)
    assert not make_picker(np.full(40, 0.5), 8).is_starved(range(8))


def test_too_few_prompts_are_refused() -> None:
    with pytest.raises(LearnableError, match="takes 8 different prompts and there are 5"):
        make_picker(np.full(5, 0.5), 8)


@given(st.integers(0, 12), st.integers(0, 100))
@settings(max_examples=20)
def test_a_kept_state_goes_on_as_if_nothing_had_happened(before: int, seed: int) -> None:
    truth = np.random.default_rng(seed).beta(0.5, 0.5, 50)
    whole = make_picker(truth, 4, seed)
    play(whole, truth, before)
    state = whole.get_state()
    kept = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    numbers = json.loads(json.dumps({name: value for name, value in state.items() if name not in kept}))
    resumed = make_picker(np.full(50, 0.5), 4, seed=99)
    resumed.set_state({**numbers, **kept})
    assert play(resumed, truth, 10, seed=2) == play(whole, truth, 10, seed=2)


def test_a_state_of_other_prompts_is_refused() -> None:
    state = make_picker(np.full(9, 0.5), 4).get_state()
    with pytest.raises(LearnableError, match="state is of 9 prompts, and there are 10"):
        make_picker(np.full(10, 0.5), 4).set_state(state)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_indices_stand_as_in_the_sampler_that_is_replaced() -> None:
    from trl.trainer.utils import RepeatSampler

    layout = BatchLayout(prompts=3, group_size=2, repeats=4)
    picker = PromptPicker(PassRates.of(Certificates.unknown(7)), layout)
    order, replaced = LiveOrder(picker), RepeatSampler(range(7), 2, batch_size=3, repeat_count=4, seed=0)
    found, theirs = list(order), list(replaced)
    assert len(order) == len(found) == len(theirs) == len(replaced)

    def shape(indices: list[int]) -> list[int]:
        """Number each index by its first place in its batch."""
        size = 3 * 2 * 4
        batches = [indices[at : at + size] for at in range(0, len(indices), size)]
        return [list(dict.fromkeys(batch)).index(index) for batch in batches for index in batch]

    assert shape(found) == shape(theirs)


def test_batches_that_were_read_ahead_come_first_after_a_resume() -> None:
    picker = PromptPicker(PassRates.of(Certificates.unknown(20)), BatchLayout(4, 1, 1))
    order = LiveOrder(picker)
    reader = iter(order)
    read = [next(reader) for _ in range(12)]  # three batches, of which two are trained on
    order.finish_batch()
    order.finish_batch()
    state, pending = picker.get_state(), order.pending
    resumed = LiveOrder(PromptPicker(PassRates.of(Certificates.unknown(20)), BatchLayout(4, 1, 1), seed=5))
    resumed.picker.set_state(state)
    resumed.resume(pending)
    again = iter(resumed)
    assert [next(again) for _ in range(4)] == read[8:]
    assert [next(again) for _ in range(4)] == [next(reader) for _ in range(4)]
    assert len(resumed.pending) == 2
