"""Records to Arrow columns and Parquet files; files appear whole or not at all."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
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
    """Return one row a rollout, its key among the columns."""
    return pa.Table.from_pylist([asdict(r) | {"rollout_id": r.rollout_id} for r in rollouts], schema=ROLLOUTS)


def scores_table(rows: Iterable[tuple[str, str, str, Score]]) -> pa.Table:
    """Return one row a score, from tuples of rollout id, verifier name, verifier version and score."""
    return pa.Table.from_pylist(
        [
            {
                "rollout_id": rollout_id,
                "verifier": verifier,
                "verifier_version": version,
                "reward": score.reward,
                "passed": score.passed,
                "components": list(score.components.items()),
                "verdict": score.verdict,
                "reason": score.reason,
            }
            for rollout_id, verifier, version, score in rows
        ],
        schema=SCORES,
    )


def write_parquet(table: pa.Table, path: Path) -> str:
    """Write `table` so that `path` holds all of it or does not exist; return the SHA-256 of the file."""
    write_whole(path, lambda partial: pq.write_table(table, partial, compression="zstd"))
    return hash_file(path)


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path`, make it durable, then rename it into place.

    Raises `LearnableError` naming the path when the folder cannot be written or the disk is full.
    """
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise LearnableError(
            f"cannot write {str(path)!r}: {error.strerror or error}; choose another --store"
        ) from error
    finally:
        partial.unlink(missing_ok=True)


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
