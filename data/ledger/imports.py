"""Rollouts that others made, brought into the ledger: each once, beside those that are there.

<root>/imports/<weights>/<sampling>/NNNNNN.parquet   key, question_id, rollout_index

A rollout of ours has its index by the order in which it was drawn. One of a file has none that means anything here, so
it gets the next free one of its question, which is noted under the key of its row before the rollout is written: a
second import finds the key, and one that was stopped in between writes what is missing under the same index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.ledger.ledger import Draw, Ledger
from learnable.data.records import Prompt, Rollout, Score
from learnable.data.storage.places import put
from learnable.data.tables import parquet_bytes

LOOKED_UP = 8192  # prompts likewise
IMPORTED_AT_ONCE = 4096  # written together
IMPORT_KEYS = {"key": pl.String, "question_id": pl.String, "rollout_index": pl.Int64}


@dataclass(frozen=True, slots=True)
class GivenRollout:
    """One rollout of a file: its row's key, the prompt that the file's reward is for, and the rollout without index."""

    key: str
    prompt: Prompt
    rollout: Rollout
    score: Score


class Imports:
    """The indices of imported rollouts of one policy under one sampling. Needs the store's lock.

    Raises `LearnableError` where what was imported before cannot be read.
    """

    def __init__(self, ledger: Ledger, draw: Draw, prompts: Sequence[Prompt], version: str) -> None:
        self._ledger, self._draw = ledger, draw
        self._versions = {prompt.verifier: version for prompt in prompts}
        self._folder: UPath = ledger.root / "imports" / draw.folder
        self._files = sorted(self._folder.glob("*.parquet"), key=str) if self._folder.is_dir() else []
        self._index: dict[str, int] = {}
        self._next: dict[str, int] = {}
        self._stored: set[str] = set()
        self._scored: set[str] = set()
        self._read(prompts)

    def store(self, given: Iterable[GivenRollout]) -> Iterator[int]:
        """Write what the ledger lacks, in chunks; yield how many of each chunk are new.

        Raises `LearnableError` where something cannot be written: what was written before is kept.
        """
        chunk: list[GivenRollout] = []
        for one in given:
            chunk.append(one)
            if len(chunk) == IMPORTED_AT_ONCE:
                yield self._write(chunk)
                chunk = []
        yield self._write(chunk)

    def _write(self, chunk: Sequence[GivenRollout]) -> int:
        """Write a chunk: keys first, then rollouts, then what their file says of them; return how many are new."""
        noted, placed = [], []
        for one in chunk:
            question = one.rollout.question_id
            if one.key not in self._index:
                self._index[one.key] = self._next.get(question, 0)
                self._next[question] = self._index[one.key] + 1
                noted.append((one.key, question, self._index[one.key]))
            placed.append((one, replace(one.rollout, rollout_index=self._index[one.key])))
        if noted:
            self._note(noted)
        new = [rollout for _, rollout in placed if _name(rollout) not in self._stored]
        self._ledger.append_rollouts(self._draw, new)
        self._stored.update(map(_name, new))
        scored = [(r, one.prompt, one.score) for one, r in placed if r.rollout_id not in self._scored]
        scored = [row for row in scored if row[2].reward is not None]
        self._ledger.append_scores(self._draw, self._versions, scored)
        self._scored.update(rollout.rollout_id for rollout, _, _ in scored)
        return len(new)

    def _read(self, prompts: Sequence[Prompt]) -> None:
        for file in self._files:
            try:
                rows = pl.read_parquet(file.read_bytes()).select(list(IMPORT_KEYS))
            except (OSError, pl.exceptions.PolarsError) as error:
                raise LearnableError(
                    f"cannot read {str(file)!r} ({' '.join(str(error).split())}): it says what was imported; "
                    "restore it, or import into another `store`"
                ) from error
            self._index.update(zip(rows["key"], rows["rollout_index"], strict=True))
            for question, last in rows.group_by("question_id").agg(pl.col("rollout_index").max()).iter_rows():
                self._next[question] = max(self._next.get(question, 0), last + 1)
        for first in range(0, len(prompts), LOOKED_UP):
            valid, others = self._ledger.find_rollouts(self._draw, prompts[first : first + LOOKED_UP])
            self._stored.update(map(str, valid["question_id"] + valid["rollout_index"].cast(pl.String)))
            scores = self._ledger.find_scores(self._draw, valid, self._versions)
            self._scored.update(scores["rollout_id"])
            known = pl.concat([valid, others]).group_by("question_id").agg(pl.col("rollout_index").max())
            for question, last in known.iter_rows():
                self._next[question] = max(self._next.get(question, 0), int(last) + 1)

    def _note(self, rows: Sequence[tuple[str, str, int]]) -> None:
        file = self._folder / f"{len(self._files):06d}.parquet"
        self._ledger.check_lock()
        try:
            put(file, parquet_bytes(pl.DataFrame(rows, IMPORT_KEYS, orient="row").to_arrow()))
        except OSError as error:
            raise LearnableError(f"cannot write {str(file)!r}: {error.strerror or error}") from error
        self._files.append(file)


def _name(rollout: Rollout) -> str:
    return f"{rollout.question_id}{rollout.rollout_index}"
