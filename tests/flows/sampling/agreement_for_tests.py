"""Whether two engines sample the same policy: a permutation test within prompts."""

from __future__ import annotations

import numpy as np
import polars as pl

LEVEL = 0.01
PERMUTATIONS = 4000


def p_values(one: pl.DataFrame, two: pl.DataFrame, seed: int = 0) -> dict[str, float]:
    """Return two p-values of the hypothesis that both engines draw each prompt's rewards from one distribution.

    `one` and `two` have `prompt_id` and `reward`, as many rows of each prompt. Under the hypothesis it does not matter
    which engine a reward of a prompt came from, so rewards are dealt anew within each prompt, exactly as likely. `mean`
    looks at the difference of the mean rewards, `groups` at the sum over prompts of the squared differences of
    group means, which also sees completions that were given to the wrong prompt.
    """
    rewards_P_2_G = np.stack([_groups(one), _groups(two)], axis=1)
    prompts, _, size = rewards_P_2_G.shape
    pooled_P_R = rewards_P_2_G.reshape(prompts, 2 * size)
    random = np.random.default_rng(seed)
    seen = _statistics(pooled_P_R, size)
    dealt = np.array([_statistics(random.permuted(pooled_P_R, axis=1), size) for _ in range(PERMUTATIONS)])
    at_least = (dealt >= seen - 1e-12).sum(axis=0) + 1
    return dict(zip(("mean", "groups"), at_least / (PERMUTATIONS + 1), strict=True))


def agree(one: pl.DataFrame, two: pl.DataFrame) -> bool:
    """Whether neither test rejects, at 1 % for both together (Bonferroni)."""
    return min(p_values(one, two).values()) >= LEVEL / 2


def _groups(rewards: pl.DataFrame) -> np.ndarray:
    grouped = rewards.group_by("prompt_id").agg("reward").sort("prompt_id")
    return np.array(grouped["reward"].to_list(), dtype=float)


def _statistics(pooled_P_R: np.ndarray, size: int) -> np.ndarray:
    difference_P = pooled_P_R[:, :size].mean(axis=1) - pooled_P_R[:, size:].mean(axis=1)
    return np.array([abs(difference_P.sum()), (difference_P**2).sum()])
