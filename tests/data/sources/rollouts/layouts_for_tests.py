"""One file of rollouts in the layout of each program that writes them, as read in its source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

Outcomes = list[list[bool]]  # by question and rollout
MODEL = "org/model"


def answer(question: int, *, right: bool) -> str:
    return f"The answer is {question + (1 if right else 2)}."


def ask(question: int) -> str:
    return f"What is {question} + 1?"


def write_gym(folder: Path, outcomes: Outcomes) -> Path:
    """NVIDIA-NeMo/Gym, environments/*/data/example_rollouts.jsonl: keys as there."""
    return _write_lines(
        folder / "rollouts.jsonl",
        [
            {
                "_ng_task_index": question,
                "_ng_rollout_index": number,
                "agent_ref": {"name": "simple_agent"},
                "responses_create_params": {"input": [{"role": "user", "content": ask(question), "type": "message"}]},
                "response": {
                    "id": f"resp_{question}_{number}",
                    "model": MODEL,
                    "incomplete_details": None,
                    "output": [
                        {"type": "reasoning", "id": "rs_1", "summary": []},
                        {
                            "type": "message",
                            "role": "assistant",
                            "content": [{"type": "output_text", "text": answer(question, right=right)}],
                        },
                    ],
                    "usage": {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14},
                },
                "reward": float(right),
                "expected_answer": str(question + 1),
                "extracted_answer": str(number),
            }
            for question, group in enumerate(outcomes)
            for number, right in enumerate(group)
        ],
    )


def write_traces(folder: Path, outcomes: Outcomes) -> Path:
    """PrimeIntellect-ai/verifiers, verifiers/v1/cli/output.py: an episode a line, with its traces (trace.py)."""
    return _write_lines(
        folder / "traces.jsonl",
        [
            {
                "id": f"e{question}-{number}",
                "env": {"id": "sums"},
                "traces": [
                    {
                        "id": f"t{question}-{number}",
                        "task": {"type": "SumTask", "data": {"idx": question, "answer": str(question + 1)}},
                        "nodes": [
                            {"message": {"role": "user", "content": ask(question)}, "sampled": False},
                            {
                                "parent": 0,
                                "sampled": True,
                                "message": {"role": "assistant", "content": answer(question, right=right)},
                            },
                        ],
                        "calls": [
                            {
                                "node": 1,
                                "model": MODEL,
                                "finish_reason": "stop",
                                "usage": {"prompt_tokens": 9, "completion_tokens": 5},
                            }
                        ],
                        "rewards": {"correct": {"score": float(right), "weight": 1.0}},
                        "ok": True,
                    }
                ],
            }
            for question, group in enumerate(outcomes)
            for number, right in enumerate(group)
        ],
    )


def write_rllm(folder: Path, outcomes: Outcomes) -> Path:
    """rllm-org/rllm, rllm/eval/results.py (`save`) and rllm/eval/episode_store.py."""
    attempts = len(outcomes[0])
    items = []
    (folder / "episodes").mkdir(parents=True)
    for question, group in enumerate(outcomes):
        for number, right in enumerate(group):
            chat = [
                {"role": "user", "content": ask(question)},
                {"role": "assistant", "content": answer(question, right=right)},
            ]
            episode = {
                "task": {"question": ask(question), "ground_truth": str(question + 1)},
                "trajectories": [{"name": "solver", "steps": [{"chat_completions": chat}]}],
            }
            name = f"episode_{question * attempts + number:06d}_task{question}.json"
            (folder / "episodes" / name).write_text(json.dumps(episode))
            items.append(
                {
                    "idx": question,
                    "attempt": number,
                    "reward": float(right),
                    "is_correct": right,
                    "error": None,
                    "signals": {"accuracy": float(right)},
                }
            )
    whole = {"dataset_name": "sums", "model": MODEL, "agent": "a", "attempts": attempts, "items": items}
    (folder / "results.json").write_text(json.dumps(whole | {"pass_at": {"1": 0.5}, "signal_averages": {}}))
    return folder / "results.json"


def write_trl(folder: Path, outcomes: Outcomes) -> Path:
    """huggingface/trl, trl/trainer/grpo_trainer.py (`log`): a column for each reward function."""
    rows = [
        {
            "step": 1,
            "prompt": [{"role": "user", "content": ask(question)}],
            "completion": [{"role": "assistant", "content": answer(question, right=right)}],
            "accuracy_reward": float(right),
            "advantage": 0.5,
        }
        for question, group in enumerate(outcomes)
        for right in group
    ]
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows).write_parquet(folder / "completions_00001.parquet")
    return folder / "completions_00001.parquet"


def write_samples(folder: Path, outcomes: Outcomes) -> Path:
    """EleutherAI/lm-evaluation-harness, lm_eval/loggers/evaluation_tracker.py: each filter has a row of its own."""
    return _write_lines(
        folder / "samples_sums_2026-08-01T00-00-00.000000.jsonl",
        [
            {
                "doc_id": question,
                "doc": {"question": ask(question), "repeat": number},
                "target": str(question + 1),
                "arguments": {"gen_args_0": {"arg_0": ask(question), "arg_1": {"until": ["\n"]}}},
                "resps": [[answer(question, right=right)]],
                "filtered_resps": [answer(question, right=right)],
                "filter": name,
                "metrics": ["exact_match"],
                "doc_hash": f"{question}-{number}",
                "prompt_hash": f"{question}",
                "exact_match": float(right if name == "strict-match" else not right),
            }
            for name in ("strict-match", "flexible-extract")
            for question, group in enumerate(outcomes)
            for number, right in enumerate(group)
        ],
    )


def write_plain(folder: Path, outcomes: Outcomes) -> Path:
    """Our own lines."""
    return _write_lines(
        folder / "lines.jsonl",
        [
            {
                "prompt": ask(question),
                "completion": answer(question, right=right),
                "reward": float(right),
                "answer": question + 1,
                "model": MODEL,
            }
            for question, group in enumerate(outcomes)
            for right in group
        ],
    )


WRITERS = {
    "nemo-gym": write_gym,
    "verifiers": write_traces,
    "rllm": write_rllm,
    "trl": write_trl,
    "lm-eval": write_samples,
    "plain": write_plain,
}


def _write_lines(file: Path, rows: list[dict[str, Any]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file
