"""Two training processes take the same steps as one: with a copy each, as torchrun starts them, and with shards."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.train.child import run_stage
from learnable.train.monitor.records import read_metrics
from learnable.train.settings import TrainSettings
from tests.support.paths import ROOT

SAME = ("loss", "reward", "reward_std", "frac_reward_zero_std", "kl", "grad_norm", "completion_length")
SAME += ("within_group_std", "between_group_std", "zero_std_share")
SHARDS = str(ROOT / "train" / "accelerate_files" / "fsdp2-cpu.yaml")
STEPS = 8  # of two passes over each generated batch: in the second one losses are not those of equal policies


def train_both(processes: int, config: str, curated: Path, policy: Path, folder: Path) -> dict[str, Path]:
    """Train with either sampler in so many processes; return the folders by the sampler's name."""
    name = f"{processes}-shards" if config else str(processes)
    runs = {sampler: folder / f"{sampler}-{name}" for sampler in ("static", "live")}
    for sampler, output in runs.items():
        TrainSettings(
            curated=str(curated),
            output=str(output),
            policy=str(policy),
            sampler=sampler,  # type: ignore[arg-type]
            steps=STEPS,
            num_generations=8,
            batch_size=32,
            learning_rate=1e-2,
            num_processes=processes,
            accelerate_config=config,
            evaluate=False,
            trl={"num_iterations": 2},
        ).write(output / "settings.json")
    file = folder / f"runs-{name}.json"
    file.write_text(json.dumps([str(output / "settings.json") for output in runs.values()]))
    log = folder / f"{name}.log"
    try:
        module = "tests.train.trainers.scripted_rollouts_for_tests"
        run_stage(module, file, log, lambda event: None, processes=processes, accelerate_config=config)
    except LearnableError as error:
        pytest.fail(f"{error}\n{log.read_text()[-3000:]}")
    return runs


def read_prompts(folder: Path, processes: int) -> list[list[list[int]]]:
    """Return the prompts of each generated batch, in the order of the processes."""
    parts = [json.loads((folder / f"prompts-{rank}.json").read_text()) for rank in range(processes)]
    return [[row for rows in batch for row in rows] for batch in zip(*parts, strict=True)]


def read_steps(folder: Path) -> list[dict[str, float]]:
    """Return what was logged of each step; rewards and lengths are there where a batch was generated."""
    records = [record for record in read_metrics(folder / "metrics.jsonl") if record.read("loss") is not None]
    return [{name: value for name in SAME if (value := record.read(name)) is not None} for record in records]


@pytest.mark.e2e
@pytest.mark.usefixtures("_warm_stages")
def test_two_processes_draw_the_same_prompts_and_have_the_same_losses_as_one(
    tiny_policy: Path,
    make_curated: Any,
    prompts_of_ones: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # training processes look for no module in the working folder
    curated = make_curated(tiny_policy, train=prompts_of_ones(32))
    one, *others = (
        train_both(processes, config, curated, tiny_policy, tmp_path)
        for processes, config in ((1, ""), (2, ""), (2, SHARDS))
    )
    prompts = {sampler: read_prompts(folder, 1) for sampler, folder in one.items()}

    assert all(len(batches) == STEPS // 2 for batches in prompts.values())
    assert prompts["static"] != prompts["live"]
    for two, sampler in itertools.product(others, ("static", "live")):
        assert read_prompts(two[sampler], 2) == prompts[sampler], two[sampler]
        alone, together = read_steps(one[sampler]), read_steps(two[sampler])
        assert len(alone) == len(together) == STEPS
        for step, (mine, theirs) in enumerate(zip(alone, together, strict=True)):
            assert theirs == pytest.approx(mine, rel=1e-3, abs=1e-5), (two[sampler], step)
        assert set(alone[0]) == set(SAME)
        assert max(abs(metrics["loss"]) for metrics in alone) > 1e-3  # not all nothing
