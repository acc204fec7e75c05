"""Pure statistics of an evaluation: pass@k, and intervals by resampling prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, isnan, nan

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
RESAMPLES = 10_000
MAX_CELLS = 4_000_000  # resampled values in memory at once


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the ends of its interval. All NaN where there was nothing to estimate from."""

    value: float
    low: float
    high: float

    @property
    def is_above_zero(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.low > 0

    @property
    def is_below_zero(self) -> bool:
        """Whether the whole interval lies below zero."""
        return self.high < 0

    @property
    def as_change(self) -> str:
        """A change in words.

        >>> Interval(0.1, 0.05, 0.15).as_change
        '+0.100, 95% interval +0.050 to +0.150'
        """
        return f"{self.value:+.3f}, {CONFIDENCE:.0%} interval {self.low:+.3f} to {self.high:+.3f}"


def estimate_pass_at_k(n: int, passes: int, k: int) -> float:
    """Return the unbiased estimate of the chance to pass at least once in `k` completions, NaN where `n < k`.

    1 - C(n - c, k) / C(n, k) for c passes of n (Chen et al., 2021, arXiv 2107.03374).

    >>> estimate_pass_at_k(4, 1, 1), estimate_pass_at_k(4, 1, 4), estimate_pass_at_k(4, 0, 4)
    (0.25, 1.0, 0.0)
    """
    return 1.0 - comb(n - passes, k) / comb(n, k) if n >= k else nan


def estimate_mean(
    values: Sequence[float],
    *,
    problems: Sequence[str] | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Interval:
    """Return the mean over prompts (one value for each) with a percentile bootstrap interval; NaN values are left out.

    Prompts are what is resampled, since completions of one prompt are not independent of each other. Where `problems`
    says what each prompt is about, problems are resampled, each with all its prompts, which are no more independent.
    """
    from scipy.stats import bootstrap

    known = np.asarray([value for value in values if not isnan(value)], dtype=np.float64)
    if not known.size:
        return Interval(nan, nan, nan)
    mean = float(known.mean())
    if problems is not None:
        named = [problem for problem, value in zip(problems, values, strict=True) if not isnan(value)]
        if len(set(named)) < len(named):
            return Interval(mean, *_resample_problems(known, named, confidence, seed))
    if known.size == 1:  # nothing to resample
        return Interval(mean, mean, mean)
    interval = bootstrap(
        (known,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(1, MAX_CELLS // known.size),
        vectorized=True,
        confidence_level=confidence,
        method="percentile",
        rng=seed,
    ).confidence_interval
    return Interval(mean, float(interval.low), float(interval.high))


def _resample_problems(
    values: NDArray[np.float64], problems: Sequence[str], confidence: float, seed: int
) -> tuple[float, float]:
    """Return the ends of the percentile interval of the mean over prompts, with problems drawn whole."""
    problem = np.unique(np.asarray(problems), return_inverse=True)[1]
    sums, counts = np.bincount(problem, weights=values), np.bincount(problem)
    generator, means = np.random.default_rng(seed), np.empty(RESAMPLES)
    batch = max(1, MAX_CELLS // sums.size)
    for first in range(0, RESAMPLES, batch):
        drawn = generator.integers(sums.size, size=(min(batch, RESAMPLES - first), sums.size))
        means[first : first + batch] = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def estimate_change(
    before: Sequence[float],
    after: Sequence[float],
    *,
    problems: Sequence[str] | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Interval:
    """Return the mean of `after - before`, prompt by prompt, with its interval.

    Pairing removes the differences among prompts, which are most of the variance. A prompt that is NaN on either side
    is left out. `problems` are as for `estimate_mean`.
    """
    differences = [late - early for early, late in zip(before, after, strict=True)]
    return estimate_mean(differences, problems=problems, confidence=confidence, seed=seed)
