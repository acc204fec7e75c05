"""The ridge regression of rates: its optimum, its predictions of groups it did not see, and the skill it finds."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import expit

from learnable.filters.prediction.regression import REGRESSION_FOLDS, deal_folds, fit_logistic, fit_rates


def draw(groups: int, slope: float, seed: int = 0) -> tuple[csr_matrix, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((groups, 4))
    n = rng.integers(4, 40, groups).astype(float)
    return csr_matrix(x), n, rng.binomial(n.astype(int), expit(slope * x[:, 0])).astype(float)


def test_the_coefficients_are_where_the_slope_of_the_loss_is_zero() -> None:
    x, n, s = draw(300, 1.0)
    rates, weights, ridge = s / n, np.minimum(n, 4), 3.0
    found = fit_logistic(x, rates, weights, ridge)
    residual = weights * (expit(found[0] + x @ found[1:]) - rates)
    assert abs(residual.sum()) < 1e-2
    assert np.abs(x.T @ residual + ridge * found[1:]).max() < 1e-2


def test_it_explains_what_follows_the_features_and_nothing_else() -> None:
    x, n, s = draw(400, 2.0)
    found = fit_rates([x], n, s)
    assert found is not None
    assert found.deviance_explained > 0.5
    assert np.corrcoef(found.held_out, s / n)[0, 1] > 0.8
    shuffled = np.random.default_rng(1).permutation(400)
    nothing = fit_rates([x], n[shuffled], s[shuffled])
    assert nothing is None or nothing.deviance_explained < 0.02


def test_what_is_predicted_of_a_group_does_not_rest_on_its_own_rewards() -> None:
    x, n, s = draw(200, 2.0)
    before, other = fit_rates([x], n, s), s.copy()
    other[17] = n[17] - s[17]
    after = fit_rates([x], n, other)
    assert before is not None
    assert after is not None
    fold = deal_folds(200) == deal_folds(200)[17]
    assert np.array_equal(before.held_out[fold], after.held_out[fold])
    assert not np.array_equal(before.held_out[~fold], after.held_out[~fold])


def test_the_way_that_predicts_best_is_chosen() -> None:
    x, n, s = draw(300, 2.0)
    noise = csr_matrix(np.random.default_rng(3).standard_normal((300, 4)))
    found = fit_rates([noise, x], n, s)
    assert found is not None
    assert found.way == 1


def test_folds_are_of_one_size() -> None:
    counts = np.bincount(deal_folds(103))
    assert len(counts) == REGRESSION_FOLDS
    assert counts.max() - counts.min() <= 1


def test_further_features_are_used_only_where_they_surely_help() -> None:
    rng = np.random.default_rng(3)
    known, noise = rng.standard_normal((2, 200))
    n = np.full(200, 8.0)
    s = rng.binomial(8, expit(2 * known)).astype(float)
    nothing, helpful, useless = csr_matrix((200, 0)), csr_matrix(known[:, None]), csr_matrix(noise[:, None])
    both = csr_matrix(np.column_stack([known, noise]))
    assert fit_rates([nothing, useless], n, s, plain=1) is None
    found = fit_rates([nothing, helpful], n, s, plain=1)
    assert found is not None
    assert found.way == 1
    kept = fit_rates([helpful, both], n, s, plain=1)
    assert kept is not None
    assert kept.way == 0
