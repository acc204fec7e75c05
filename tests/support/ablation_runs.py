"""Folders of training runs as the stage leaves them, written by hand: what an ablation reads of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from learnable.train.ablation.planning import Ablation, Variant
from learnable.train.ablation.preparing import AblationRun, PreparedAblation, find_state
from learnable.train.results.evaluation import PromptResult
from learnable.train.settings import TrainSettings

Rewards = Mapping[str, float]  # mean reward of each held-out prompt, by its id


def make_prepared(
    folder: Path, names: Sequence[str], seeds: Sequence[int] = (0, 1, 2), *, steps: int = 4, **changes: Any
) -> PreparedAblation:
    """Return an ablation whose variants share the prompts a and b; it needs no curated set."""
    settings = TrainSettings("set", "", steps=steps, batch_size=32, eval_group_size=4, eval_k=2, **changes)
    variants = tuple(Variant(name, settings, {"sampler": "live"} if place else {}) for place, name in enumerate(names))
    runs = []
    for seed in seeds:
        for variant in variants:
            own = replace(settings, seed=seed, output=str(folder / f"{variant.folder}-seed-{seed}"))
            runs.append(AblationRun(variant, seed, own, find_state(own)))
    ablation = Ablation("mine", "A title", variants, tuple(seeds), steps)
    return PreparedAblation(ablation, folder, tuple(runs), frozenset("ab"), dict.fromkeys(names, 2))


def write_run(
    settings: TrainSettings,
    before: Rewards,
    after: Rewards,
    metrics: Sequence[Mapping[str, float]] = (),
) -> None:
    """Write what a finished run leaves. `metrics` are the lines of its steps; a reward of 1 is a pass of all four."""
    folder = settings.folder
    settings.write(folder / "settings.json")
    for name, rewards in (("before", before), ("after", after)):
        prompts = [asdict(_result(prompt_id, reward)) for prompt_id, reward in rewards.items()]
        values = {"policy_id": "p", "prompts": prompts, "tokens": 0, "seconds": 0.0}
        (folder / f"{name}.json").write_text(json.dumps(values))
    lines = [{"step": step, **values} for step, values in enumerate(metrics, 1)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "report.json").write_text(json.dumps({"settings": settings.as_json()}))


def _result(prompt_id: str, reward: float) -> PromptResult:
    passes = round(4 * reward)
    return PromptResult(prompt_id, "f", "F", 4, passes, reward, 0, greedy=float(reward > 0.5), greedy_passed=None)
