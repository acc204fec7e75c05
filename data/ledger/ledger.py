"""What was paid for and what was said of it: asked before anything is generated or scored.

<root>/rollouts/<weights>/<sampling>/*.parquet
<root>/scores/<weights>/<sampling>/<verifier>@<version>/*.parquet

A rollout's key is its question (what the policy saw), the policy's weights, the sampling, the cap on tokens and its
index: the verifier and the spec are no part of it, so a mended label or another judge costs no rollout. A score's key is
the prompt, which has both, the rollout with its text, the verifier and its version. Rows are only ever added.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

import polars as pl
import pyarrow as pa
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.ledger.ledger import EarlierPrompts
from learnable.data.ledger.outbox import Outbox
from learnable.data.ledger.partition import DamagedFileError, Partition, quarantine
from learnable.data.progress import progress
from learnable.data.records import Prompt, Rollout, Sampling, Score, weights_id
from learnable.data.schemas import ROLLOUTS, SCORES
from learnable.data.tables import rollouts_table, scores_table

T = TypeVar("T")
ALL_COLUMNS = pa.unify_schemas([ROLLOUTS, SCORES])
HONEST = ("scored", "truncated")
STORED_COLUMNS = (
    "rollout_id",
    "completion_id",
    "question_id",
    "rollout_index",
    "max_tokens",
    "seed",
    "finish_reason",
    "num_tokens",
)


@dataclass(frozen=True, slots=True)
class Draw:
    """One policy under one sampling: what rollouts must share to be in one group."""

    policy_id: str
    sampling: Sampling

    @property
    def folder(self) -> str:
        """Where its rows are."""
        return f"{quote(weights_id(self.policy_id), safe='')}/{self.sampling.sampling_id}"


ScoreRow = tuple[Rollout, Prompt, Score]


class Ledger:
    """The rollouts and scores of a store. Appending is for the holder of the store's lock."""

    def __init__(self, root: UPath) -> None:
        self.root = root
        self._outbox = Outbox(root)
        self._partitions: dict[str, Partition] = {}
        self._earlier = EarlierPrompts(root)
        self._still_held: Callable[[], None] = _not_held

    def append_rollouts(self, draw: Draw, rollouts: Sequence[Rollout]) -> None:
        """Make a chunk of rollouts durable. Raises `LearnableError` when it is not, or the store is full after it."""
        self._append(f"rollouts/{draw.folder}", rollouts_table(rollouts))

    def append_scores(self, draw: Draw, versions: Mapping[str, str], scores: Iterable[ScoreRow]) -> None:
        """Make a chunk of scores durable; `versions` are those of the verifiers."""
        for verifier, rows in _by_verifier(scores).items():
            self._append(_scores_folder(draw, verifier, versions), scores_table(rows, verifier, versions[verifier]))

    def find_rollouts(self, draw: Draw, prompts: Sequence[Prompt]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return what is held for these prompts, without the texts: rollouts that stand, and those to be drawn again.

        Both have the columns `STORED_COLUMNS` and `prompt_id`, and at most one row a prompt and index, the one written first:
        prompts that share a question have a row each. A rollout stands under the cap on tokens that is asked for if it
        would be the same under it: it ended by itself within the cap, or was cut at that very cap. Of an index without
        one, the first rollout is to be drawn again, by its seed.
        """
        names = [(prompt.question_id, prompt.prompt_id) for prompt in prompts]
        pairs = pl.DataFrame(names, {"question_id": pl.String, "prompt_id": pl.String}, orient="row")
        rows = self._rollouts(draw, prompts).join(pairs, on="question_id", maintain_order="left")
        of_another = pl.col("written_as").is_not_null() & (pl.col("written_as") != pl.col("prompt_id"))
        rows = rows.sort(of_another, maintain_order=True).drop("written_as")  # its own first, as earlier versions did
        cap = draw.sampling.max_tokens
        ended, cut = pl.col("finish_reason") == "stop", pl.col("finish_reason") == "length"
        stands = (ended & (pl.col("num_tokens") <= cap)) | (cut & (pl.col("max_tokens") == cap))
        key = ["prompt_id", "rollout_index"]
        held = rows.filter(stands).unique(key, keep="first", maintain_order=True)
        others = rows.filter(~stands).unique(key, keep="first", maintain_order=True)
        return held, others.join(held, on=key, how="anti", maintain_order="left")

    def read_completions(self, draw: Draw, held: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yield the rows of rollouts that `find_rollouts` found: `rollout_id`, `completion`. A file at a time, each once."""
        wanted = held.select("rollout_id").unique()
        ids = {"rollout_id": pa.array(wanted["rollout_id"].to_list(), pa.string())}
        for table in self._partition(f"rollouts/{draw.folder}").select(ids, ("rollout_id", "completion")):
            rows = _frame(table).unique("rollout_id", keep="first", maintain_order=True)
            rows = rows.join(wanted, on="rollout_id", how="semi", maintain_order="left")
            wanted = wanted.join(rows, on="rollout_id", how="anti")  # each once, the one written first
            yield rows

    def find_scores(self, draw: Draw, held: pl.DataFrame, versions: Mapping[str, str]) -> pl.DataFrame:
        """Return the honest scores of rollouts by these verifier versions: one row a prompt and rollout.

        Verifier errors are left out: a verifier that failed is asked again.
        """
        ids = {"prompt_id": held["prompt_id"].unique().to_list()}
        folders = [_scores_folder(draw, verifier, versions) for verifier in versions]
        found = [_frame(self._select(folder, ids, SCORES.names)).select(SCORES.names) for folder in folders]
        return (
            pl.concat([_frame(SCORES.empty_table()), *found])
            .filter(pl.col("verdict").is_in(HONEST))
            .join(held, on=["prompt_id", "rollout_id", "completion_id"], how="semi", maintain_order="left")
            .unique(["prompt_id", "rollout_id"], keep="first", maintain_order=True)
        )

    def partitions(self, table: str) -> list[Partition]:
        """Return the parts of `rollouts` or `scores`."""
        folders = {path.parent for path in (self.root / table).rglob("*.parquet")}
        return [Partition(folder) for folder in sorted(folders, key=str)]

    def open(self, still_held: Callable[[], None]) -> None:
        """Get ready to write: keep room for a chunk, and bring in what an earlier run could not write.

        `still_held` raises when the store's lock was lost; nothing is written after that.
        """
        self._still_held = still_held
        self._partitions.clear()
        if delivered := self._outbox.deliver():
            progress().note(f"{delivered} chunks that could not be written earlier are in {self.root} now")
        self._outbox.reserve()

    def check_lock(self) -> None:
        """Raise `LearnableError` when another writer has taken the store."""
        self._still_held()

    def close(self) -> None:
        """Give the kept room back."""
        self._outbox.release()

    def _append(self, folder: str, table: pa.Table) -> None:
        if table.num_rows:
            self._outbox.append(self._partition(folder), table, self._still_held)

    def _rollouts(self, draw: Draw, prompts: Sequence[Prompt]) -> pl.DataFrame:
        """Return the rollouts of these prompts' questions, those that earlier versions wrote under prompt ids among them."""
        folder = f"rollouts/{draw.folder}"
        questions = {prompt.question_id for prompt in prompts}
        named = {prompt.prompt_id: prompt.question_id for prompt in prompts}
        if self._undamaged(lambda: self._partition(folder).has_column("prompt_id")):
            named = self._earlier.find(questions) | named
        rows = _frame(
            self._select(folder, {"question_id": questions, "prompt_id": named}, (*STORED_COLUMNS, "prompt_id"))
        )
        question = pl.col("prompt_id").replace_strict(named, default=None, return_dtype=pl.String)
        return rows.with_columns(question_id=pl.coalesce("question_id", question)).rename({"prompt_id": "written_as"})

    def _select(self, folder: str, wanted: Mapping[str, Collection[str]], columns: Sequence[str]) -> pa.Table:
        """Return the rows with a wanted value in one of the columns; nulls stand for columns that a file lacks."""
        ids = {name: pa.array(sorted(set(values)), pa.string()) for name, values in wanted.items()}
        partition = self._partition(folder)
        empty = ALL_COLUMNS.empty_table().select(list(columns))
        return self._undamaged(
            lambda: pa.concat_tables([empty, *partition.select(ids, columns)], promote_options="default")
        )

    def _undamaged(self, read: Callable[[], T]) -> T:
        """Read; set a damaged file aside, say so, and read again: what it held is owed."""
        while True:
            try:
                return read()
            except DamagedFileError as damage:
                moved = quarantine(self.root, damage.chunk)
                progress().warn(f"{damage}; set aside as {moved}, its rows count as missing and are made again")
            except FileNotFoundError as error:
                raise LearnableError(
                    f"the ledger in {str(self.root)!r} changed while it was read ({error}): try again"
                ) from error

    def _partition(self, folder: str) -> Partition:
        if folder not in self._partitions:
            self._partitions[folder] = Partition(self.root / folder)
        return self._partitions[folder]


def _not_held() -> None:
    raise RuntimeError("appending to a ledger needs Store.hold()")


def _scores_folder(draw: Draw, verifier: str, versions: Mapping[str, str]) -> str:
    return f"scores/{draw.folder}/{quote(verifier, safe='')}@{quote(versions[verifier], safe='')}"


def _by_verifier(scores: Iterable[ScoreRow]) -> dict[str, list[ScoreRow]]:
    grouped: dict[str, list[ScoreRow]] = {}
    for row in scores:
        grouped.setdefault(row[1].verifier, []).append(row)
    return grouped


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    if not isinstance(frame, pl.DataFrame):
        raise TypeError("a table is a frame")
    return frame
