"""What was paid for and what was said of it: looked up before anything is generated or scored.

<root>/rollouts/<weights>/<sampling>/*.parquet
<root>/scores/<weights>/<sampling>/<verifier>@<version>/*.parquet

What lies under an earlier id of the same weights (`earlier_ids.py`) is read beside a policy's own.

A rollout's key is its question (what the policy saw), the policy's weights, the sampling, the cap on tokens and its
index. The verifier and the spec are no part of it, so a corrected label or another judge costs no rollout. A score's
key is the prompt, which has both, the rollout with its text, the verifier and its version. Rows are only ever added.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar
from urllib.parse import quote

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.ledger.earlier_ids import find_earlier_ids
from learnable.data.ledger.outbox import Outbox
from learnable.data.ledger.partition import DamagedFileError, Partition, quarantine
from learnable.data.progress import progress
from learnable.data.records import REWARDED_VERDICTS, Prompt, Rollout, Sampling, Score, content_id, weights_id
from learnable.data.schemas import ROLLOUT_KEYS, ROLLOUTS, SCORE_KEYS, SCORES
from learnable.data.tables import rollouts_table, scores_table, with_own_texts

T = TypeVar("T")
ALL_COLUMNS = pa.unify_schemas([ROLLOUTS, SCORES])
NEEDED = {"rollouts": ROLLOUT_KEYS, "scores": SCORE_KEYS}
STORED_COLUMNS = (
    "rollout_id",
    "completion_id",
    "question_id",
    "rollout_index",
    "max_tokens",
    "seed",
    "finish_reason",
    "num_tokens",
    "reasoning_tokens",
)


@dataclass(frozen=True, slots=True)
class Draw:
    """One policy under one sampling: what rollouts must share to be in one group."""

    policy_id: str
    sampling: Sampling

    @property
    def folder(self) -> str:
        """Where its rows are written."""
        return self.folder_of(weights_id(self.policy_id))

    def folder_of(self, weights: str) -> str:
        """Return where rows of these weights are, under this sampling."""
        return f"{quote(weights, safe='')}/{self.sampling.sampling_id}"


ScoreRow = tuple[Rollout, Prompt, Score]


class Ledger:
    """The rollouts and scores of a store. Appending is for the holder of the store's lock."""

    def __init__(self, root: UPath) -> None:
        self.root = root
        self._outbox = Outbox(root)
        self._partitions: dict[str, Partition] = {}
        self._earlier = EarlierPrompts(root)
        self._check_lock: Callable[[], None] = _refuse_unlocked

    def append_rollouts(self, draw: Draw, rollouts: Sequence[Rollout]) -> None:
        """Make a chunk of rollouts durable. Raises `LearnableError` when it is not, or the store is full after it."""
        self._append(f"rollouts/{draw.folder}", rollouts_table(rollouts))

    def append_scores(self, draw: Draw, versions: Mapping[str, str], scores: Iterable[ScoreRow]) -> None:
        """Make a chunk of scores durable; `versions` has the version of each verifier.

        Raises `LearnableError` when it is not, or when the store is full after it.
        """
        for verifier, rows in _by_verifier(scores).items():
            self._append(
                _scores_folder(draw.folder, verifier, versions), scores_table(rows, verifier, versions[verifier])
            )

    def find_rollouts(self, draw: Draw, prompts: Sequence[Prompt]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the stored rollouts of these prompts: those that are valid, and those to sample again.

        Both frames have the columns `STORED_COLUMNS` (no texts) and `prompt_id`, and at most one row per prompt and
        index, the one that was written first. Prompts that share a question have a row each. A rollout is valid under
        the sampling's cap on tokens if it would be the same under it: it ended by itself within the cap, or was cut at
        that very cap. Where an index has no valid rollout, its first one is to be sampled again, by its seed.

        Raises `LearnableError` where another process changes the ledger meanwhile.
        """
        names = [(prompt.question_id, prompt.prompt_id) for prompt in prompts]
        pairs = pl.DataFrame(names, {"question_id": pl.String, "prompt_id": pl.String}, orient="row")
        rows = self._rollouts(draw, prompts).join(pairs, on="question_id", maintain_order="left")
        of_another = pl.col("written_as").is_not_null() & (pl.col("written_as") != pl.col("prompt_id"))
        rows = rows.sort(of_another, maintain_order=True).drop("written_as")  # its own first, as earlier versions did
        cap = draw.sampling.max_tokens
        ended, cut = pl.col("finish_reason") == "stop", pl.col("finish_reason") == "length"
        valid = (ended & (pl.col("num_tokens") <= cap)) | (cut & (pl.col("max_tokens") == cap))
        key = ["prompt_id", "rollout_index"]
        stored = rows.filter(valid).unique(key, keep="first", maintain_order=True)
        others = rows.filter(~valid).unique(key, keep="first", maintain_order=True)
        return stored, others.join(stored, on=key, how="anti", maintain_order="left")

    def read_completions(
        self,
        draw: Draw,
        stored: pl.DataFrame,
        prompts: Sequence[Prompt] | None = None,
        *,
        reasoning: bool = False,
        tokens: bool = False,
    ) -> Iterator[pl.DataFrame]:
        """Yield the texts of the rollouts that `find_rollouts` found, a file at a time and each once.

        Each frame has the columns `rollout_id` and `completion`, and on demand `reasoning` and `token_ids` (null where
        no engine told them). Where `prompts` are given, the rollouts are theirs, and no file is read that is known to
        have others alone. Raises `LearnableError` where another process changes the ledger meanwhile, and
        `DamagedFileError`.
        """
        wanted = set(stored["rollout_id"])
        ids = {"rollout_id": frozenset(wanted)}
        folders = [f"rollouts/{folder}" for folder in self.folders(draw)] if wanted else []
        tables = (
            self._partition(folder).select(
                ids,
                ("rollout_id", "completion", *(["reasoning"] if reasoning else []), *(["token_ids"] if tokens else [])),
                None if prompts is None else self._keys_of(folder, prompts),
            )
            for folder in folders
        )
        for table in chain.from_iterable(tables):
            rows = pl.DataFrame(table).unique("rollout_id", keep="first", maintain_order=True)
            if reasoning:  # earlier versions did not tell it apart
                thought = pl.col("reasoning").fill_null("") if "reasoning" in rows.columns else pl.lit("")
                rows = rows.with_columns(thought.alias("reasoning"))
            if tokens and "token_ids" not in rows.columns:
                rows = rows.with_columns(pl.lit(None, pl.List(pl.Int32)).alias("token_ids"))
            rows = rows.filter(pl.Series([name in wanted for name in rows["rollout_id"]], dtype=pl.Boolean))
            wanted.difference_update(rows["rollout_id"])  # each once, the one written first
            yield with_own_texts(rows)

    def find_scores(
        self, draw: Draw, stored: pl.DataFrame, versions: Mapping[str, str], *, errors: bool = False
    ) -> pl.DataFrame:
        """Return the scores of stored rollouts by these versions of the verifiers, one row per prompt and rollout.

        Verifier errors are left out, since a completion on which the verifier failed is judged again. With `errors`
        the last of them stands where there is nothing else. Raises `LearnableError` where another process changes the
        ledger meanwhile.
        """
        ids = {"prompt_id": stored["prompt_id"].unique().to_list()}
        folders = [_scores_folder(of, verifier, versions) for of in self.folders(draw) for verifier in versions]
        found = [pl.DataFrame(self._select(folder, ids, SCORES.names)).select(SCORES.names) for folder in folders]
        rows = pl.concat([pl.DataFrame(SCORES.empty_table()), *found])
        rewarded, key = pl.col("verdict").is_in(REWARDED_VERDICTS), ["prompt_id", "rollout_id"]
        rest = rows.filter(~rewarded).reverse() if errors else rows.clear()
        of_these = pl.concat([rows.filter(rewarded), rest]).join(
            stored, on=[*key, "completion_id"], how="semi", maintain_order="left"
        )
        return of_these.unique(key, keep="first", maintain_order=True)

    def measure_length(self, draw: Draw) -> float | None:
        """Return the mean tokens of a completion of this draw, None where there is none."""
        kept = [self._partition(f"rollouts/{folder}") for folder in self.folders(draw)]
        lengths = [chunk.read_columns(chunk.read(), ["num_tokens"]) for one in kept for chunk in one.chunks()]
        found = pa.concat_tables(lengths)["num_tokens"].to_numpy() if lengths else ()
        return float(np.mean(found)) if len(found) else None

    def partitions(self, table: str) -> list[Partition]:
        """Return the parts of `rollouts` or `scores`."""
        folders = {path.parent for path in (self.root / table).rglob("*.parquet")}
        return [Partition(folder, NEEDED[table]) for folder in sorted(folders, key=str)]

    def open(self, check_lock: Callable[[], None]) -> None:
        """Get ready to write: keep room for a chunk, and bring in what an earlier run could not write.

        `check_lock` raises when the store's lock was lost; nothing is written after that. Raises `LearnableError`
        where there is no room, or where what waits cannot be written.
        """
        self._check_lock = check_lock
        self._partitions.clear()
        if delivered := self._outbox.deliver():
            progress().note(f"{delivered} chunks that could not be written earlier are in {self.root} now")
        self._outbox.reserve()

    def check_lock(self) -> None:
        """Raise `LearnableError` when another writer has taken the store."""
        self._check_lock()

    def close(self) -> None:
        """Give the kept room back."""
        self._outbox.release()

    def _append(self, folder: str, table: pa.Table) -> None:
        if table.num_rows:
            self._outbox.append(self._partition(folder), table, self._check_lock)

    def _rollouts(self, draw: Draw, prompts: Sequence[Prompt]) -> pl.DataFrame:
        """Return the rollouts of these prompts' questions, with those that earlier versions wrote under other ids."""
        found = [self._rollouts_in(f"rollouts/{folder}", prompts) for folder in self.folders(draw)]
        return pl.concat(found, how="vertical_relaxed")

    def folders(self, draw: Draw) -> list[str]:
        """Return where rows of the draw are: its own, then those under earlier ids of the same weights."""
        weights = weights_id(draw.policy_id)
        return [draw.folder_of(name) for name in (weights, *find_earlier_ids(self.root, weights))]

    def _rollouts_in(self, folder: str, prompts: Sequence[Prompt]) -> pl.DataFrame:
        keys = self._keys_of(folder, prompts)
        rows = pl.DataFrame(self._select(folder, keys, (*STORED_COLUMNS, "prompt_id")))
        question = pl.col("prompt_id").replace_strict(keys["prompt_id"], default=None, return_dtype=pl.String)
        thought = pl.col("reasoning_tokens").fill_null(0)
        rows = rows.with_columns(thought, question_id=pl.coalesce("question_id", question))
        return rows.rename({"prompt_id": "written_as"})

    def _keys_of(self, folder: str, prompts: Sequence[Prompt]) -> dict[str, dict[str, str]]:
        """Return by column the keys of these prompts' groups, each with its question id."""
        questions = {prompt.question_id: prompt.question_id for prompt in prompts}
        named = {prompt.prompt_id: prompt.question_id for prompt in prompts}
        if self._undamaged(lambda: self._partition(folder).has_column("prompt_id")):
            named = self._earlier.find(questions) | named
        return {"question_id": questions, "prompt_id": named}

    def _select(self, folder: str, wanted: Mapping[str, Collection[str]], columns: Sequence[str]) -> pa.Table:
        """Return the rows with a wanted value in one of the columns; nulls stand for columns that a file lacks."""
        ids, partition = {name: frozenset(values) for name, values in wanted.items()}, self._partition(folder)
        empty = ALL_COLUMNS.empty_table().select(list(columns))
        return self._undamaged(
            lambda: pa.concat_tables([empty, *partition.select(ids, columns)], promote_options="default")
        )

    def _undamaged(self, read: Callable[[], T]) -> T:
        """Read; set a damaged file aside, say so, and read again: what was in it is missing."""
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
            self._partitions[folder] = Partition(self.root / folder, NEEDED[folder.partition("/")[0]])
        return self._partitions[folder]


class EarlierPrompts:
    """The questions behind the prompt ids that earlier versions keyed rollouts by.

    Their files have a column `prompt_id` in place of `question_id`. The groups of the runs that made them say which
    question a prompt id stands for, so that a corrected label finds what was paid for then. They are read once, when
    they are first needed.
    """

    def __init__(self, root: UPath) -> None:
        self._groups = root / "groups"
        self._questions: dict[str, str] | None = None

    def find(self, questions: Collection[str]) -> dict[str, str]:
        """Return the question id of each known prompt id that is one of `questions`."""
        if self._questions is None:
            self._questions = self._read()
        return {prompt_id: question for prompt_id, question in self._questions.items() if question in questions}

    def _read(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in sorted(self._groups.glob("*.parquet"), key=str):
            for row in _prompts(path):
                if row["prompt_id"] not in found:
                    found[row["prompt_id"]] = content_id(row["prompt"])
        return found


def _prompts(path: UPath) -> list[Mapping[str, Any]]:
    """Return the prompts of a run; none of a file that cannot be read, since only what was paid for is at stake."""
    try:
        with path.open("rb") as file:
            rows = list(pq.read_table(file, columns=["prompt_id", "prompt"]).to_pylist())
        return [
            row for row in rows if isinstance(row.get("prompt_id"), str) and isinstance(row.get("prompt"), str | list)
        ]
    except (OSError, ValueError, pa.ArrowException):
        return []


def _refuse_unlocked() -> None:
    raise RuntimeError("appending to a ledger needs Store.hold()")


def _scores_folder(folder: str, verifier: str, versions: Mapping[str, str]) -> str:
    return f"scores/{folder}/{quote(verifier, safe='')}@{quote(versions[verifier], safe='')}"


def _by_verifier(scores: Iterable[ScoreRow]) -> dict[str, list[ScoreRow]]:
    grouped: dict[str, list[ScoreRow]] = {}
    for row in scores:
        grouped.setdefault(row[1].verifier, []).append(row)
    return grouped
