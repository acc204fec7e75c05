"""Whether an engine samples the policy as vLLM in process does: a permutation test on what the command line stores."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import polars as pl

from learnable.verifiers.families.prompts import builtin_prompts
from tests.support.warm_starts import Starter

PROMPTS = 64
GROUP_SIZE = 16
LEVEL = 0.01
PERMUTATIONS = 1000


class Workplace:
    """One file of prompts, and a store for each engine."""

    def __init__(self, folder: Path, starter: Starter) -> None:
        self.folder, self._starter = folder, starter
        self.home = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
        prompts = builtin_prompts(families=("arithmetic", "comparison"), limit=PROMPTS)
        rows = [{"prompt": p.text, "verifier": p.verifier, "spec": dict(p.spec), "form": p.form} for p in prompts]
        (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def arguments(self, engine: str, seed: int, *options: str) -> list[str]:
        """Return the arguments of `learnable` that let this engine answer, in this folder."""
        return [
            "find", "--prompts", "prompts.jsonl", "--store", engine, "--json", "--quiet", "--no-prefect", "--sampling",
            "fixed", "--engine", engine, "--seed", str(seed), "--max-tokens", "32", *options,
        ]  # fmt: skip

    def rewards(self, engine: str, seed: int, *options: str) -> pl.DataFrame:
        """Run `learnable find` with this engine and return what the ledger then holds."""
        command = [sys.executable, "-m", "learnable", *self.arguments(engine, seed, *options)]
        done = self._starter.run(command, cwd=self.folder, env=os.environ | self.home)
        assert done.returncode == 0, done.stderr[-3000:]
        return self.stored_rewards(engine, done.stdout)

    def stored_rewards(self, engine: str, printed: str) -> pl.DataFrame:
        """Return a reward a rollout, once the command has `printed` its report."""
        report = json.loads(printed)
        assert report["totals"]["generated"] == PROMPTS * GROUP_SIZE
        assert report["totals"]["errors"] == 0
        scores = pl.concat([pl.read_parquet(file) for file in (self.folder / engine).glob("scores/**/*.parquet")])
        assert scores.height == PROMPTS * GROUP_SIZE
        return scores.select("prompt_id", "reward")


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
