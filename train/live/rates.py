"""What is known of each prompt's pass rate while the policy that answers it is trained.

The log-odds of a rate stand on a grid. They begin where the certificates leave them, take a step of a random walk with
every generation batch, since the policy moves, and are told by each group of rewards: a hidden Markov model with exact
filtering (Rabiner, "A tutorial on hidden Markov models", 1989, the forward recursion). So what was seen long ago is
forgotten, and a prompt that was mastered or hopeless becomes uncertain again by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject

Weights = NDArray[np.float32]  # prompts x cells, each row adds up to 1
Numbers = NDArray[np.float64]

CELL = 0.25  # log-odds
LOG_ODDS = np.arange(-7.0, 7.0 + CELL / 2, CELL)
RATES = 1 / (1 + np.exp(-LOG_ODDS))
DRIFT = 0.1  # standard deviation of the walk of the log-odds, a generation batch
JEFFREYS = 0.5
SHARED = "shared"  # what only the state of `predicted.PredictedRates` has


@dataclass(frozen=True, slots=True)
class Certificates:
    """What is known of n prompts before training, each (n,): always failing, always passing, else Beta(alpha, beta)."""

    alpha: Numbers
    beta: Numbers
    p_zero: Numbers
    p_one: Numbers

    @classmethod
    def unknown(cls, count: int) -> Certificates:
        """Return those of prompts that nobody asked."""
        half, none = np.full(count, JEFFREYS), np.zeros(count)
        return cls(half, half, none, none)


class PassRates:
    """The chance of each rate in `RATES` for each prompt, as (prompts, cells)."""

    is_predicted = False

    def __init__(self, weights: Weights, drift: float = DRIFT) -> None:
        """Take weights whose rows add up to 1. Raises `ValueError` for a drift that is not in [0, .25)."""
        if not 0 <= drift < CELL:
            raise ValueError(f"drift {drift}: not from 0 to below {CELL} log-odds a generation batch")
        self.weights, self.drift = weights, drift

    @classmethod
    def of(cls, certificates: Certificates, drift: float = DRIFT) -> PassRates:
        """Begin with what certificates say."""
        count = len(certificates.alpha)
        weights = np.empty((count, len(RATES)), np.float32)
        at_once = 65_536  # prompts whose weights are worked out in double precision
        for start in range(0, count, at_once):
            rows = slice(start, start + at_once)
            weights[rows] = _weigh(
                certificates.alpha[rows], certificates.beta[rows], certificates.p_zero[rows], certificates.p_one[rows]
            )
        return cls(weights, drift)

    def drift_on(self) -> None:
        """Take one step of the walk: a part of each cell moves to either neighbour, none beyond the ends."""
        share = np.float32((self.drift / CELL) ** 2 / 2)
        across = share * np.diff(self.weights, axis=1)
        self.weights[:, :-1] += across
        self.weights[:, 1:] -= across

    def observe(self, prompt: int, passes: int, failures: int) -> None:
        """Take in how many completions of a group passed and failed."""
        logs = passes * np.log(RATES) + failures * np.log1p(-RATES)
        row = self.weights[prompt] * np.exp(logs - logs.max())
        total = row.sum()
        self.weights[prompt] = row / total if total > 0 else 1 / len(RATES)

    def observe_batch(self, groups: Mapping[int, tuple[int, int]]) -> None:
        """Take in the passes and failures of each prompt of a batch; the policy moves on."""
        for prompt, (passes, failures) in sorted(groups.items()):
            self.observe(prompt, passes, failures)
        self.drift_on()

    def expect_usable(self, group_size: int) -> Numbers:
        """Return for each prompt the chance that `group_size` completions do not all pass and not all fail, (n,)."""
        return self.expect(lambda rates: 1 - rates**group_size - (1 - rates) ** group_size)

    def expect_rates(self) -> Numbers:
        """Return the expected pass rate of each prompt, (n,)."""
        return self.expect(lambda rates: rates)

    def expect(self, worth: Callable[[Numbers], Numbers]) -> Numbers:
        """Return what is expected of each prompt where a rate is worth so much, (n,)."""
        return np.asarray(self.weights @ worth(RATES).astype(np.float32), dtype=np.float64)

    def list_metrics(self, prompts: Sequence[int]) -> list[tuple[str, float]]:
        """Return what is logged of a batch's prompts: nothing where nothing is predicted."""
        return []

    def get_state(self) -> JsonObject:
        """Return all that is known, arrays and what JSON takes."""
        return {"weights": self.weights.copy()}

    def set_state(self, state: JsonObject) -> None:
        """Go on from a state. Raises `LearnableError` for that of a run that predicted pass rates."""
        if SHARED in state:
            raise LearnableError(
                "the run that wrote this checkpoint predicted pass rates: go on with predict='auto' (`predict` auto)"
            )
        self.weights = state["weights"].copy()


def _weigh(alpha: Numbers, beta: Numbers, p_zero: Numbers, p_one: Numbers) -> Numbers:
    # A density of the rate is one of its log-odds times p (1 - p).
    logs = np.outer(alpha, np.log(RATES)) + np.outer(beta, np.log1p(-RATES))
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights *= ((1 - p_zero - p_one) / weights.sum(axis=1))[:, None]
    weights[:, 0] += p_zero
    weights[:, -1] += p_one
    return np.asarray(weights, np.float64)
