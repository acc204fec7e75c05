"""What the pass rate may be at every setting of a grid of knobs, after some were sampled: a Gaussian process.

Rates are looked at as angles, `z = 2 asin(sqrt(p))`, since there a share of n passes has the variance `1 / (n + 1/2)`
whatever p is (Anscombe, 1948, "The transformation of Poisson, binomial and negative-binomial data"). So the noise is
Gaussian and known, and the posterior of a Gaussian process is exact (Rasmussen and Williams, 2006, "Gaussian processes
for machine learning", equations 2.22 to 2.24 and 2.30).

The prior says: a level anywhere, a smooth curve about it that need not be monotone, and an amount by which each setting
leaves the curve. How much the curve varies, how smooth it is and how far settings leave it are averaged over a few
values each, weighted by their marginal likelihoods: so settings that pass alike are pooled, and jumps are believed.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from learnable.filters.arrays import Values


def draw_pass_rates(points: Values, passed: Values, n: Values, count: int, rng: np.random.Generator) -> Values:
    """Draw pass rates of all settings from their joint posterior.

    Args:
        points: where the settings lie, shape (settings, knobs), each knob from 0 to 1.
        passed: passes of each setting, shape (settings,); counts may be effective ones.
        n: rollouts of each setting, likewise; 0 where none was sampled.
        count: how many draws.
        rng: what they are drawn with.

    Returns:
        The draws, shape (count, settings).
    """
    squares = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=-1)
    curve_stds = (0.1, 0.4, 1.2)
    lengths = (0.15, 0.4, 1.2)  # of the range of a knob
    cell_stds = (0.02, 0.08, 0.25)
    fits = [_fit(_covariance(squares, *prior), passed, n) for prior in product(curve_stds, lengths, cell_stds)]
    evidence = np.array([fit[0] for fit in fits])
    weights = np.exp(evidence - evidence.max())
    drawn = rng.choice(len(fits), size=count, p=weights / weights.sum())
    normal = rng.normal(size=(count, len(points)))
    angles = np.empty_like(normal)
    for number in np.unique(drawn):
        _, mean, covariance = fits[number]
        # Keeps the covariance positive definite in floating point.
        root = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(points)))
        angles[drawn == number] = mean + normal[drawn == number] @ root.T
    rates: Values = np.sin(np.clip(angles, 0.0, np.pi) / 2) ** 2
    return rates


def _covariance(squares: Values, curve_std: float, length: float, cell_std: float) -> Values:
    smooth = curve_std**2 * np.exp(-squares / (2 * length**2))
    # 1: of angles, which go from 0 to pi.
    covariance: Values = 1.0**2 + smooth + cell_std**2 * np.eye(len(squares))
    return covariance


def _fit(prior: Values, passed: Values, n: Values) -> tuple[float, Values, Values]:
    """Return the log marginal likelihood up to a constant, and mean and covariance of the posterior of the angles."""
    is_sampled = n > 0
    angles = 2 * np.arcsin(np.sqrt((passed[is_sampled] + 0.375) / (n[is_sampled] + 0.75)))
    root = np.linalg.cholesky(prior[np.ix_(is_sampled, is_sampled)] + np.diag(1 / (n[is_sampled] + 0.5)))
    shared = np.linalg.solve(root, prior[is_sampled])
    residual = np.linalg.solve(root, angles - np.pi / 2)
    evidence = float(-residual @ residual / 2 - np.log(np.diag(root)).sum())
    return evidence, np.pi / 2 + shared.T @ residual, prior - shared.T @ shared
