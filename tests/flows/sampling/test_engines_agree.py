"""vLLM in process, vLLM's own server and replicas on a Ray cluster draw from one distribution."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from learnable.verifiers.families.prompts import builtin_prompts
from tests.flows.sampling.agreement_for_tests import agree
from tests.rollouts.ray.ray_cluster_for_tests import ray_cluster
from tests.rollouts.server.servers_for_tests import VLLMServer
from tests.support.warm_starts import Starter

PROMPTS = 64


def simulated(shift: float = 0.0, seed: int = 1) -> pl.DataFrame:
    """Sixteen coins a prompt, with rates that differ by prompt."""
    random = np.random.default_rng(seed)
    rates = np.clip(np.linspace(0.05, 0.95, PROMPTS) + shift, 0, 1)
    rewards = (random.random((PROMPTS, 16)) < rates[:, None]).astype(float)
    return pl.DataFrame({"prompt_id": np.repeat(np.arange(PROMPTS), 16), "reward": rewards.ravel()})


def test_the_agreement_test_can_fail() -> None:
    """It lets equal engines pass, and sees a shift of the mean and groups that went to other prompts."""
    passed = sum(agree(simulated(seed=2 * i), simulated(seed=2 * i + 1)) for i in range(20))
    assert passed >= 18
    assert not agree(simulated(), simulated(shift=0.12, seed=2))
    mixed = simulated(seed=2).with_columns(pl.col("prompt_id").reverse())
    assert not agree(simulated(), mixed)


class Workplace:
    """One file of prompts, and a store for each engine."""

    def __init__(self, folder: Path, starter: Starter) -> None:
        self.folder, self.starter = folder, starter
        prompts = builtin_prompts(families=("arithmetic", "comparison"), limit=PROMPTS)
        rows = [{"prompt": p.text, "verifier": p.verifier, "spec": dict(p.spec), "form": p.form} for p in prompts]
        (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def rewards(self, engine: str, seed: int, *options: str) -> pl.DataFrame:
        """Run `find-learnable` with this engine and return what the ledger then holds: a reward a rollout."""
        command = [sys.executable, "-m", "learnable", "find", "--prompts", "prompts.jsonl", "--store", engine, "--json"]
        command += [
            "--no-prefect",
            "--sampling",
            "fixed",
            "--engine",
            engine,
            "--seed",
            str(seed),
            "--max-tokens",
            "32",
            *options,
        ]
        home = {"HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}
        environment = os.environ | home
        if engine == "ray":  # it reads the cluster's variables while it is imported, so it starts cold
            done: Any = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
            )
        else:
            done = self.starter.run(command, cwd=self.folder, env=environment)
        assert done.returncode == 0, done.stderr[-3000:]
        report = json.loads(done.stdout)
        assert report["totals"]["generated"] == PROMPTS * 16
        assert report["totals"]["errors"] == 0
        scores = pl.concat([pl.read_parquet(file) for file in (self.folder / engine).glob("scores/**/*.parquet")])
        assert scores.height == PROMPTS * 16
        return scores.select("prompt_id", "reward")


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory, starter: Starter) -> Workplace:
    return Workplace(tmp_path_factory.mktemp("engines"), starter)


@pytest.fixture(scope="module")
def in_process(workplace: Workplace) -> pl.DataFrame:
    rewards = workplace.rewards("vllm", 1)
    assert 0.1 < rewards["reward"].mean() < 0.9  # or agreement would say nothing
    return rewards


@pytest.mark.e2e
def test_the_server_agrees_with_vllm_in_process(workplace: Workplace, in_process: pl.DataFrame) -> None:
    with VLLMServer(workplace.starter) as server:
        served = workplace.rewards("server", 2, "--base-url", server.url)
    assert agree(in_process, served)


@pytest.mark.e2e
def test_ray_replicas_agree_with_vllm_in_process(workplace: Workplace, in_process: pl.DataFrame) -> None:
    with ray_cluster() as cluster:
        replicated = workplace.rewards("ray", 3, "--ray-address", cluster.address, "--replicas", "2")
    assert agree(in_process, replicated)
