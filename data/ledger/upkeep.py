"""What a ledger holds, whether it is sound, and fewer, larger files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from learnable.data.ledger.ledger import Ledger
from learnable.data.ledger.partition import (
    GROUP_KEYS,
    Chunk,
    DamagedFileError,
    Partition,
    quarantine,
    read_in_order,
    whole_table,
)
from learnable.data.storage.places import remove, sweep

MERGED_BYTES = 1 << 20  # of compressed files: whoever reads holds a few of them, unpacked, in memory


@dataclass(slots=True)
class Holdings:
    """What a ledger holds. `parts` has a row for each policy and sampling."""

    prompts: int = 0
    rollouts: int = 0
    tokens: int = 0
    bytes: int = 0
    files: int = 0
    policies: list[str] = field(default_factory=list)
    verifiers: list[str] = field(default_factory=list)
    parts: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged file: where it was, why it counts as damaged, where it is now."""

    file: str
    why: str
    moved_to: str


def summarise_ledger(ledger: Ledger) -> Holdings:
    """Count what is held. Reads keys, never texts."""
    holdings = Holdings()
    prompts: set[str] = set()
    for partition in ledger.partitions("rollouts"):
        part = _part(partition)
        prompts |= part.pop("prompt_ids")
        holdings.parts.append(part)
        holdings.rollouts += part["rollouts"]
        holdings.tokens += part["tokens"]
    holdings.prompts = len(prompts)
    holdings.policies = sorted({part["policy"] for part in holdings.parts})
    scores = ledger.partitions("scores")
    holdings.verifiers = sorted({unquote(partition.folder.name) for partition in scores if partition.chunks()})
    for chunk in _chunks(ledger):
        holdings.bytes += chunk.path.stat().st_size
        holdings.files += 1
    return holdings


def find_damage(ledger: Ledger) -> Iterator[Damage]:
    """Verify every file against its checksum and read all of it; set damaged ones aside. Needs the store's lock."""
    for chunk in _chunks(ledger):
        try:
            whole_table(chunk)
        except DamagedFileError as damage:
            moved = quarantine(ledger.root, chunk)
            yield Damage(str(chunk.path), damage.why, moved)


def compact(ledger: Ledger) -> tuple[int, int]:
    """Merge small files that follow each other; return how many files there were and are. Needs the store's lock.

    A merged file is durable before those it replaces go, and takes their place from that moment on.
    """
    sweep(ledger.root)
    before = after = 0
    for partition in [*ledger.partitions("rollouts"), *ledger.partitions("scores")]:
        before += len(partition.chunks()) + len(partition.replaced())
        for run in _runs(partition.chunks()):
            table = pa.concat_tables(read_in_order(run, whole_table), promote_options="default")
            partition.write(table, run[0].first, run[-1].last)
        for chunk in partition.replaced():
            remove(chunk.path)
        after += len(partition.chunks())
    return before, after


def _runs(chunks: list[Chunk]) -> Iterator[list[Chunk]]:
    """Yield runs of two or more chunks that together stay below `MERGED_BYTES`."""
    run: list[Chunk] = []
    size = 0
    for chunk in chunks:
        length = chunk.path.stat().st_size
        if run and size + length > MERGED_BYTES:
            if len(run) > 1:
                yield run
            run, size = [], 0
        run.append(chunk)
        size += length
    if len(run) > 1:
        yield run


def _chunks(ledger: Ledger) -> Iterator[Chunk]:
    for table in ("rollouts", "scores"):
        for partition in ledger.partitions(table):
            yield from partition.chunks()


def _read_keys(chunk: Chunk) -> pa.Table:
    file = chunk.read()
    columns = [name for name in (*GROUP_KEYS, "num_tokens", "policy_id") if name in file.schema_arrow.names]
    return file.read(columns=columns)


def _part(partition: Partition) -> dict[str, Any]:
    prompts: set[str] = set()
    policies: set[str] = set()
    rollouts = tokens = 0
    for table in read_in_order(partition.chunks(), _read_keys):
        for name in (name for name in GROUP_KEYS if name in table.column_names):
            prompts.update(value for value in pc.unique(table[name]).to_pylist() if value is not None)
        rollouts += table.num_rows
        tokens += pc.sum(table["num_tokens"]).as_py() or 0
        policies.update(map(str, pc.unique(table["policy_id"]).to_pylist()))
    return {
        "policy": " = ".join(sorted(policies)),
        "sampling": partition.folder.name,
        "prompts": len(prompts),
        "rollouts": rollouts,
        "tokens": tokens,
        "files": len(partition.chunks()),
        "prompt_ids": prompts,
    }
