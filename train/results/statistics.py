"""Pure statistics of an evaluation: pass@k, and intervals by resampling prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, isnan

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
RESAMPLES = 10_000
CELLS = 4_000_000  # resampled values held at once


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the ends of its interval. All NaN where there was nothing to estimate from."""

    value: float
    low: float
    high: float

    @property
    def above_zero(self) -> bool:
        """Does the whole interval lie above zero?"""
        return self.low > 0

    @property
    def below_zero(self) -> bool:
        """Does the whole interval lie below zero?"""
        return self.high < 0


def pass_at_k(n: int, passes: int, k: int) -> float:
    """Return the unbiased estimate of passing at least once in `k` draws, NaN where `n < k`.

    1 - C(n - c, k) / C(n, k) (Chen et al., 2021, arXiv 2107.03374).

    >>> pass_at_k(4, 1, 1), pass_at_k(4, 1, 4), pass_at_k(4, 0, 4)
    (0.25, 1.0, 0.0)
    """
    return 1.0 - comb(n - passes, k) / comb(n, k) if n >= k else float("nan")


def mean_interval(values: Sequence[float], *, confidence: float = 0.95, seed: int = 0) -> Interval:
    """Return the mean over prompts with a percentile bootstrap interval; NaN values are left out.

    Prompts are what is resampled, since completions of one prompt are not independent of each other.
    """
    known = np.asarray([value for value in values if not isnan(value)], dtype=np.float64)
    if not known.size:
        return Interval(float("nan"), float("nan"), float("nan"))
    tail = 50 * (1 - confidence)
    low, high = np.percentile(_resampled_means(known, seed), [tail, 100 - tail])
    return Interval(float(known.mean()), float(low), float(high))


def paired_difference(
    before: Sequence[float], after: Sequence[float], *, confidence: float = 0.95, seed: int = 0
) -> Interval:
    """Return the mean of `after - before` prompt by prompt, with its interval.

    Pairing takes out how much prompts differ among themselves, which is most of the spread. A prompt that
    is NaN on either side is left out.
    """
    differences = [late - early for early, late in zip(before, after, strict=True)]
    return mean_interval(differences, confidence=confidence, seed=seed)


def _resampled_means(values: Values, seed: int) -> Values:
    generator = np.random.default_rng(seed)
    rows = max(1, CELLS // values.size)
    means = [
        generator.choice(values, size=(min(rows, RESAMPLES - done), values.size)).mean(axis=1)
        for done in range(0, RESAMPLES, rows)
    ]
    return np.concatenate(means)
