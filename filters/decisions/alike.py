"""Whether the prompts of a form differ at all, or only by the luck of their samples; or whether nobody can tell yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from scipy.special import fdtr, fdtrc, ndtr, ndtri

from learnable.filters.arrays import Values
from learnable.filters.statistics.variance import read_openings

Likeness = Literal["alike", "different", "unknown"]

ALIKE_INTRACLASS = 0.05  # share of a form's variance between its prompts that is as good as none
DOUBT = 0.01  # chance that prompts which differ by as much are called alike
FALSE_ALARM = 0.003  # chance that prompts which do not differ are called different


@dataclass(frozen=True, slots=True)
class PromptComparison:
    """What a form's prompts say of their differences.

    `f_ratio` is the variance of the prompts' means over what sampling noise would make of it, in their openings, of
    `size` rollouts each; NaN where there is none. `enough` is about how many prompts would tell.
    """

    likeness: Likeness
    f_ratio: float
    prompts: int
    size: float
    enough: int


def compare_prompts(groups: pl.DataFrame) -> PromptComparison:
    """Compare the prompts of one form.

    Not to have seen a difference is no proof that there is none. So prompts are `alike` only where an F as low as
    theirs would be found with a chance of `DOUBT` at most if a share r of the variance, `ALIKE_INTRACLASS`, lay between
    them. Then F / (1 + n r / (1 - r)) follows an F distribution, nearly so where the sizes n differ (Searle, Casella
    and McCulloch, 1992, "Variance Components", chapter 3; degrees of freedom as in Satterthwaite, 1946, "An
    Approximate Distribution of Estimates of Variance Components"); likewise if prompts differed by as much as the
    noise of their means. Nor must anything show that they differ, with `FALSE_ALARM` for two tests: that F, and one of
    all rollouts (`_test_all_rollouts`). With few prompts or rollouts neither can be shown.

    F rests on the openings, which no reward has cut short or prolonged: given more rollouts where the mean is close to
    an end of the band, prompts of r = .05 can look as if they had .014.

    Args:
        groups: the scored rows of a form: `n`, `mean` and `std` of each prompt, and its opening's where known.
    """
    n, mean, variance = read_openings(groups)
    size, total = float((n**2).sum() / max(n.sum(), 1.0)), float(n.sum())
    if len(n) < 2 or total <= len(n):
        return PromptComparison("unknown", np.nan, len(n), size, _count_enough(2.0))
    noise = float((n * variance).sum()) / (total - len(n))
    of_means = float((n**2 * (mean - (n * mean).sum() / total) ** 2).sum()) / (total - size)
    # A smaller variance is rounding.
    f_ratio = of_means / noise if noise > 0 else (np.inf if of_means > 1e-18 else 0.0)
    true_over_noise = _true_over_noise(size)

    def tail(chance: Callable[..., float], ratio: float, over_noise: float) -> float:
        weights = n * (1 + over_noise * n / size)
        return float(chance(weights.sum() ** 2 / (weights**2).sum() - 1, total - len(n), ratio))

    differ = tail(fdtrc, f_ratio, 0.0) <= FALSE_ALARM / 2 or _test_all_rollouts(groups) <= FALSE_ALARM / 2
    alike = tail(fdtr, f_ratio / (1 + true_over_noise), true_over_noise) <= DOUBT
    likeness: Likeness = "different" if differ else "alike" if alike else "unknown"
    return PromptComparison(likeness, float(f_ratio), len(n), size, _count_enough(size))


def _test_all_rollouts(groups: pl.DataFrame) -> float:
    """Return the chance that prompts which do not differ would look as different as these, by all their rollouts.

    The products (x_j - m) (x_k - m) of all pairs of a prompt's rewards, m the mean of all prompts, add up to
    M = ((sum(x) - n m)^2 - sum((x - m)^2)) / 2. Where m is the prompt's own mean, M is a martingale in n: its
    expectation is 0 whenever a group stops and whatever it stops for (Doob's optional stopping theorem). Prompts are
    independent, so sum(M) / sqrt(sum(M^2)) is nearly normal.
    """
    known = groups.filter(pl.col("n") > 0)
    n, mean, std = (known[name].cast(pl.Float64).to_numpy() for name in ("n", "mean", "std"))
    off = mean - (n * mean).sum() / n.sum()
    pairs: Values = (n * (n - 1) * off**2 - n * std**2) / 2
    squares = float((pairs**2).sum())
    return float(ndtr(-pairs.sum() / squares**0.5)) if squares > 0 else 1.0


def _count_enough(size: float) -> int:
    """Return about how many prompts of openings of this size tell equal prompts from unequal ones.

    The logarithm of F is nearly normal with the variance 2 / k + 2 / (k (n - 1)) for k prompts (Fisher's z).
    """
    # Enough that equal prompts are called alike with a chance of 0.96.
    deviations = -ndtri(DOUBT) - ndtri(1 - 0.96)
    variance_of_log = 2 * size / max(size - 1, 0.5)
    return int(np.ceil(variance_of_log * (deviations / np.log1p(_true_over_noise(size))) ** 2))


def _true_over_noise(size: float) -> float:
    """Return the variance between prompts over the noise of their means, where that is as good as none."""
    return min(1.0, size * ALIKE_INTRACLASS / (1 - ALIKE_INTRACLASS))
