"""Records as Arrow columns, and Parquet files of curated sets."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from learnable.data.errors import LearnableError
from learnable.data.plain_text import whole_characters
from learnable.data.progress import progress
from learnable.data.records import Message, Prompt, Rollout, Row, Score, canonical_json, message_list
from learnable.data.schemas import CHAT_PROMPT, OUR_COLUMNS, ROLLOUTS, SCORES, TEXT_PROMPT, prompts_schema

PROMPTS_AT_ONCE = 10_000  # that are objects while a table is made of them
ROWS_AT_ONCE = 100_000  # of a large frame that is written: as many as a shard has

# What `--json` calls columns that have another name in files.
JSON_NAMES = {
    "p_min_std": "p_spread",
    "pass_variance": "learnability",
    "expected_within_variance": "learnability_expected",
}


def prompts_table(prompts: Sequence[Prompt]) -> pa.Table:
    """Return one row per prompt. Raises `LearnableError` when text and chat prompts are mixed: one column, one type."""
    is_text = not len(prompts) or isinstance(prompts[0].prompt, str)
    schema = prompts_schema(TEXT_PROMPT if is_text else CHAT_PROMPT)
    parts = (prompts[first : first + PROMPTS_AT_ONCE] for first in range(0, len(prompts), PROMPTS_AT_ONCE))
    return pa.concat_tables([schema.empty_table(), *(_prompts_part(part, schema) for part in parts)])


def refuse_mixture(kinds: Collection[bool]) -> None:
    """Raise `LearnableError` where some of these are True and some are not, as it is of prompts that are text."""
    if len(set(kinds)) > 1:
        raise LearnableError(
            "text prompts and chat prompts cannot share one curated set, since a Parquet column has one type: "
            "curate them in two runs, each with a `name` of its own"
        )


def _prompts_part(prompts: Sequence[Prompt], schema: pa.Schema) -> pa.Table:
    refuse_mixture(
        {schema.field("prompt").type == TEXT_PROMPT, *(isinstance(prompt.prompt, str) for prompt in prompts)}
    )
    names = ("prompt_id", "problem_id", "verifier", "family", "form", "difficulty", "source", "split")
    columns = {name: [getattr(prompt, name) for prompt in prompts] for name in names}
    columns["prompt"] = [message_list(prompt.prompt) for prompt in prompts]
    columns["spec"] = [prompt.spec_json for prompt in prompts]
    return pa.table(columns, schema=schema)


def carried_table(prompts: Sequence[Prompt]) -> pa.Table:
    """Return one row per prompt: its id, and the other columns of the row that it was read from, under `carried_name`.

    A column whose values have no common Arrow type is written as text: what is no text as JSON, which is told.
    """
    names = dict.fromkeys(name for prompt in prompts for name in prompt.columns)
    columns = {carried_name(name): _column(name, [prompt.columns.get(name) for prompt in prompts]) for name in names}
    return pa.table({"prompt_id": pa.array([prompt.prompt_id for prompt in prompts], pa.string()), **columns})


def with_own_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with texts in memory of its own.

    The rows that polars picks from a frame keep all texts of that frame in memory: what is kept of each part of a
    large pool would hold on to the whole pool.
    """
    return pl.DataFrame(frame.to_arrow())


def carried_name(column: str) -> str:
    """Return the name under which a column of a user's row is carried: its own, or a prefixed one where that is ours.

    >>> carried_name("level"), carried_name("mean")
    ('level', 'source_mean')
    """
    return f"source_{column}" if column in OUR_COLUMNS or column in JSON_NAMES.values() else column


def prompt_from_row(row: Row, where: str) -> Prompt:
    """Return a row of the curated set `where` as a prompt.

    Raises `LearnableError` when its id is not that of its content.
    """
    text = row["prompt"]
    prompt = Prompt(
        prompt=text if isinstance(text, str) else tuple(Message(turn["role"], turn["content"]) for turn in text),
        verifier=row["verifier"],
        spec=json.loads(row["spec"]),
        family=row["family"],
        form=row["form"],
        difficulty=row["difficulty"],
        source=row["source"],
        split=row["split"],
        named_problem=row["problem_id"],
    )
    if prompt.prompt_id != row["prompt_id"]:
        raise LearnableError(
            f"curated set {where!r}: prompt {row['prompt_id']} is not what its id says; curate the set again"
        )
    return prompt


def rollouts_table(rollouts: Iterable[Rollout]) -> pa.Table:
    """Return one row per rollout, with its key and that of its answer among the columns."""
    rows = list(rollouts)
    return pa.table({name: [getattr(row, name) for row in rows] for name in ROLLOUTS.names}, schema=ROLLOUTS)


def scores_table(rows: Iterable[tuple[Rollout, Prompt, Score]], verifier: str, version: str) -> pa.Table:
    """Return one row per score by one verifier: of a rollout, as an answer to a prompt."""
    judged = list(rows)
    scores = [score for _, _, score in judged]
    columns = {name: [getattr(score, name) for score in scores] for name in ("reward", "passed", "verdict")}
    columns |= {
        "rollout_id": [rollout.rollout_id for rollout, _, _ in judged],
        "completion_id": [rollout.completion_id for rollout, _, _ in judged],
        "prompt_id": [prompt.prompt_id for _, prompt, _ in judged],
        "verifier": [verifier] * len(judged),
        "verifier_version": [version] * len(judged),
        "components": [_components(score) for score in scores],
        "reason": [whole_characters(score.reason) for score in scores],
    }
    return pa.table(columns, schema=SCORES)


def _components(score: Score) -> list[tuple[str, float]]:
    return [(whole_characters(name), value) for name, value in score.components.items()]


def read_table(data: bytes, columns: Sequence[str] | None = None, families: Collection[str] = ()) -> pa.Table:
    """Return the rows of a Parquet file of a curated set.

    Args:
        data: the file.
        columns: the columns to read, all by default.
        families: whose rows to read, of all families by default.

    Raises `ArrowInvalid` (pyarrow's) for what is not Parquet, or lacks one of the columns.
    """
    of_families = pc.field("family").isin(list(families)) if families else None
    wanted = None if columns is None else list(columns)
    # In memory of Arrow's: its threads let go of the file a little after it is read, and may let go of nothing of
    # Python's where that is ending by then (the process would abort).
    own = pa.BufferOutputStream()
    own.write(data)
    return pq.read_table(pa.BufferReader(own.getvalue()), columns=wanted, filters=of_families)


def parquet_bytes(table: pa.Table) -> bytes:
    """Return the table as a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


class Frame(Protocol):
    """A frame, or what makes a part of one at a time."""

    def __len__(self) -> int: ...

    def slice(self, offset: int, length: int, /) -> pl.DataFrame:
        """Return so many rows from one on."""


def frame_bytes(frame: Frame) -> bytes:
    """Return the frame as a Parquet file, without a second copy of it as Arrow."""
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, frame.slice(0, 0).to_arrow().schema, compression="zstd") as writer:
        for start in range(0, len(frame), ROWS_AT_ONCE):
            writer.write_table(frame.slice(start, ROWS_AT_ONCE).to_arrow())
    return sink.getvalue()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _column(name: str, values: Sequence[Any]) -> pa.Array[Any]:
    try:
        column: pa.Array[Any] = pa.array(values)
        return column
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        progress().note(
            f"column {name!r} has values of several types: it is carried as text, and what is no text as JSON"
        )
        return pa.array([_as_text(value) for value in values], pa.string())


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else canonical_json(value)
