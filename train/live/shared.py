"""What groups of rewards tell of the prompts' log-odds: a part that all share, which moves, and each prompt's own.

The log-odds of a prompt are its predicted ones, a level that is common to all and moves with the policy, and the
prompt's own deviation on the grid of `rates`. The level is filtered as a Gaussian (the extended Kalman filter: one
Newton step on the groups' likelihood), deviations exactly. `replay` does so for a whole history and for several
suppositions of how fast both move, so that the one that foretold most can be chosen (Dawid, 1984, "The prequential
approach").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from learnable.filters.arrays import Indices
from learnable.train.live.rates import CELL, LOG_ODDS, Numbers

CELLS = len(LOG_ODDS)
SCALES = (0.3, 0.5, 0.75, 1.0, 1.4, 2.0, 2.8, 4.0, 6.0)  # standard deviations of a deviation, in log-odds
MAX_HISTORY = 20_000  # groups that are gone through anew
FIRST_DEVIATION = 1.0  # standard deviation of the level before the first group, about what was predicted
SMALLEST = 1e-12

# The walk of `PassRates.drift_on` is diagonal in the discrete cosine transform.
_places = np.arange(CELLS)
_scales = np.where(_places == 0, 1.0, 2.0)[:, None] / CELLS
COSINES: Numbers = np.sqrt(_scales) * np.cos(np.pi * np.outer(_places, _places + 0.5) / CELLS)
SPEEDS: Numbers = 4 * np.sin(np.pi * _places / (2 * CELLS)) ** 2


@dataclass(frozen=True, slots=True)
class History:
    """Groups in the order in which they were told, each (groups,): in which batch, of which prompt, what came out."""

    batch: Indices
    prompt: Indices
    passes: Numbers
    size: Numbers
    is_first: NDArray[np.bool_]

    @classmethod
    def empty(cls) -> Self:
        """Return a history without a group."""
        integers, real = np.empty(0, np.int64), np.empty(0)
        return cls(integers, integers, real, real, np.empty(0, np.bool_))

    def add(self, batch: int, prompts: Sequence[int], counts: Sequence[tuple[int, int]]) -> Self:
        """Return the latest `MAX_HISTORY` groups with those of a batch, of which `counts` are passes and failures."""
        new = {
            "batch": np.full(len(prompts), batch),
            "prompt": np.array(prompts, np.int64),
            "passes": np.array([passes for passes, _ in counts], np.float64),
            "size": np.array([sum(count) for count in counts], np.float64),
            "is_first": ~np.isin(prompts, self.prompt),
        }
        arrays = {name: np.concatenate([getattr(self, name), array]) for name, array in new.items()}
        return type(self)(**arrays).cut(MAX_HISTORY)

    def pick(self, chosen: NDArray[np.bool_]) -> Self:
        """Return these groups."""
        return type(self)(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def cut(self, most: int) -> Self:
        """Return the latest groups, at most so many."""
        return type(self)(*(getattr(self, field.name)[-most:] for field in fields(self)))


@dataclass(slots=True)
class Level:
    """The shared level of log-odds, with its variance; each (suppositions,)."""

    mean: Numbers
    variance: Numbers


@dataclass(frozen=True, slots=True)
class Replay:
    """What is known after a history, (suppositions, prompts, cells) for its `prompts`, and how likely each group was.

    `evidence` is the logarithm of the chance of each group as it was foretold, (suppositions, groups).
    """

    prompts: Indices
    beliefs: Numbers
    level: Level
    evidence: Numbers


def make_prior(scale: float) -> Numbers:
    """Return the chances of deviations that are normal with this standard deviation, (cells,)."""
    logs = -0.5 * (LOG_ODDS / scale) ** 2
    chances = np.exp(logs - logs.max())
    return np.asarray(chances / chances.sum())


def center(marginal: Numbers, scale: float) -> Numbers:
    """Return the log-odds about which deviations lie of prompts whose mean rates have these log-odds."""
    attenuation = (16 * 3**0.5 / (15 * np.pi)) ** 2  # Zeger, Liang and Albert, 1988
    return np.asarray(marginal * np.sqrt(1 + attenuation * scale**2))


def jump(beliefs: Numbers, drifts: Numbers, gaps: Numbers) -> Numbers:
    """Return beliefs, (..., cells), after walks of so many batches; `drifts` and `gaps` have the shape (...)."""
    kept = 1 - ((drifts / CELL) ** 2 / 2)[..., None] * SPEEDS
    moved = np.maximum(((beliefs @ COSINES.T) * kept ** gaps[..., None]) @ COSINES, 0.0)
    return np.asarray(moved / moved.sum(axis=-1, keepdims=True))


def weigh(centers: Numbers, passes: Numbers, size: Numbers) -> Numbers:
    """Return the log-likelihood of groups for each cell of the deviations about `centers`, shape (..., cells)."""
    odds = LOG_ODDS + centers[..., None]
    return np.asarray(passes[..., None] * odds - size[..., None] * np.logaddexp(0.0, odds))


def rate_evidence(centers: Numbers, passes: Numbers, size: Numbers, prior: Numbers) -> Numbers:
    """Return the logarithm of the chance of each group (but for the binomial coefficient) under a prior."""
    logs = weigh(centers, passes, size)
    top = logs.max(axis=-1)
    return np.asarray(np.log(np.exp(logs - top[..., None]) @ prior + SMALLEST) + top)


def take_in(
    beliefs: Numbers, bases: Numbers, groups: tuple[Numbers, Numbers], level: Level, forgetting: Numbers
) -> tuple[Numbers, Numbers]:
    """Take in the groups of a batch: move the level, and return what is known of their prompts, and the evidence.

    Args:
        beliefs: what is known of each group's deviation, (suppositions, groups, cells).
        bases: the predicted log-odds of each group, (groups,).
        groups: passes and sizes, each (groups,).
        level: is moved on by one batch.
        forgetting: standard deviation of the level's walk, a batch, (suppositions,).
    """
    passes, size = groups
    centers = bases + level.mean[:, None]
    logs = weigh(centers, passes, size)
    top = logs.max(axis=-1, keepdims=True)
    joint = beliefs * np.exp(logs - top)
    total = joint.sum(axis=-1, keepdims=True) + SMALLEST
    evidence = np.log(total[..., 0]) + top[..., 0]
    rates = expit(LOG_ODDS + centers[..., None])
    surplus = passes[:, None] - size[:, None] * rates
    posterior = joint / total
    slope = (posterior * surplus).sum(axis=-1)
    bend = (posterior * (size[:, None] * rates * (1 - rates) - surplus**2)).sum(axis=-1) + slope**2
    level.variance = level.variance + forgetting**2
    level.variance = 1 / (1 / np.maximum(level.variance, SMALLEST) + np.maximum(bend.sum(axis=1), 0.0))
    farthest = 1.0  # that a batch moves the level
    level.mean = level.mean + np.clip(level.variance * slope.sum(axis=1), -farthest, farthest)
    logs = weigh(bases + level.mean[:, None], passes, size)
    weights = beliefs * np.exp(logs - logs.max(axis=-1, keepdims=True)) + SMALLEST
    return weights / weights.sum(axis=-1, keepdims=True), np.asarray(evidence)


def replay(
    history: History, bases: Numbers, prior: Numbers, drifts: Numbers, forgetting: Numbers, batches: int
) -> Replay:
    """Go through a history anew.

    Args:
        history: the groups that there were.
        bases: the predicted log-odds of each group, (groups,).
        prior: chances of a prompt's deviation before its first group, (cells,).
        drifts: suppositions of how far deviations walk in a batch, (suppositions,).
        forgetting: likewise of the level.
        batches: that there were in all; beliefs are those after as many.
    """
    prompts, places = np.unique(history.prompt, return_inverse=True)
    beliefs = np.broadcast_to(prior, (len(drifts), len(prompts), CELLS)).copy()
    last = np.full(len(prompts), -1)
    level = Level(np.zeros(len(drifts)), np.full(len(drifts), FIRST_DEVIATION**2))
    evidence = np.zeros((len(drifts), len(history.prompt)))
    ends = np.flatnonzero(np.diff(history.batch)) + 1
    for start, end in zip([0, *ends], [*ends, len(history.batch)], strict=True):
        now, at = int(history.batch[start]), places[start:end]
        known = last[at] >= 0
        gaps = np.where(known, now - last[at], 0)
        before = jump(beliefs[:, at], drifts[:, None], gaps[None]) if known.any() else beliefs[:, at]
        groups = history.passes[start:end], history.size[start:end]
        beliefs[:, at], evidence[:, start:end] = take_in(before, bases[start:end], groups, level, forgetting)
        last[at] = now
    return Replay(prompts, jump(beliefs, drifts[:, None], (batches - last)[None]), level, evidence)
