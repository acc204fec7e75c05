from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Iterator
from statistics import fmean, pstdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import Prompt, Rollout, Sampling
from learnable.data.sources.simulated import NOTICE
from learnable.rollouts.protocol import EngineError, GroupRequest
from learnable.rollouts.simulated import SimulatedEngine, draw_uniform

SAMPLING = Sampling()


def prompt(rate: float, number: int = 0, **spec: float) -> Prompt:
    return Prompt(f"simulated prompt {number}", "simulated", {"rate": rate, **spec}, "simulated", "Simulated")


def draw(*requests: GroupRequest, sampling: Sampling = SAMPLING, **options: Any) -> list[list[Rollout]]:
    answers = SimulatedEngine(**options).generate(requests, sampling)
    return [answer for answer in answers if isinstance(answer, list)]


def pass_rate(rollouts: list[Rollout]) -> float:
    return fmean(rollout.completion == "pass" for rollout in rollouts)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.2, 0.5, 0.8, 0.999, 1.0])
def test_a_prompt_passes_at_its_rate(rate: float) -> None:
    [group] = draw(GroupRequest(prompt(rate), 20_000))
    assert {rollout.completion for rollout in group} <= {"pass", "fail"}
    assert pass_rate(group) == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / 20_000))


def test_cases_pass_independently_at_the_rate() -> None:
    [group] = draw(GroupRequest(prompt(0.7, cases=4, partial_credit=0.5), 20_000))
    counts = Counter(rollout.completion for rollout in group)
    expected = [20_000 * math.comb(4, k) * 0.7**k * 0.3 ** (4 - k) for k in range(5)]
    assert chisquare([counts.pop(f"{k}/4") for k in range(5)], expected).pvalue > 0.001
    assert not counts


def test_cases_that_cannot_be_drawn_name_the_row() -> None:
    with pytest.raises(LearnableError, match="spec key 'partial_credit' is None: give what the share"):
        draw(GroupRequest(prompt(0.7, cases=4), 2))


def test_groups_vary_as_bernoulli_rewards_do() -> None:
    groups = draw(*(GroupRequest(prompt(0.3, number), 8) for number in range(4000)))
    counts = [sum(rollout.completion == "pass" for rollout in group) for group in groups]
    expected = [4000 * math.comb(8, k) * 0.3**k * 0.7 ** (8 - k) for k in range(9)]
    observed = [counts.count(k) for k in range(9)]
    merged = [[*values[:6], sum(values[6:])] for values in (observed, expected)]
    assert chisquare(*merged).pvalue > 0.001


def test_consecutive_seeds_give_independent_uniforms() -> None:
    values = [draw_uniform(7, seed) for seed in range(50_000)]
    assert kstest(values, "uniform").pvalue > 0.001
    cells = [0] * 100
    for first, second in zip(values[::2], values[1::2], strict=True):
        cells[int(10 * first) + 10 * int(10 * second)] += 1
    assert chisquare(cells).pvalue > 0.001
    assert kstest([draw_uniform(key, 0) for key in range(0, 10**9, 20_011)], "uniform").pvalue > 0.001


@given(st.randoms(use_true_random=False))
def test_order_and_batching_change_nothing(rng: random.Random) -> None:
    requests = [GroupRequest(prompt(0.5, number), 4, first, seed=3) for number in range(6) for first in (0, 4)]
    requested = list(requests)
    rng.shuffle(requested)
    together = {rollout.rollout_id: rollout for group in draw(*requested) for rollout in group}
    alone = {rollout.rollout_id: rollout for request in requests for rollout in draw(request)[0]}
    assert together == alone


def test_a_group_that_grows_is_drawn_anew_and_the_same_each_time() -> None:
    first, grown = draw(GroupRequest(prompt(0.5), 64), GroupRequest(prompt(0.5), 64, first_index=64))
    assert [rollout.rollout_index for rollout in grown] == list(range(64, 128))
    assert [r.completion for r in grown] != [r.completion for r in first]
    assert [grown] == draw(GroupRequest(prompt(0.5), 64, first_index=64))
    assert [first] != draw(GroupRequest(prompt(0.5), 64, seed=1))


def test_prompts_that_share_a_seed_share_no_outcomes() -> None:
    first, second = draw(*(GroupRequest(prompt(0.5, number), 1000, redraw_seed=5) for number in range(2)))
    alike = fmean(a.completion == b.completion for a, b in zip(first, second, strict=True))
    assert alike == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / 1000))


def test_a_rollout_drawn_again_by_its_seed_has_the_same_outcome() -> None:
    [cut] = draw(GroupRequest(prompt(0.5), 32), sampling=Sampling(max_tokens=50))
    [again] = draw(GroupRequest(prompt(0.5), 32, redraw_seed=cut[0].seed), sampling=Sampling(max_tokens=500))
    assert [r.completion for r in again] == [r.completion for r in cut]
    assert {(r.finish_reason, r.num_tokens) for r in cut} == {("length", 50)}
    assert {(r.finish_reason, r.num_tokens) for r in again} == {("stop", 100)}


@pytest.mark.parametrize(("rate", "std"), [(0.5, 0.1), (0.3, 0.2), (0.9, 0.25), (0.5, 0.499), (0.02, 0.01)])
def test_graded_rewards_have_the_mean_and_std_of_the_spec(rate: float, std: float) -> None:
    [group] = draw(GroupRequest(prompt(rate, spread=std), 20_000))
    rewards = [float(rollout.completion) for rollout in group]
    assert all(0 <= reward <= 1 for reward in rewards)
    assert fmean(rewards) == pytest.approx(rate, abs=4 * std / math.sqrt(20_000))
    assert pstdev(rewards) == pytest.approx(std, rel=0.03)


def test_a_share_runs_out_of_tokens_whatever_the_outcome() -> None:
    [plain] = draw(GroupRequest(prompt(0.5), 20_000))
    [group] = draw(GroupRequest(prompt(0.5), 20_000), truncated_share=0.25)
    cut = [rollout for rollout in group if rollout.finish_reason == "length"]
    assert len(cut) / 20_000 == pytest.approx(0.25, abs=0.0123)  # 4 standard errors
    assert {rollout.num_tokens for rollout in cut} == {SAMPLING.max_tokens}
    assert pass_rate(cut) == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(len(cut)))
    assert [r.completion for r in group] == [r.completion for r in plain]


def test_a_group_takes_its_seconds_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    answers = SimulatedEngine(group_seconds=0.5).generate([GroupRequest(prompt(0.5), 2)] * 3, SAMPLING)
    next(answers)
    assert slept == [0.5]
    draw(GroupRequest(prompt(0.5), 2))
    assert slept == [0.5]


def test_requests_are_drawn_from_lazily() -> None:
    def endless() -> Iterator[GroupRequest]:
        while True:
            yield GroupRequest(prompt(0.5), 1)

    assert next(SimulatedEngine().generate(endless(), SAMPLING))


def collect(requests: list[GroupRequest], **options: Any) -> tuple[dict[str, Rollout], int]:
    """Send what is missing to a new engine after each failure; return the rollouts and the number of failures."""
    kept: dict[str, Rollout] = {}
    failures = 0
    for _ in range(10 * len(requests)):
        missing = iter(requests[len(kept) :])
        try:
            for answer in SimulatedEngine(**options).generate(missing, SAMPLING):
                assert isinstance(answer, list)
                kept |= {rollout.rollout_id: rollout for rollout in answer}
            break
        except EngineError:
            failures += 1
    return kept, failures


def test_failures_pass_when_sent_again_and_lose_nothing() -> None:
    requests = [GroupRequest(prompt(0.5, number), 1, seed=77) for number in range(400)]
    kept, failures = collect(requests, failures=0.3)
    calm, none = collect(requests)
    assert kept == calm
    assert none == 0
    assert failures == pytest.approx(400 * 0.3 / 0.7, abs=4 * math.sqrt(400 * 0.3) / 0.7)  # geometric, a group


def test_a_share_of_one_always_fails() -> None:
    engine = SimulatedEngine(failures=1.0)
    for attempt in (1, 2, 3):
        with pytest.raises(EngineError, match=f"simulated failure at 'simulated prompt 0', attempt {attempt}"):
            next(engine.generate([GroupRequest(prompt(0.5), 1, seed=78)], SAMPLING))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"answer": 4}, "q.jsonl, line 3: .*no pass rate for '2 [+] 2 = ': use `families` simulated, or give each row"),
        ({"rate": 1.5}, "q.jsonl, line 3: spec key 'rate' is 1.5"),
        ({"rate": 0.5, "spread": 0.6}, "q.jsonl, line 3: spec key 'spread' is 0.6: give less than 0.5"),
    ],
)
def test_a_prompt_without_a_rate_is_named(spec: dict[str, float], message: str) -> None:
    bare = Prompt("2 + 2 = ", "arithmetic", spec, family="f", form="F", source="q.jsonl, line 3")
    with pytest.raises(LearnableError, match=message):
        draw(GroupRequest(bare, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": 0}, "option tokens=0: give a whole number from 1"),
        ({"tokens": 2.5}, "tokens=2.5: give a whole number"),
        ({"failures": 1.1}, "failures=1.1: give a number from 0 to 1"),
        ({"truncated_share": "half"}, "truncated_share='half'"),
        ({"group_seconds": True}, "group_seconds=True"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        SimulatedEngine(**options)


def test_an_unknown_option_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown option of the simulated engine 'toknes': .*'tokens'"):
        SimulatedEngine(toknes=3)


def test_the_engine_says_what_it_is() -> None:
    engine = SimulatedEngine()
    assert (engine.policy_id, engine.notice) == ("simulated", NOTICE)
    assert engine.count_tokens([prompt(0.5)]) == [3] < [engine.max_context]
    engine.close()
