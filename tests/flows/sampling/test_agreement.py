"""The test by which engines are said to agree can fail."""

from __future__ import annotations

import numpy as np
import polars as pl

from tests.flows.sampling.agreement_for_tests import GROUP_SIZE, PROMPTS, agree


def simulated(shift: float = 0.0, seed: int = 1) -> pl.DataFrame:
    """As many coins a prompt as completions, with rates that differ by prompt."""
    random = np.random.default_rng(seed)
    rates = np.clip(np.linspace(0.05, 0.95, PROMPTS) + shift, 0, 1)
    rewards = (random.random((PROMPTS, GROUP_SIZE)) < rates[:, None]).astype(float)
    return pl.DataFrame({"prompt_id": np.repeat(np.arange(PROMPTS), GROUP_SIZE), "reward": rewards.ravel()})


def test_the_agreement_test_can_fail() -> None:
    """It lets equal engines pass, and sees a shift of the mean and groups that went to other prompts."""
    passed = sum(agree(simulated(seed=2 * i), simulated(seed=2 * i + 1)) for i in range(20))
    assert passed >= 18
    assert not agree(simulated(), simulated(shift=0.12, seed=2))
    mixed = simulated(seed=2).with_columns(pl.col("prompt_id").reverse())
    assert not agree(simulated(), mixed)
