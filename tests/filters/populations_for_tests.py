"""Populations of prompts whose true mean reward is known, and their rollouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from learnable.filters.arrays import Values
from learnable.filters.posterior.belief import RATE_EDGES, RATE_GRID, Belief

Rewards = Callable[[np.random.Generator, Values, int], Values]

NEAR = 1e-9  # a Beta distribution needs shapes over 0


@dataclass(frozen=True)
class Prior:
    """A Beta distribution of true means, with masses at 0 and 1."""

    alpha: float
    beta: float
    zero: float = 0.0
    one: float = 0.0

    @property
    def belief(self) -> Belief:
        return Belief.of_moments(self.alpha, self.beta, self.zero, self.one)


@dataclass(frozen=True)
class Population:
    """Prompts drawn from `prior`, whose true means are scaled by `top`, and the rewards of their rollouts.

    Where rewards are drawn from a rate that is not their mean, `mean` makes the one of the other.
    """

    prior: Prior
    rewards: Rewards
    top: float = 1.0
    mean: Callable[[Values], Values] | None = None

    def prompts(self, rng: np.random.Generator, count: int) -> Values:
        return self.top * draw_means(rng, self.prior, count)

    def means(self, prompts: Values) -> Values:
        """The true mean reward of each prompt."""
        return prompts if self.mean is None else self.mean(prompts)


def partial_credit(prior: Prior, cases: int, credit: float) -> Population:
    """So many cases pass independently; the reward is 1 if all do, else `credit` times their share."""

    def draw(rng: np.random.Generator, p: Values, rollouts: int) -> Values:
        passed = rng.binomial(cases, p[:, None], (len(p), rollouts))
        return np.where(passed == cases, 1.0, credit * passed / cases)

    return Population(prior, draw, mean=lambda p: p**cases + credit * (p - p**cases))


def three_levels(prior: Prior) -> Population:
    """Rewards of 1, .5 and 0: with the chances p^1.5, sqrt(p) - p^1.5, and the rest."""

    def draw(rng: np.random.Generator, p: Values, rollouts: int) -> Values:
        uniform = rng.random((len(p), rollouts))
        return np.where(uniform < p[:, None] ** 1.5, 1.0, np.where(uniform < np.sqrt(p)[:, None], 0.5, 0.0))

    return Population(prior, draw, mean=lambda p: (p**1.5 + np.sqrt(p)) / 2)


def with_floor(prior: Prior, floor: float, rewards: Rewards) -> Population:
    """Rewards of which `floor` is always earned, as for a format."""
    return Population(
        prior,
        lambda rng, p, rollouts: floor + (1 - floor) * rewards(rng, p, rollouts),
        mean=lambda p: floor + (1 - floor) * p,
    )


def rounded(std: float, levels: int) -> Rewards:
    """Graded rewards on a scale of so many steps."""
    return lambda rng, p, rollouts: np.round(graded(std)(rng, p, rollouts) * levels) / levels


def draw_means(rng: np.random.Generator, prior: Prior, count: int) -> Values:
    beta, uniform = rng.beta(prior.alpha, prior.beta, count), rng.random(count)
    return np.where(uniform < prior.zero, 0.0, np.where(uniform >= 1 - prior.one, 1.0, beta))


def bernoulli(rng: np.random.Generator, p: Values, rollouts: int) -> Values:
    """Pass and fail, shape (prompts, rollouts)."""
    return (rng.random((len(p), rollouts)) < p[:, None]).astype(np.float64)


def graded(std: float) -> Rewards:
    """Rewards that are Beta distributed, with the standard deviation 2 * std * sqrt(p (1 - p))."""
    return lambda rng, p, rollouts: _beta(rng, p, 1 / (4 * std**2) - 1, rollouts)


def partly_zero(zero: float, weight: float) -> Rewards:
    """Rewards of which a share `zero` is exactly 0 whatever the prompt, the others Beta distributed."""

    def draw(rng: np.random.Generator, p: Values, rollouts: int) -> Values:
        others = _beta(rng, p / (1 - zero), weight, rollouts)
        return np.where(rng.random(others.shape) < zero, 0.0, others)

    return draw


def _beta(rng: np.random.Generator, p: Values, weight: float, rollouts: int) -> Values:
    inner = np.clip(p, NEAR, 1 - NEAR)[:, None]
    drawn = rng.beta(weight * inner, weight * (1 - inner), (len(p), rollouts))
    return np.where((p > 0)[:, None] & (p < 1)[:, None], drawn, np.round(p)[:, None])


def statistics(rewards: Values) -> tuple[Values, Values, Values]:
    """Rollouts, means and population variances of full groups, shape (prompts, rollouts)."""
    return np.full(len(rewards), float(rewards.shape[1])), rewards.mean(axis=1), rewards.var(axis=1)


def below(belief: Belief, x: float) -> Values:
    """The chance of each prompt that its mean reward is at most `x`."""
    share = np.clip((x - RATE_EDGES[:-1]) / np.diff(RATE_EDGES), 0, 1)
    chance: Values = belief.weights @ np.concatenate([[float(x >= 0)], share, [float(x >= 1)]])
    return chance


def expected_means(belief: Belief) -> Values:
    """The mean reward that is expected of each prompt."""
    expected: Values = belief.weights @ RATE_GRID
    return expected
