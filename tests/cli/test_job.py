"""`learnable train --pool` without an engine: the plan that it prints, and what cannot work."""

from __future__ import annotations

import json

import pytest

from tests.cli.files_for_tests import Run


def test_a_plan_says_what_is_looked_for_and_what_it_takes(run: Run) -> None:
    """60 steps of 8 prompts visit 120 prompts four times each."""
    plain = ("train", "--family", "arithmetic", "--explain", "--json")
    status, out, err = run(*plain)
    assert status == 0, err
    plan = json.loads(out)
    assert plan["want"] == 120
    assert plan["training"] == 60 * 128
    assert plan["pilot"] < plan["finding"] < plan["training"]
    assert not plan["advice"]
    assert plan["is_bound"], "an empty store says nothing of their length"
    assert plan["tokens"]["training"] == plan["training"] * 256
    short = json.loads(run(*plain, "--steps", 2)[1])
    assert short["want"] == 8
    assert short["advice"].startswith("finding 8 prompts one by one cannot pay")
    assert "Plain GRPO" in short["advice"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to train on is named: give --curated SET"),
        (["--pool", "x.jsonl", "--curated", "s"], "leave out --curated"),
        (["--pool", "x.jsonl", "--part", "train"], "--part and --resume are for a curated set"),
        (["--pool", "missing.jsonl"], "'missing.jsonl' does not exist"),
        (["--form", "additon"], "did you mean 'Addition'"),
        (["--form", "haiku", "--method", "sft"], "--method sft needs a curated set"),
        (["--form", "haiku", "--eval-group-size", "4"], "--eval-k 8 needs as many completions a prompt"),
        (["--form", "haiku", "--cron", "0 3 * * *"], "are for a curated set"),
    ],
)
def test_what_cannot_work_is_told_before_anything_is_paid(run: Run, arguments: list[str], message: str) -> None:
    status, out, err = run("train", *arguments)
    assert status == 2
    assert message in err
    assert not out
