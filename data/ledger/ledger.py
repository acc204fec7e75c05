"""What was paid for and what was said of it: looked up before anything is generated or scored.

<root>/rollouts/<weights>/<sampling>/*.parquet
<root>/scores/<weights>/<sampling>/<verifier>@<version>/*.parquet
<root>/ahead/<weights>/<sampling>/*.parquet

A rollout's key is its question (what the policy saw), the policy's weights, the sampling, the cap on tokens and its
index. The verifier and the spec are no part of it, so a corrected label or another judge costs no rollout. A score's
key is the prompt, which has both, the rollout with its text, the verifier and its version. Rows are only ever added. A
rollout that was made before it was needed has a mark in `ahead`, and another one once a run has needed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.ledger.outbox import Outbox
from learnable.data.ledger.partition import Chunk, DamagedFileError, Partition
from learnable.data.progress import progress
from learnable.data.records import REWARDED_VERDICTS, Prompt, Rollout, Sampling, Score, weights_id
from learnable.data.schemas import LEDGER, MARKS, SCORES
from learnable.data.storage.places import local_path
from learnable.data.tables import rollouts_table, scores_table, with_own_texts

T = TypeVar("T")
MERGES = 5  # that others may finish while somebody reads
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
        """Where its rows are, in the folder of a table."""
        return f"{quote(weights_id(self.policy_id), safe='')}/{self.sampling.sampling_id}"


ScoreRow = tuple[Rollout, Prompt, Score]


class Ledger:
    """The rollouts and scores of a store. Appending is for the holder of a lock, and of its draw where it has one."""

    def __init__(self, root: UPath) -> None:
        self.root = root
        self._outbox = Outbox(root)
        self._partitions: dict[str, Partition] = {}
        self._check_lock: Callable[[], None] = _refuse_unlocked
        self._draw: Draw | None = None
        self._taken_over = False

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

    def append_marks(self, draw: Draw, marks: Sequence[tuple[str, int]], *, needed: bool) -> None:
        """Make marks of rollouts durable, by question and index: made ahead, or `needed` by now, as all before it are.

        Raises `LearnableError` when they are not.
        """
        rows = [dict(zip(MARKS.names, (*mark, needed), strict=True)) for mark in marks]
        self._append(f"ahead/{draw.folder}", pa.Table.from_pylist(rows, schema=MARKS))

    def find_marks(self, draw: Draw, prompts: Sequence[Prompt]) -> pl.DataFrame:
        """Return the marks of these prompts' rollouts: `question_id`, `rollout_index`, `needed`.

        Raises `LearnableError` where another process changes the ledger meanwhile.
        """
        wanted = frozenset(prompt.question_id for prompt in prompts)
        return pl.DataFrame(self._select(f"ahead/{draw.folder}", "question_id", wanted, MARKS.names))

    def order_by_file(self, draw: Draw, prompts: Sequence[Prompt]) -> NDArray[np.intp]:
        """Return the places of the prompts in the order in which the files hold their rollouts, those without any last.

        In that order many prompts can be looked up in parts, each of which needs few files. Raises `LearnableError`
        where another process changes the ledger meanwhile.
        """
        partition = self._partition(f"rollouts/{draw.folder}")
        ids = [prompt.question_id for prompt in prompts]
        return np.argsort(self._undamaged(lambda: partition.find_first(ids)), kind="stable")

    def learn_keys(self, draw: Draw, versions: Mapping[str, str]) -> None:
        """Learn which of a draw's files hold which prompts, so that each is found at once after it.

        Of the scores, those by these versions of the verifiers. Raises `LearnableError` where another process changes
        the ledger meanwhile.
        """
        scores = (_scores_folder(draw.folder, verifier, versions) for verifier in versions)
        for folder in (f"rollouts/{draw.folder}", *scores):
            self._undamaged(self._partition(folder).learn_keys)

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
        wanted = frozenset(pairs["question_id"])
        rows = pl.DataFrame(self._select(f"rollouts/{draw.folder}", "question_id", wanted, STORED_COLUMNS))
        rows = rows.join(pairs, on="question_id", maintain_order="left")
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
        columns = ("rollout_id", "completion", *(["reasoning"] * reasoning), *(["token_ids"] * tokens))
        questions = None if prompts is None else frozenset(prompt.question_id for prompt in prompts)
        partition = self._partition(f"rollouts/{draw.folder}")
        for is_last in (False,) * MERGES + (True,):
            try:
                for table in partition.select("rollout_id", frozenset(wanted), columns, questions):
                    rows = pl.DataFrame(table).unique("rollout_id", keep="first", maintain_order=True)
                    rows = rows.filter(pl.Series([name in wanted for name in rows["rollout_id"]], dtype=pl.Boolean))
                    wanted.difference_update(rows["rollout_id"])  # each once, the one written first
                    yield with_own_texts(rows)
                return
            except FileNotFoundError as error:
                if is_last:
                    raise self._changed(error) from error

    def find_scores(
        self, draw: Draw, stored: pl.DataFrame, versions: Mapping[str, str], *, errors: bool = False
    ) -> pl.DataFrame:
        """Return the scores of stored rollouts by these versions of the verifiers, one row per prompt and rollout.

        Verifier errors are left out, since a completion on which the verifier failed is judged again. With `errors`
        the last of them stands where there is nothing else. Raises `LearnableError` where another process changes the
        ledger meanwhile.
        """
        ids = frozenset(stored["prompt_id"])
        folders = [_scores_folder(draw.folder, verifier, versions) for verifier in versions]
        scores = [pl.DataFrame(self._select(folder, "prompt_id", ids, SCORES.names)) for folder in folders]
        rows = pl.concat([pl.DataFrame(SCORES.empty_table()), *scores])
        rewarded, key = pl.col("verdict").is_in(REWARDED_VERDICTS), ["prompt_id", "rollout_id"]
        rest = rows.filter(~rewarded).reverse() if errors else rows.clear()
        of_these = pl.concat([rows.filter(rewarded), rest]).join(
            stored, on=[*key, "completion_id"], how="semi", maintain_order="left"
        )
        return of_these.unique(key, keep="first", maintain_order=True)

    def measure_length(self, draw: Draw) -> float | None:
        """Return the mean tokens of a completion of this draw, None where there is none."""
        chunks = self._partition(f"rollouts/{draw.folder}").chunks()
        lengths = [chunk.read_columns(chunk.read(), ["num_tokens"]) for chunk in chunks]
        sizes = pa.concat_tables(lengths)["num_tokens"].to_numpy() if lengths else ()
        return float(np.mean(sizes)) if len(sizes) else None

    def partitions(self, table: str) -> list[Partition]:
        """Return the parts of `rollouts` or `scores`."""
        folders = {path.parent for path in (self.root / table).rglob("*.parquet")}
        return [Partition(folder, LEDGER[table]) for folder in sorted(folders, key=str)]

    def folders(self, draw: Draw | None) -> list[UPath]:
        """Return where rows of a draw alone are, by table."""
        return [self.root / table / draw.folder for table in (*LEDGER, "imports")] if draw else []

    def open(self, check_lock: Callable[[], None], draw: Draw | None = None, *, taken_over: bool = False) -> None:
        """Get ready to write rows of a draw, or of all: keep room for a chunk, and bring in what could not be written.

        `check_lock` raises when the lock was lost; nothing is written after that. Where it was `taken_over` from
        somebody who may still be writing a chunk, that chunk will count. Raises `LearnableError` where there is no
        room, or where what waits cannot be written.
        """
        self._check_lock, self._draw, self._taken_over = check_lock, draw, taken_over
        self._partitions.clear()
        if delivered := self._outbox.deliver(draw.folder if draw else ""):
            progress().note(f"{delivered} chunks that could not be written earlier are in {self.root} now")
        self._outbox.reserve(draw.folder.replace("/", "__") if draw else "")

    def check_lock(self) -> None:
        """Raise `LearnableError` when another writer has taken the store."""
        self._check_lock()

    @property
    def used(self) -> list[Partition]:
        """The parts that were read or written here."""
        return list(self._partitions.values())

    def close(self) -> None:
        """Give the kept room back, and write which keys the files have that were written or read."""
        self._outbox.release()
        with suppress(OSError, LearnableError):  # of a lost lock: without an index, files are read to be looked up
            for partition in self._partitions.values():
                self._check_lock()
                partition.save_keys()

    def _append(self, folder: str, table: pa.Table) -> None:
        if self._draw and not f"{folder}/".partition("/")[2].startswith(f"{self._draw.folder}/"):
            raise RuntimeError(f"{folder} is not of the draw that is locked, {self._draw.folder}")
        if table.num_rows:
            self._outbox.append(self._partition(folder), table, self._check_lock)

    def _select(self, folder: str, key: str, wanted: frozenset[str], columns: Sequence[str]) -> pa.Table:
        """Return the rows whose value in the column `key` is wanted."""
        partition = self._partition(folder)
        empty = partition.table.schema.empty_table().select(list(columns))
        return self._undamaged(
            lambda: pa.concat_tables([empty, *partition.select(key, wanted, columns)], promote_options="default")
        )

    def _undamaged(self, read: Callable[[], T]) -> T:
        """Read; set a damaged file aside, say so, and read again: what was in it is missing."""
        while True:
            try:
                return reread(read)
            except DamagedFileError as damage:
                moved = quarantine(self.root, damage.chunk)
                progress().warn(f"{damage}; set aside as {moved}, its rows count as missing and are made again")
            except FileNotFoundError as error:
                raise self._changed(error) from error

    def _changed(self, error: FileNotFoundError) -> LearnableError:
        return LearnableError(f"the ledger in {str(self.root)!r} changed while it was read ({error}): try again")

    def _partition(self, folder: str) -> Partition:
        if folder not in self._partitions:
            table = LEDGER[folder.partition("/")[0]]
            self._partitions[folder] = Partition(self.root / folder, table, leave_gap=self._taken_over)
        return self._partitions[folder]


def share_out(rollouts: NDArray[np.integer], most: int) -> list[NDArray[np.intp]]:
    """Share prompts out, in their order: each share has about as many rollouts as may be in memory together.

    Args:
        rollouts: how many each prompt has.
        most: rollouts of a share, which the last prompt of the share before may exceed.

    Returns:
        The places of the prompts of each share; one empty share where there are no prompts.

    >>> [share.tolist() for share in share_out(np.array([4, 4, 4, 0, 20, 1]), 8)]
    [[0, 1], [2, 3], [4], [5]]
    """
    share = (np.cumsum(rollouts) - 1) // most
    return np.split(np.arange(len(rollouts)), np.flatnonzero(np.diff(share)) + 1)


def quarantine(root: UPath, chunk: Chunk) -> str:
    """Move a damaged file to `<root>/quarantine`, its folders in its name; return where it is now, under the root.

    It is never deleted, since what is left in it may still be wanted.
    """
    inside = chunk.path.path.removeprefix(root.path).strip("/")
    name = inside.replace("/", "__")
    target, copies = root / "quarantine" / name, 0
    while target.exists():  # the same file was damaged before, and made again as it was
        copies += 1
        target = root / "quarantine" / f"{name}.{copies}"
    if local_path(root):
        target.parent.mkdir(parents=True, exist_ok=True)
        chunk.path.rename(target)
    else:
        root.fs.mv(chunk.path.path, target.path, recursive=chunk.path.is_dir())
    return f"quarantine/{target.name}"


def reread(read: Callable[[], T]) -> T:
    """Read, and again where a file went meanwhile: its rows are in a merged one then.

    Raises `FileNotFoundError` where files keep going.
    """
    for _ in range(MERGES):
        with suppress(FileNotFoundError):
            return read()
    return read()


def _refuse_unlocked() -> None:
    raise RuntimeError("appending to a ledger needs Store.hold()")


def _scores_folder(folder: str, verifier: str, versions: Mapping[str, str]) -> str:
    return f"scores/{folder}/{quote(verifier, safe='')}@{quote(versions[verifier], safe='')}"


def _by_verifier(scores: Iterable[ScoreRow]) -> dict[str, list[ScoreRow]]:
    grouped: dict[str, list[ScoreRow]] = {}
    for row in scores:
        grouped.setdefault(row[1].verifier, []).append(row)
    return grouped
