"""How far the policy has moved from the one that drew the stored completions, by the ratios of a step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

MIN_ESS = 0.5  # below which stored groups are stale


class StepRatios:
    """What one optimizer step shows of the stored completions that it is taken on; the same in all processes.

    The weight of a completion is the product of its tokens' ratios: how likely the policy makes it now over how likely
    it was when it was drawn. `ratio_ess` is the effective sample size of these weights as a share of the completions,
    (sum w)^2 / (n sum w^2) (Kong 1992): 1 for the policy that drew them. `clip_share` is the share of their tokens
    whose ratio is clipped, so that they have no gradient. `share` is that of the step's passes that were over stored
    completions.
    """

    def __init__(self) -> None:
        """Begin a step."""
        self.passes: list[bool] = []
        self.logs: list[float] = []  # of the weights
        self.counts = np.zeros(2)  # clipped tokens, tokens

    def add(self, trainer: Any, log_ratios: Tensor, mask: Tensor, advantages: Tensor) -> None:
        """Take in a pass over stored completions, of all processes.

        `log_ratios` and `mask`, which is true where a token is and false in the padding, are (completions, tokens),
        `advantages` (completions,).
        """
        gather, ratios, is_up = trainer.accelerator.gather, log_ratios.exp(), (advantages > 0)[:, None]
        is_clipped = (ratios > 1 + trainer.epsilon_high) & is_up | (ratios < 1 - trainer.epsilon_low) & ~is_up
        counts = log_ratios.new_tensor([(is_clipped & mask).sum(), mask.sum()])
        self.passes.append(True)
        self.logs += gather((log_ratios * mask).sum(1)).tolist()
        self.counts += gather(counts[None]).sum(0).cpu().numpy()

    def measure(self) -> Iterator[tuple[str, float]]:
        """Yield the figures by their names; those of ratios where there are any."""
        if self.passes:
            yield "share", sum(self.passes) / len(self.passes)
        if self.logs:
            yield "ratio_ess", measure_ess(self.logs)
            yield "clip_share", float(self.counts[0] / max(self.counts[1], 1))


def measure_ess(logs: list[float]) -> float:
    """Return the effective sample size of weights, from their logarithms, as a share of their number.

    >>> measure_ess([0.0, 0.0]), measure_ess([0.0, -1000.0])
    (1.0, 0.5)
    """
    weights = np.exp(np.array(logs) - max(logs))
    return float(weights.sum() ** 2 / (len(logs) * (weights**2).sum()))
