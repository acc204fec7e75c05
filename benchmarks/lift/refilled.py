"""GRPO that drops groups without spread and generates others until a batch is full: dynamic sampling, as in DAPO.

Yu and others, "DAPO: an open-source LLM reinforcement learning system at scale" (2025), 3.2. TRL has none, so methods
of the trainer object are replaced. Metrics of a step are means over its batches; `FILE` says how much it generated.

    python -m benchmarks.lift.refilled SETTINGS.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from learnable.train.child import OnEvent, serve
from learnable.train.preflight.resolution import TrainingRun
from learnable.train.trainers import grpo
from learnable.train.trainers.trainer import run_trainer

FILE = "generated.jsonl"  # a line a step: completions and tokens
TRIES = 10  # batches that a step generates at most, as in DAPO's own runs


class Refiller:
    """Makes the batches of a trainer on one process of groups that have spread."""

    def __init__(self, trainer: Any, file: Path, seed: int) -> None:
        self.trainer, self.file = trainer, file
        self.size: int = trainer.num_generations
        self.rows = self._walk(np.random.default_rng(seed))
        self.replayed: list[list[int]] | None = None
        self.completions: list[list[int]] = []
        self.rewards: Any = None
        self.make_batch = trainer._generate_and_score_completions
        self.generate, self.score = trainer._generate_single_turn, trainer._calculate_rewards
        trainer._generate_and_score_completions = self.make_full_batch
        trainer._generate_single_turn = self._generate
        trainer._calculate_rewards = self._score

    def make_full_batch(self, inputs: Sequence[Mapping[str, Any]]) -> Any:
        """Return TRL's batch of as many groups as `inputs` has, all with spread where so many were found."""
        rows, wanted = list(inputs[:: self.size]), len(inputs) // self.size
        found: list[tuple[Mapping[str, Any], list[list[int]]]] = []
        completions = tokens = 0
        for _ in range(TRIES):
            batch = self.make_batch(self._repeat(rows))
            completions += len(self.completions)
            tokens += sum(map(len, self.completions))
            groups = list(zip(rows, self._split(), self._find_differing(), strict=True))
            found += [(row, group) for row, group, differs in groups if differs]
            if len(found) >= wanted:
                break
            rows = [next(self.rows) for _ in range(wanted)]
        if found and found[:wanted] != [(row, group) for row, group, _ in groups]:
            chosen = (found * wanted)[:wanted]
            self.replayed = [completion for _, group in chosen for completion in group]
            batch = self.make_batch(self._repeat([row for row, _ in chosen]))
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"completions": completions, "tokens": tokens}) + "\n")
        return batch

    def _generate(self, *arguments: Any, **options: Any) -> Any:
        if self.replayed is not None:
            self.completions, self.replayed = self.replayed, None
            return self.completions, None
        made = self.generate(*arguments, **options)
        self.completions = made[0]
        return made

    def _score(self, *arguments: Any) -> Any:
        self.rewards = self.score(*arguments)
        return self.rewards

    def _repeat(self, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [row for row in rows for _ in range(self.size)]

    def _split(self) -> list[list[list[int]]]:
        return [self.completions[start : start + self.size] for start in range(0, len(self.completions), self.size)]

    def _find_differing(self) -> list[bool]:
        sums = self.rewards.nansum(dim=1).view(-1, self.size)
        return [bool(differs) for differs in sums.std(dim=1) > 1e-6]

    def _walk(self, rng: np.random.Generator) -> Iterator[Mapping[str, Any]]:
        data = self.trainer.train_dataset
        while True:
            yield from (data[int(row)] for row in rng.permutation(len(data)))


def make_trainer(run: TrainingRun) -> Any:
    """Build the trainer of the GRPO stage, and have it refill its batches."""
    trainer = grpo.make_trainer(run)
    Refiller(trainer, run.settings.folder / FILE, run.settings.seed)
    return trainer


def main(path: Path, emit: OnEvent) -> None:
    """Train as the settings file says."""
    run_trainer(path, make_trainer, emit)


if __name__ == "__main__":
    sys.exit(serve(main, sys.argv[1:]))
