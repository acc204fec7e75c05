"""Batches without groups that are all alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.lift.refilled import TRIES, Refiller

SIZE = 4


def make_trainer(rows: Sequence[dict[str, Any]]) -> Any:
    """Return what TRL's trainer does with a batch: generate, score, return both. A row with spread has a 1 among 0s."""

    def generate(prompts: Sequence[dict[str, Any]]) -> tuple[list[list[int]], None]:
        trainer.requested += len(prompts)
        return [[row["number"], place % SIZE] for place, row in enumerate(prompts)], None

    def score(inputs: Sequence[dict[str, Any]]) -> Any:
        import torch

        return torch.tensor([[float(row["differs"] and not place % SIZE)] for place, row in enumerate(inputs)])

    def make_batch(inputs: Sequence[dict[str, Any]]) -> Any:
        completions, _ = trainer._generate_single_turn(inputs)
        return list(inputs), completions, trainer._calculate_rewards(inputs)

    trainer = SimpleNamespace(num_generations=SIZE, train_dataset=list(rows), requested=0)
    trainer._generate_and_score_completions = make_batch
    trainer._generate_single_turn, trainer._calculate_rewards = generate, score
    return trainer


def test_groups_that_are_all_alike_are_replaced_and_counted(tmp_path: Path) -> None:
    rows = [{"number": number, "differs": number % 4 == 0} for number in range(40)]
    trainer = make_trainer(rows)
    Refiller(trainer, file := tmp_path / "generated.jsonl", seed=0)
    given = [row for row in rows[:3] for _ in range(SIZE)]
    inputs, completions, rewards = trainer._generate_and_score_completions(given)
    assert len(inputs) == len(completions) == 3 * SIZE
    assert all(row["differs"] for row in inputs)
    assert [completion[0] for completion in completions] == [row["number"] for row in inputs]
    assert (rewards.view(-1, SIZE).std(dim=1) > 0).all()
    told = json.loads(file.read_text())
    assert told == {"completions": trainer.requested, "tokens": 2 * trainer.requested}
    assert trainer.requested > 3 * SIZE


def test_a_batch_that_is_full_at_once_is_taken_as_it_is(tmp_path: Path) -> None:
    rows = [{"number": number, "differs": True} for number in range(8)]
    trainer = make_trainer(rows)
    Refiller(trainer, tmp_path / "generated.jsonl", seed=0)
    inputs, _, _ = trainer._generate_and_score_completions([row for row in rows[:2] for _ in range(SIZE)])
    assert [row["number"] for row in inputs[::SIZE]] == [0, 1]
    assert trainer.requested == 2 * SIZE


def test_a_pool_of_groups_that_are_all_alike_ends_the_search(tmp_path: Path) -> None:
    rows = [{"number": number, "differs": False} for number in range(8)]
    trainer = make_trainer(rows)
    Refiller(trainer, tmp_path / "generated.jsonl", seed=0)
    inputs, _, _ = trainer._generate_and_score_completions([row for row in rows[:2] for _ in range(SIZE)])
    assert len(inputs) == 2 * SIZE
    assert trainer.requested == TRIES * 2 * SIZE
