"""Reward functions as TRL's documentation has them, unchanged: the same rewards in `find` and for the trainer."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from learnable.data.policies import find_policy
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings
from learnable.rollouts.scripted import ScriptedEngine
from learnable.train import rewards
from learnable.verifiers.pool.scoring import ScoringPool
from tests.cli.files_for_tests import Run
from tests.faults.stores_for_tests import rollouts, scores

# What `GRPOTrainer` takes, as its documentation writes it: words counted and read, columns, chats, and async ones.
FUNCTIONS = r'''
import asyncio
import re


def by_tokens(completion_ids, **kwargs):
    """Reward longer completions, in tokens."""
    return [float(len(ids)) for ids in completion_ids]


def by_characters(completions, **kwargs):
    """Reward longer completions, in characters."""
    return [float(len(completion)) for completion in completions]


def by_reference(completions, ground_truth, **kwargs):
    matches = [re.search(r"\\boxed\{(.*?)\}", completion) for completion in completions]
    contents = [match.group(1) if match else "" for match in matches]
    return [1.0 if c == gt else 0.0 for c, gt in zip(contents, ground_truth)]


def by_format(completions, **kwargs):
    completion_contents = [completion[0]["content"] for completion in completions]
    matches = [re.match(r"^<answer>.*?</answer>$", content) for content in completion_contents]
    return [1.0 if match else 0.0 for match in matches]


def by_task(prompts, completions, task, **kwargs):
    return [1.0 if str(len(p)) in c else -1.0 for p, c, t in zip(prompts, completions, task) if t == "sum"]


async def later(prompts, completions, **kwargs):
    await asyncio.sleep(0.01)
    return [1.0 if "boxed" in completion else 0.0 for completion in completions]
'''
TEXTS = [f"question {index}" for index in range(10, 18)]
ANSWERS = [r"It is \boxed{11}.", r"\boxed{12} then", "11 it is", "no", "<answer>11</answer>"]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A working directory with the functions, questions, chats and a policy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "rewards.py").write_text(FUNCTIONS)
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "config.json").write_text("{}")
    (tmp_path / "policy" / "model.safetensors").write_bytes(b"weights")
    rows = [{"prompt": text, "ground_truth": "11", "task": "sum"} for text in TEXTS]
    chats = [{**row, "prompt": [{"role": "user", "content": row["prompt"]}]} for row in rows]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "chats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in chats))
    engine = ScriptedEngine(dict.fromkeys(TEXTS, ANSWERS))
    engine.policy_id = find_policy("policy").policy_id
    with use_engine(engine, CurateSettings(policy="policy")):
        yield tmp_path


def find(run: Run, prompts: str, *arguments: object) -> tuple[int, str, str]:
    return run(
        "find", "--policy", "policy", "--prompts", prompts, "--no-prefect", "--json", "--sampling", "fixed",
        "--group-size", 8, "--workers", 1, "--near-duplicates", 1, "--band", 0, 1, "--min-std", 0, "--test-share", 0,
        *arguments,
    )  # fmt: skip


def call_as_trl(columns: dict[str, list[Any]], completions: list[str], tokens: list[int]) -> list[float | None]:
    """Call our reward function as `GRPOTrainer._calculate_rewards` does."""
    chats = [not isinstance(prompt, str) for prompt in columns["prompt"]]
    given = {name: values for name, values in columns.items() if name not in ("prompt", "completion", "completion_ids")}
    return rewards.verifier_reward(
        prompts=columns["prompt"],
        completions=[
            [{"role": "assistant", "content": text}] if chat else text
            for text, chat in zip(completions, chats, strict=True)
        ],
        completion_ids=[list(range(count)) for count in tokens],
        trainer_state=None,
        log_extra=lambda *_: None,
        log_metric=lambda *_: None,
        **given,
    )


def call_itself(folder: Path, name: str, columns: dict[str, list[Any]], completions: list[str]) -> list[float]:
    """Call the user's function with strings, as its documentation does."""
    spec = importlib.util.spec_from_file_location("reward_file_itself", folder / "rewards.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: list[float] = getattr(module, name)(
        prompts=columns["prompt"], completions=completions, ground_truth=["11"] * len(completions), trainer_state=None
    )
    return found


@pytest.mark.parametrize(
    ("function", "prompts", "reward_range"),
    [
        ("by_tokens", "texts.jsonl", (0, 4)),
        ("by_characters", "texts.jsonl", (0, 40)),
        ("by_reference", "texts.jsonl", None),
        ("by_task", "texts.jsonl", (-1, 1)),
        ("later", "texts.jsonl", None),
        ("by_format", "chats.jsonl", None),
    ],
)
def test_the_documentations_functions_reward_alike_in_find_and_for_the_trainer(
    run: Run,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    prompts: str,
    reward_range: tuple[int, int] | None,
) -> None:
    stated = ("--verifier-range", f"{reward_range[0]}..{reward_range[1]}") if reward_range else ()
    status, out, err = find(run, prompts, "--verifier", f"rewards.py:{function}", *stated)
    assert status == 0, err
    [shard] = (folder / json.loads(out)["curated"]).glob("train-*.parquet")
    rows = pl.read_parquet(shard)
    store = folder / "learnable-store"
    drawn = rollouts(store).select("rollout_id", "completion", "num_tokens")
    judged = scores(store).select("rollout_id", "prompt_id", "reward").join(drawn, on="rollout_id")
    whole = judged.join(rows, on="prompt_id", suffix="_of_row").sort("rollout_id")
    assert whole["reward"].n_unique() > 1
    columns = {name: whole[name].to_list() for name in rows.columns}
    completions, tokens = whole["completion"].to_list(), whole["num_tokens"].to_list()
    with ScoringPool(1) as pool:
        monkeypatch.setattr(rewards, "open_scoring_pool", lambda: pool)
        assert call_as_trl(columns, completions, tokens) == whole["reward"].to_list()
    if function in ("by_characters", "by_reference"):
        lowest, highest = reward_range or (0, 1)
        raw = call_itself(folder, function, columns, completions)
        assert [(value - lowest) / (highest - lowest) for value in raw] == whole["reward"].to_list()


def test_a_reward_outside_the_stated_range_stops_the_run_with_its_value(run: Run, folder: Path) -> None:
    status, _, err = find(run, "texts.jsonl", "--verifier", "rewards.py:by_characters")
    assert status == 2
    assert "is outside [0, 1]: --verifier-range LOW..HIGH says where rewards lie" in err


def test_a_stated_range_is_another_judge_and_pays_nothing(run: Run, folder: Path) -> None:
    for high in (40, 80):
        judge = ("--verifier", "rewards.py:by_characters", "--verifier-range", f"0..{high}", "--verifier-pass", 16)
        assert find(run, "texts.jsonl", *judge)[0] == 0
    judged = scores(folder / "learnable-store")
    assert rollouts(folder / "learnable-store").height == 8 * len(TEXTS)
    high, low = (
        part.sort("rollout_id") for _, part in judged.sort("verifier").group_by("verifier", maintain_order=True)
    )
    assert (high["reward"] == 2 * low["reward"]).all()
    assert high["passed"].to_list() == low["passed"].to_list()
    assert high["reason"].to_list() == low["reason"].to_list()
    assert all(reason.startswith("raw ") for reason in high["reason"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--verifier-range", "0..2"), "--verifier-range and --verifier-pass are for the judge that --verifier names"),
        (("--verifier", "number", "--verifier-range", "0..2"), "'number' is a verifier of ours"),
        (("--verifier", "rewards.py:later", "--verifier-range", "2"), "'2' is no range of rewards: write LOW..HIGH"),
        (("--verifier", "rewards.py:later", "--verifier-pass", "2"), "a reward of 2 is to pass, which is outside 0..1"),
        (("--verifier", "rewards.py:by_refrence"), "did you mean by_reference?"),
    ],
)
def test_flags_that_cannot_work_are_named(run: Run, folder: Path, arguments: tuple[str, ...], message: str) -> None:
    status, _, err = find(run, "texts.jsonl", *arguments)
    assert status == 2
    assert message in err


def test_a_row_without_the_column_is_named(run: Run, folder: Path) -> None:
    (folder / "texts.jsonl").write_text(json.dumps({"prompt": TEXTS[0], "answer": 11}) + "\n")
    status, _, err = find(run, "texts.jsonl", "--verifier", "rewards.py:by_reference")
    assert status == 2
    assert "texts.jsonl, line 1: verifier 'rewards.py:by_reference' needs the column 'ground_truth'" in err


def test_verify_judges_a_file_with_a_range(run: Run, folder: Path) -> None:
    rows = [{"completion": text, "prompt": "?"} for text in ("four", "x" * 41)]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = ("--verifier", "rewards.py:by_characters", "--verifier-range", "0..40", "--verifier-pass", 4)
    assert run("verify", *judge, "--input", "in.jsonl", "--output", "out.jsonl", "--workers", 0)[0] == 0
    found = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [(row["reward"], row["passed"], row["verdict"]) for row in found] == [
        (0.1, True, "scored"), (None, None, "verifier_error"),
    ]  # fmt: skip


def test_a_new_verifier_is_written_tested_and_used(run: Run, folder: Path) -> None:
    status, out, _ = run("new-verifier", "my_own", "--json")
    assert status == 0
    said = json.loads(out)
    assert said["files"] == ["my_own.py", "my_own_golden.jsonl", "test_my_own.py"]
    tested, used = said["next"]
    assert tested == "pytest test_my_own.py"
    assert used == "find-learnable --prompts questions.jsonl --verifier my_own.py:score"
    command = [sys.executable, "-m", *tested.split(), "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    (folder / "questions.jsonl").write_text(
        "".join(json.dumps({"prompt": text, "answer": 11}) + "\n" for text in TEXTS)
    )
    status, out, err = find(run, "questions.jsonl", *used.split()[3:])
    assert status == 0, err
    assert json.loads(out)["totals"]["errors"] == 0
    assert set(scores(folder / "learnable-store")["reward"]) == {0.0, 1.0}
    status, _, err = run("new-verifier", "my_own")
    assert status == 2
    assert "'my_own.py' is there already, and is not overwritten" in err
