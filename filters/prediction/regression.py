"""A logistic regression of pass rates on features, with a ridge penalty, and what it says of groups it did not see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit, xlogy

from learnable.filters.arrays import Indices, Values

REGRESSION_FOLDS = 5
MAX_REGRESSION_GROUPS = 2_000  # that the regression is fitted to; more change hardly a prediction
MAX_WEIGHT = 4.0  # rollouts of a prompt at most, for its own rate differs from the predicted one
RATE_DIGITS = 6  # of a predicted rate: so that none that counts hangs on the processor


@dataclass(frozen=True, slots=True)
class Tried:
    """What one way and ridge predict of the groups that are left out, and the deviance of each from it."""

    way: int
    ridge: float
    held_out: Values
    deviances: Values


@dataclass(frozen=True, slots=True)
class RateFit:
    """A regression, and what it predicts of the groups that it was fitted to.

    `way` is the place of its features among the ways to describe the groups, `coefficients` begin with the intercept.
    `held_out` are predicted rates of the groups, each by a model that was fitted without it: `deviance_explained` is
    the share of the groups' deviance about their mean that they explain.
    """

    way: int
    coefficients: Values
    held_out: Values
    deviance_explained: float


def fit_rates(ways: Sequence[csr_matrix], n: Values, s: Values, *, plain: int | None = None) -> RateFit | None:
    """Fit pass rates by the features and the ridge that predict best the groups that are left out (cross-validation).

    Args:
        ways: ways to describe the groups by features, each of the shape (groups, features).
        n: rewards of each group, which may be effective sizes.
        s: their sums.
        plain: how many of the ways come first, all by default. Another one is taken only where it predicts better than
            these by more than two standard errors: what it adds may be noise.

    Returns:
        The regression; None where no way explains anything of the groups that are left out.
    """
    weights = n * MAX_WEIGHT / np.maximum(n + MAX_WEIGHT, 1e-9)
    rates = np.divide(s, n, out=np.zeros_like(s), where=n > 0)
    folds = deal_folds(len(n))

    def find_best(which: Sequence[int]) -> Tried | None:
        tried = [
            Tried(way, ridge, predicted, _find_deviances(rates, weights, predicted))
            for way in which
            for ridge in (2.0, 15.0)
            for predicted in [_predict_held_out(ways[way], rates, weights, ridge, folds)]
        ]
        return min(tried, key=lambda each: float(each.deviances.sum()), default=None)

    by_mean = _find_deviances(rates, weights, _predict_mean(rates, weights, folds))
    numbers = range(len(ways))
    best, other = find_best(numbers[:plain]), find_best(numbers[plain:] if plain is not None else ())
    if best is not None and best.deviances.sum() >= by_mean.sum():
        best = None
    if other is not None and _is_surely_more((by_mean if best is None else best.deviances) - other.deviances):
        best = other
    if best is None:
        return None
    coefficients = fit_logistic(ways[best.way], rates, weights, best.ridge)
    return RateFit(best.way, coefficients, best.held_out, float(1 - best.deviances.sum() / by_mean.sum()))


def deal_folds(groups: int) -> Indices:
    """Return the fold of each group, by chance: every other row of a file may be of one kind."""
    folds: Indices = np.random.default_rng(0).permutation(groups) % REGRESSION_FOLDS
    return folds


def fit_logistic(features: csr_matrix, rates: Values, weights: Values, ridge: float) -> Values:
    """Return the coefficients, the intercept first: the maximum of the penalised likelihood.

    The penalty is `ridge / 2` times the squares of the coefficients but for the intercept (le Cessie and van
    Houwelingen, 1992, "Ridge estimators in logistic regression").
    """
    mean = np.clip((weights @ rates) / max(weights.sum(), 1e-9), 1e-3, 1 - 1e-3)
    turned = features.T  # once: that takes as long as the product

    def lose(coefficients: Values) -> tuple[float, Values]:
        slopes = coefficients[1:]
        linear = coefficients[0] + features @ slopes
        loss = weights @ (np.logaddexp(0.0, linear) - rates * linear) + ridge / 2 * slopes @ slopes
        residual = weights * (expit(linear) - rates)
        return float(loss), np.concatenate([[residual.sum()], turned @ residual + ridge * slopes])

    start = np.concatenate([[np.log(mean / (1 - mean))], np.zeros(features.shape[1])])
    optimum: Values = minimize(lose, start, jac=True, method="L-BFGS-B", options={"maxiter": 100, "gtol": 1e-5}).x
    return optimum


def predict(features: csr_matrix, coefficients: Values) -> Values:
    """Return the rates of prompts with these features."""
    rates: Values = np.round(expit(coefficients[0] + features @ coefficients[1:]), RATE_DIGITS)
    return rates


def _predict_held_out(features: csr_matrix, rates: Values, weights: Values, ridge: float, folds: Indices) -> Values:
    predicted = np.zeros(len(rates))
    for fold in range(REGRESSION_FOLDS):
        out = folds == fold
        coefficients = fit_logistic(features[~out], rates[~out], weights[~out], ridge)
        predicted[out] = predict(features[out], coefficients)
    return predicted


def _is_surely_more(gains: Values) -> bool:
    """Say whether the sum of gains is above 0 by more than two standard errors."""
    return bool(gains.sum() > 2 * gains.std(ddof=1) * np.sqrt(len(gains)))


def _predict_mean(rates: Values, weights: Values, folds: Indices) -> Values:
    means = [
        weights[folds != fold] @ rates[folds != fold] / max(weights[folds != fold].sum(), 1e-9)
        for fold in range(REGRESSION_FOLDS)
    ]
    return np.array(means)[folds]


def _find_deviances(rates: Values, weights: Values, predicted: Values) -> Values:
    """Return the deviance of each rate from its prediction: minus twice the log-likelihood above a perfect fit's."""
    safe = np.clip(predicted, 1e-4, 1 - 1e-4)
    perfect = xlogy(rates, rates) + xlogy(1 - rates, 1 - rates)
    deviances: Values = 2 * weights * (perfect - rates * np.log(safe) - (1 - rates) * np.log1p(-safe))
    return deviances
