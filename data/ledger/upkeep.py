"""What is in a ledger, whether it is sound, and fewer, larger files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.ledger.key_index import KeyIndex
from learnable.data.ledger.ledger import Ledger, quarantine
from learnable.data.ledger.partition import (
    Chunk,
    DamagedFileError,
    Partition,
    hash_groups,
    read_in_order,
    whole_table,
)
from learnable.data.progress import progress
from learnable.data.schemas import LEDGER
from learnable.data.storage.places import local_path, remove

MANY_FILES = 32  # fewer, and a run merges at its end
MERGED_BYTES = 1 << 20  # of compressed files: whoever reads has a few of them, unpacked, in memory


@dataclass(frozen=True, slots=True)
class PartSummary:
    """The rollouts of one policy under one sampling: how many questions, rollouts, completion tokens and files."""

    policy: str
    sampling: str
    prompts: int
    rollouts: int
    tokens: int
    files: int


@dataclass(frozen=True, slots=True)
class LedgerSummary:
    """What is in a ledger: questions, rollouts, completion tokens, bytes and files; `parts` by policy and sampling."""

    prompts: int
    rollouts: int
    tokens: int
    bytes: int
    files: int
    policies: list[str]
    verifiers: list[str]
    parts: list[PartSummary]


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged file: where it was, why it counts as damaged, where it is now."""

    file: str
    why: str
    moved_to: str


def summarise_ledger(ledger: Ledger) -> LedgerSummary:
    """Count what is in a ledger. Reads keys, never texts. Raises `DamagedFileError`."""
    prompts: set[str] = set()
    parts = []
    for partition in ledger.partitions("rollouts"):
        part, keys = _summarise_part(partition)
        prompts |= keys
        parts.append(part)
    scores = ledger.partitions("scores")
    sizes = [chunk.path.stat().st_size for partition in _partitions(ledger) for chunk in partition.chunks()]
    return LedgerSummary(
        prompts=len(prompts),
        rollouts=sum(part.rollouts for part in parts),
        tokens=sum(part.tokens for part in parts),
        bytes=sum(sizes),
        files=len(sizes),
        policies=sorted({part.policy for part in parts}),
        verifiers=sorted({unquote(partition.folder.name) for partition in scores if partition.chunks()}),
        parts=parts,
    )


def find_damage(ledger: Ledger) -> Iterator[Damage]:
    """Verify every file against its checksum and read all of it; set damaged ones aside. Needs the store's lock.

    What the files hold is indexed anew. Raises `OSError` where an index cannot be written.
    """
    for partition in _partitions(ledger):
        keys = KeyIndex()
        for chunk in partition.chunks():
            try:
                keys.add(chunk.name, hash_groups(whole_table(chunk), chunk.table.group))
            except DamagedFileError as damage:
                moved = quarantine(ledger.root, chunk)
                yield Damage(str(chunk.path), damage.why, moved)
        partition.remake_keys(keys)


def compact(ledger: Ledger) -> tuple[int, int]:
    """Merge small files that follow each other; return how many files there were and are. Needs the store's lock.

    A merged file is durable before those it replaces go, and takes their place from that moment on.
    """
    before = after = 0
    for partition in _partitions(ledger):
        before += len(partition.chunks()) + len(partition.replaced())
        _merge(ledger, partition)
        partition.save_keys()
        after += len(partition.chunks())
    return before, after


def compact_used(ledger: Ledger) -> None:
    """Merge small files of the parts that a run used, where they became many, so that the next run begins with few.

    A run that came to its end does not fail for it: what cannot be merged stays as it is.
    """
    try:
        for partition in ledger.used:
            _merge(ledger, partition, MANY_FILES)
    except (OSError, LearnableError) as error:
        progress().note(f"small files of the ledger were not merged: {error}")


def _merge(ledger: Ledger, partition: Partition, least: int = 1) -> None:
    """Merge small files where that makes `least` fewer, and remove those that merged ones replace."""
    runs = list(_runs(partition.chunks(), _read_sizes(partition.folder)))
    for run in runs if sum(len(run) - 1 for run in runs) >= least else ():
        table = pa.concat_tables(read_in_order(run, whole_table), promote_options="default")
        ledger.check_lock()
        partition.write(table, run[0].first, run[-1].last)
    for chunk in partition.replaced():
        ledger.check_lock()
        remove(chunk.path)


def _read_sizes(folder: UPath) -> dict[str, int]:
    """Return the bytes of each file of a folder, which is asked once: object storage is slow to answer."""
    try:
        if (local := local_path(folder)) is None:
            files = folder.fs.ls(folder.path, detail=True)
            return {str(file["name"]).rpartition("/")[2]: int(file["size"]) for file in files}
        with os.scandir(local) as entries:
            return {entry.name: entry.stat().st_size for entry in entries}
    except FileNotFoundError:
        return {}


def _runs(chunks: list[Chunk], sizes: dict[str, int]) -> Iterator[list[Chunk]]:
    """Yield runs of two or more chunks, with no number missing, that together stay below `MERGED_BYTES`."""
    run: list[Chunk] = []
    size = 0
    for chunk in chunks:
        length = sizes[chunk.name]
        if run and (size + length > MERGED_BYTES or chunk.first > run[-1].last + 1):
            if len(run) > 1:
                yield run
            run, size = [], 0
        run.append(chunk)
        size += length
    if len(run) > 1:
        yield run


def _partitions(ledger: Ledger) -> list[Partition]:
    return [partition for table in LEDGER for partition in ledger.partitions(table)]


def _read_keys(chunk: Chunk) -> pa.Table:
    return chunk.read_columns(chunk.read(), ("question_id", "num_tokens", "policy_id"))


def _summarise_part(partition: Partition) -> tuple[PartSummary, set[str]]:
    """Return what is in a partition of rollouts, and the ids of its questions."""
    questions: set[str] = set()
    policies: set[str] = set()
    rollouts = tokens = 0
    for table in read_in_order(partition.chunks(), _read_keys):
        questions.update(map(str, pc.unique(table["question_id"]).to_pylist()))
        rollouts += table.num_rows
        tokens += pc.sum(table["num_tokens"]).as_py() or 0
        policies.update(map(str, pc.unique(table["policy_id"]).to_pylist()))
    summary = PartSummary(
        policy=" = ".join(sorted(policies)),
        sampling=partition.folder.name,
        prompts=len(questions),
        rollouts=rollouts,
        tokens=tokens,
        files=len(partition.chunks()),
    )
    return summary, questions
