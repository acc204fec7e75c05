"""Prompts without certificates: predicted from those that were asked, while the policy moves."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit

from learnable.data.errors import LearnableError
from learnable.train.live.described import describe_rows, list_prompts
from learnable.train.live.hooks import make_rates
from learnable.train.live.predicted import FEWEST, PredictedRates
from learnable.train.live.rates import DRIFT, Certificates, PassRates
from learnable.train.live.sampler import BatchLayout, PromptPicker

GROUP, COUNT = 16, 600


def make_odds(seed: int = 0, noise: float = 0.5) -> tuple[csr_matrix, np.ndarray]:
    """Return one feature of prompts, and log-odds that follow it; most prompts are dead."""
    rng = np.random.default_rng(seed)
    feature = rng.standard_normal(COUNT)
    return csr_matrix(feature[:, None]), 6 * feature + noise * rng.standard_normal(COUNT)


def predict_all(*ways: csr_matrix, drift: float = DRIFT, fits_drift: bool = True) -> PredictedRates:
    start = PassRates.of(Certificates.unknown(COUNT), drift)
    return PredictedRates(start, np.ones(COUNT, bool), ways, fits_drift=fits_drift)


def play(
    picker: PromptPicker, odds: np.ndarray, batches: int, rise: float = 0.0, walk: float = 0.0, seed: int = 1
) -> list[list[int]]:
    """Draw batches and tell their groups, while log-odds rise together and walk apart."""
    rng = np.random.default_rng(seed)
    odds, found = odds.copy(), []
    for _ in range(batches):
        batch = picker.draw()
        groups = {index: int(rng.binomial(GROUP, expit(odds[index]))) for index in batch}
        picker.observe({index: (passes, GROUP - passes) for index, passes in groups.items()})
        odds += rise + walk * rng.standard_normal(len(odds))
        found.append(batch)
    return found


def make_picker(rates: PassRates, seed: int = 0, prompts: int = 3) -> PromptPicker:
    return PromptPicker(rates, BatchLayout(prompts, GROUP, 1), seed)


def share_of_zero_std(batches: list[list[int]], odds: np.ndarray) -> float:
    rates = expit(odds)[np.concatenate(batches)]
    return float(np.mean(rates**GROUP + (1 - rates) ** GROUP))


def test_what_is_seen_of_a_few_prompts_finds_others_like_them() -> None:
    feature, odds = make_odds()
    cold = make_picker(PassRates.of(Certificates.unknown(COUNT)))
    blind = share_of_zero_std(play(cold, odds, 60)[20:], odds)
    rates = predict_all(feature)
    predicted = share_of_zero_std(play(make_picker(rates), odds, 60)[20:], odds)

    assert rates.shared.way > 0
    assert rates.shared.explained is not None
    assert rates.shared.explained > 0.5
    assert blind > 0.5
    assert predicted < 0.6 * blind


def test_until_there_are_groups_enough_a_run_takes_what_it_takes_without_a_prediction() -> None:
    feature, odds = make_odds()
    before = FEWEST // 3
    one, other = make_picker(PassRates.of(Certificates.unknown(COUNT))), make_picker(predict_all(feature))
    assert play(one, odds, before) == play(other, odds, before)


def test_features_that_tell_nothing_are_not_used() -> None:
    _, odds = make_odds()
    other, _ = make_odds(seed=7)
    rates = predict_all(other)
    play(make_picker(rates), odds, 80)
    assert rates.is_fitted
    assert rates.shared.way == 0
    assert rates.list_metrics([0])[0] == ("predicted_share", 0.0)


def test_unseen_prompts_rise_with_the_others() -> None:
    feature, odds = make_odds()
    rates = predict_all(feature)
    picker = make_picker(rates, prompts=8)
    play(picker, odds, 40)
    never = picker.last_drawn < 0
    before = rates.expect_rates()[never].mean()
    play(picker, odds + 2.5, 10, seed=2)
    truth = expit(odds + 2.5)[never].mean() - expit(odds)[never].mean()
    still = picker.last_drawn[never] < 0
    assert rates.expect_rates()[never][still].mean() - before > 0.5 * truth


@pytest.mark.parametrize("walk", [0.0, 0.15])
def test_the_drift_is_fitted_to_prompts_that_are_seen_again(walk: float) -> None:
    rates, odds = predict_all(), np.random.default_rng(5).normal(0, 1.5, COUNT)
    picker = make_picker(rates, prompts=COUNT)
    play(picker, odds, 1)
    assert rates.is_fitted
    assert rates.shared.drift == DRIFT
    play(picker, odds, 12, walk=walk)
    assert rates.shared.drift == pytest.approx(walk, abs=0.03)


def test_a_batch_that_was_taken_before_its_prompts_were_predicted_starves_nobody() -> None:
    feature, odds = make_odds()
    picker = make_picker(predict_all(feature))
    play(picker, odds, 40)
    dead = np.argsort(odds)[:3].tolist()
    assert picker.rates.expect_usable(GROUP)[dead].mean() < 0.1
    assert not picker.is_starved(dead)
    play(picker, np.full(COUNT, -9.0), 150)
    assert picker.is_starved(dead)


def test_a_drift_that_is_given_stands() -> None:
    rates = predict_all(drift=0.2, fits_drift=False)
    play(make_picker(rates, prompts=COUNT), np.random.default_rng(5).normal(0, 1.5, COUNT), 4)
    assert rates.is_fitted
    assert rates.shared.drift == 0.2


def test_a_resumed_run_takes_what_an_uninterrupted_one_takes() -> None:
    feature, odds = make_odds()
    picker = make_picker(predict_all(feature))
    play(picker, odds, 30)
    state = picker.get_state()
    kept = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    numbers = json.loads(json.dumps({name: value for name, value in state.items() if name not in kept}))
    resumed = make_picker(predict_all(feature), seed=9)
    resumed.set_state({**numbers, **kept})
    assert play(picker, odds, 30, seed=2) == play(resumed, odds, 30, seed=2)
    assert np.array_equal(picker.rates.weights, resumed.rates.weights)


def test_a_state_of_the_other_way_is_refused() -> None:
    with pytest.raises(LearnableError, match="predicted no pass rates: go on with predict='off'"):
        predict_all().set_state(PassRates.of(Certificates.unknown(COUNT)).get_state())
    with pytest.raises(LearnableError, match="predicted pass rates: go on with predict='auto'"):
        PassRates.of(Certificates.unknown(COUNT)).set_state(predict_all().get_state())


def make_rows(count: int, **columns: list[Any]) -> Any:
    from datasets import Dataset

    return Dataset.from_dict({"prompt": [f"{number} + {7 * number} =" for number in range(count)], **columns})


def certify(alpha: list[float | None]) -> dict[str, list[Any]]:
    count = len(alpha)
    plain = {name: [0.0] * count for name in ("p_zero", "p_one")}
    told = {"beta": alpha, "n": [8] * count, "n_eff": [8.0] * count, "pass_rate": [0.5] * count}
    return {"alpha": alpha, **plain, **told}


def test_with_certificates_for_all_nothing_is_predicted() -> None:
    rows = make_rows(40, **certify([3.0] * 40))
    told, off = make_rates(rows, None, predicts=True), make_rates(rows, DRIFT, predicts=False)
    assert type(told) is type(off) is PassRates
    assert told.drift == off.drift
    assert np.array_equal(told.weights, off.weights)


def test_prompts_with_certificates_keep_them_beside_those_without() -> None:
    rows = make_rows(80, **certify([9.0] * 20 + [0.5] * 30 + [None] * 30))
    rates = make_rates(rows, None, predicts=True)
    assert isinstance(rates, PredictedRates)
    assert rates.unknown.tolist() == [False] * 20 + [True] * 60
    whole = make_rates(rows.select(range(20)), None, predicts=True)
    for batch in range(20):
        groups = {batch: (10, 6), 20 + 3 * batch: (16, 0), 21 + 3 * batch: (16, 0)}
        rates.observe_batch(groups)
        whole.observe_batch({batch: (10, 6)})
    assert rates.is_fitted
    assert np.array_equal(rates.weights[:20], whole.weights)
    assert rates.expect_usable(16)[:20] == pytest.approx(whole.expect_usable(16), rel=1e-5)
    assert rates.expect_rates()[79] > 0.8


def test_what_a_curation_found_out_is_not_read_but_columns_of_the_user_are() -> None:
    columns = {"solve_rate": [0.5] * 5, "zero_std_at_16": [0.1] * 5, "certified_reward": [0.2] * 5, "level": [1] * 5}
    found = list_prompts(make_rows(5, tags=[["a"]] * 5, form=["Sum"] * 5, **columns, **certify([2.0] * 5)))
    assert found[0].columns == {"solve_rate": 0.5, "level": 1}
    assert (found[0].form, found[0].prompt) == ("Sum", "0 + 0 =")


def test_chats_are_described_and_what_cannot_be_is_left() -> None:
    from datasets import Dataset

    chats = [[{"role": "user", "content": f"What is {number} + 2?"}] for number in range(30)]
    figures, words = describe_rows(Dataset.from_dict({"prompt": chats}))
    assert figures.shape[0] == words.shape[0] == 30
    assert figures.shape[1] < words.shape[1]
    assert describe_rows(Dataset.from_dict({"text": ["a", "b"]})) == ()
