"""Trainings whose completions are the same in any number of processes: a function of prompt, batch and place in group.

    python -m tests.train.trainers.scripted_rollouts_for_tests FILE.json

The file lists settings files, trained one after another. Each process writes which prompts it was given, batch by
batch, to `prompts-RANK.json` in the run's folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from learnable.train.child import OnEvent, serve
from learnable.train.preflight.resolution import TrainingRun
from learnable.train.trainers.grpo import make_trainer
from learnable.train.trainers.trainer import run_trainer

END, ONE, TWO = 2, 5, 6  # tokens of the tiny policy


def main(path: Path, emit: OnEvent) -> None:
    for file in json.loads(path.read_text(encoding="utf-8")):
        run_trainer(Path(file), make_scripted, emit)


def make_scripted(run: TrainingRun) -> Any:
    trainer = make_trainer(run)
    rank = trainer.accelerator.process_index
    batches: list[list[list[int]]] = []

    def generate(prompts: Sequence[Sequence[int]], *rest: Any) -> tuple[list[list[int]], None]:
        batches.append([list(prompt) for prompt in prompts])
        (run.settings.folder / f"prompts-{rank}.json").write_text(json.dumps(batches), encoding="utf-8")
        first = rank * len(prompts)
        return [
            complete(prompt, len(batches), (first + place) % trainer.num_generations)
            for place, prompt in enumerate(prompts)
        ], None

    trainer._generate_single_turn = generate
    return trainer


def complete(prompt: Sequence[int], batch: int, place: int) -> list[int]:
    """Return tokens: the right answer always where a prompt begins with 11, else one time in two."""
    digits = [token for token in prompt if token in (ONE, TWO)]
    if digits[:2] == [ONE, ONE]:
        return [ONE, END]
    rng = np.random.default_rng([batch, place, *prompt])
    return [int(token) for token in rng.choice([ONE, TWO], rng.integers(1, 3))] + [END]


if __name__ == "__main__":
    sys.exit(serve(main, sys.argv[1:]))
