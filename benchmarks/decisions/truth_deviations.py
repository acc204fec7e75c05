"""Standard deviations inside a group of graded rewards: do intervals hold the true ones, and do chances come true?

Certificates are those of the default sampling, as `certify` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from benchmarks.checks import Check, Figure, at_least, at_most
from benchmarks.decisions.truth_forecast import Population, follow_schedule, populations, worst_decile
from learnable.data.band import Band
from learnable.filters.arrays import Values
from learnable.filters.posterior.certificate import certify

POOLS, POOL = 8, 1_000
MIDDLE = (0.3, 0.7)  # shares of prompts in the band whose standard deviation is below the one that is wanted
COVERAGE, OFF = 0.87, 0.03
NEAR = 1e-9

Chances = Callable[[Values], Values]


def deviations_of_graded_rewards(seed: int) -> Iterator[Figure]:
    """Intervals of the standard deviation, and by decile chances that it is about the middle one of the band's."""
    for name, population in (populations() | other_populations()).items():
        covered, width, chances, truths = certify_stds(population, seed)
        yield at_least(f"coverage of 90 % intervals, {name}", covered, COVERAGE, f"mean width {width:.4f}")
        worst, where = worst_decile(chances, truths)
        yield at_most(f"worst decile beyond 3 s.e., {name}", worst, OFF, where)


def certify_stds(population: Population, seed: int) -> tuple[float, float, Values, Values]:
    """Return coverage and mean width of the intervals, and chances and truths, shape (pools, prompts).

    The chances are of prompts in the band, NaN outside it: `p_min_std` is given that a prompt is there.
    """
    rng = np.random.default_rng(seed)
    covered, widths, chances, truths = [], [], [], []
    for share in np.linspace(*MIDDLE, POOLS):
        rates = population.rates(rng, POOL)
        mean, std = population.mean(rates), population.std(rates)
        inside = (mean >= Band().low) & (mean <= Band().high)
        band = Band(min_std=round(float(np.quantile(std[inside], share)), 3))
        found = certify_pool(population.rewards(rng, rates, 52), rng, band)
        low, high = found["std_low"].to_numpy(), found["std_high"].to_numpy()
        covered.append(((low <= std + NEAR) & (std <= high + NEAR)).mean())
        widths.append((high - low).mean())
        chances.append(np.where(inside, found["p_min_std"].to_numpy(), np.nan))
        truths.append(std >= band.min_std - NEAR)
    return float(np.mean(covered)), float(np.mean(widths)), np.array(chances), np.array(truths)


def certify_pool(rewards: Values, rng: np.random.Generator, band: Band) -> pl.DataFrame:
    """Return certificates of prompts that answer with these rewards, one row each, in the end of the schedule."""
    schedule, everything = follow_schedule(rewards, rng), np.arange(len(rewards))
    n, mean, variance = schedule.measure(everything)
    whose, listed = schedule.list_rewards(everything)
    ends = (np.bincount(whose[listed == end], minlength=len(rewards)) for end in (0.0, 1.0))
    columns = dict(zip(("zeros", "ones"), ends, strict=True)) | {"n": n, "mean": mean, "std": np.sqrt(variance)}
    groups = pl.DataFrame({"prompt_id": everything, "family": "f"} | columns)
    return certify(groups, schedule.family_priors, band, rewards=pl.DataFrame({"prompt_id": whose, "reward": listed}))


def other_populations() -> dict[str, Population]:
    """Return two supports in one family, grades, prompts of which nearly all rewards are equal, and untied rewards."""
    halves = np.array([0.0, 0.25, 0.5, 1.0])
    found = {
        "two supports": _of_values(halves, _beta(1, 1), lambda p: _on_two_supports((1 - p) ** 2, p**2)),
        "two supports, levels": _of_values(halves, _beta(1, 1), lambda p: _on_two_supports(1 - np.sqrt(p), p**1.5)),
        ".3 or .7, mostly one": _of_values(np.array([0.3, 0.7]), _beta(0.1, 0.1), lambda p: np.stack([1 - p, p], 1)),
        ".3 or .7, nearly always": _of_values(np.array([0.3, 0.7]), _beta(1, 20), lambda p: np.stack([1 - p, p], 1)),
    }
    for name, weights in (("alike", (15.0,)), ("of two kinds", (2.0, 30.0))):
        found[f"tenths, {name}"] = _of_fractions(weights, 10)
        found[f"untied, {name}"] = _of_fractions(weights, 100_000)
    return found


def _on_two_supports(zero: Values, one: Values) -> Values:
    """Return chances of 0, .25, .5 and 1, where every other prompt earns .25 instead of .5."""
    middle, odd = 1 - zero - one, np.arange(len(zero)) % 2
    return np.stack([zero, middle * odd, middle * (1 - odd), one], axis=1)


def _of_values(values: Values, rates: Callable[[np.random.Generator, int], Values], chances: Chances) -> Population:
    """Return prompts that draw these values with these chances, shape (prompts, values)."""

    def draw(rng: np.random.Generator, p: Values, rollouts: int) -> Values:
        below = chances(p).cumsum(axis=1)[:, None, :-1]
        return np.asarray(values[(rng.random((len(p), rollouts))[:, :, None] >= below).sum(axis=2)], np.float64)

    def mean(p: Values) -> Values:
        return np.asarray(chances(p) @ values, np.float64)

    def std(p: Values) -> Values:
        return np.asarray(np.sqrt(np.maximum(chances(p) @ values**2 - mean(p) ** 2, 0.0)), np.float64)

    return Population(rates, draw, mean, std)


def _of_fractions(weights: tuple[float, ...], steps: int) -> Population:
    """Return prompts whose rewards are Beta distributed, with these alpha + beta in turn, and rounded to steps."""

    def sizes(p: Values) -> Values:
        return np.resize(weights, len(p))

    def draw(rng: np.random.Generator, p: Values, rollouts: int) -> Values:
        alpha, beta = (sizes(p) * share for share in (p, 1 - p))
        return np.round(rng.beta(alpha[:, None], beta[:, None], (len(p), rollouts)) * steps) / steps

    def std(p: Values) -> Values:
        return np.asarray(np.sqrt(p * (1 - p) / (sizes(p) + 1) + 1 / (12 * steps**2)), np.float64)

    return Population(_beta(2, 2), draw, lambda p: p, std)


def _beta(alpha: float, beta: float) -> Callable[[np.random.Generator, int], Values]:
    return lambda rng, count: rng.beta(alpha, beta, count)


CHECKS: tuple[Check, ...] = (deviations_of_graded_rewards,)
