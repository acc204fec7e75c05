"""Records to Arrow columns and Parquet files."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt, Rollout, Score, message_list
from learnable.data.schemas import CHAT_PROMPT, ROLLOUTS, SCORES, TEXT_PROMPT, prompts_schema


def prompts_table(prompts: Sequence[Prompt]) -> pa.Table:
    """Return one row a prompt. Raises `LearnableError` when text and chat prompts are mixed: one column, one type."""
    chats = [not isinstance(prompt.prompt, str) for prompt in prompts]
    if any(chats) and not all(chats):
        raise LearnableError(
            "text prompts and chat prompts cannot share one curated set, since a Parquet column has one type: "
            "curate them in two runs with two --name"
        )
    rows = [_prompt_row(prompt) for prompt in prompts]
    return pa.Table.from_pylist(rows, schema=prompts_schema(CHAT_PROMPT if any(chats) else TEXT_PROMPT))


def rollouts_table(rollouts: Iterable[Rollout]) -> pa.Table:
    """Return one row a rollout, its key and its answer's among the columns."""
    rows = [asdict(r) | {"rollout_id": r.rollout_id, "completion_id": r.completion_id} for r in rollouts]
    return pa.Table.from_pylist(rows, schema=ROLLOUTS)


def scores_table(rows: Iterable[tuple[Rollout, Score]], verifier: str, version: str) -> pa.Table:
    """Return one row a score by one verifier."""
    return pa.Table.from_pylist(
        [
            {
                "rollout_id": rollout.rollout_id,
                "completion_id": rollout.completion_id,
                "prompt_id": rollout.prompt_id,
                "verifier": verifier,
                "verifier_version": version,
                "reward": score.reward,
                "passed": score.passed,
                "components": list(score.components.items()),
                "verdict": score.verdict,
                "reason": score.reason,
            }
            for rollout, score in rows
        ],
        schema=SCORES,
    )


def parquet_bytes(table: pa.Table) -> bytes:
    """Return the table as a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _prompt_row(prompt: Prompt) -> dict[str, object]:
    return {
        "prompt": message_list(prompt.prompt),
        "prompt_id": prompt.prompt_id,
        "verifier": prompt.verifier,
        "spec": prompt.spec_json,
        "family": prompt.family,
        "form": prompt.form,
        "difficulty": prompt.difficulty,
        "source": prompt.source,
        "split": prompt.split,
    }
