"""Curated sets: versioned Parquet shards with a manifest and a card, published by rename.

curated/<name>/v0001/train-00000-of-00001.parquet   kept prompts
                     test-00000-of-00001.parquet    kept prompts held out from training
                     rejects-….parquet              every other prompt, with the reason
                     control-….parquet              random prompts, as many as train has
                     demonstrations-….parquet       a passed completion for each kept prompt that has one
                     preferences-….parquet          a better and a worse completion for each kept prompt that has both
                     manifest.json  README.md
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import tempfile
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from upath import UPath

from learnable.data.curated.card import render_card
from learnable.data.curated.manifest import Manifest, SetPart
from learnable.data.curated.record import to_plain
from learnable.data.errors import LearnableError, nearest_names
from learnable.data.records import Split, content_id
from learnable.data.storage import cache_folder
from learnable.data.storage.format import check_number
from learnable.data.storage.places import PathOrUrl, create, find_place, local_path, put, sync
from learnable.data.tables import ROWS_AT_ONCE, hash_file, read_table

MANIFEST = "manifest.json"
CARD = "README.md"
COMPLETION_PARTS = ("demonstrations", "preferences")  # parts of completions, for prompts of train
SET_PARTS = ("train", "test", "rejects", "reserve", "control", *COMPLETION_PARTS)
POOL_PART = "pool"  # what can be read as a part: the kept and the rejected prompts of the side that is trained on
REVIEWED_PART = "reviewed"  # the same: train, and as a tenth of all prompts that the policy had mastered
COMBINED = (POOL_PART, REVIEWED_PART)
UNKEPT_PARTS = ("rejects", "reserve")  # prompts of both sides, which were not kept
POOL_PARTS = ("train", "test", *UNKEPT_PARTS)  # all prompts that were looked at, each once
NOT_SAMPLED = ("not_scored", "duplicate", "contaminated")  # decisions on prompts that no rollout was looked at for
RESTORE = "restore it from a copy, or curate the set again with find-learnable"


class UnknownSideError(LearnableError):
    """A set that does not say which of its rejects are held out."""


class Rows(Protocol):
    """The rows of a part, of which a shard at a time is in memory as Arrow: a table, a frame, or what makes slices."""

    def __len__(self) -> int: ...

    def slice(self, offset: int, length: int, /) -> pa.Table | pl.DataFrame:
        """Return so many rows from one on."""


@dataclass(frozen=True, slots=True)
class CuratedSet:
    """One published version: its folder and what its manifest says."""

    path: UPath
    manifest: Manifest

    def shards(self, part: str) -> list[UPath]:
        """Return the Parquet files of a part, one of `SET_PARTS`, or those that one of `COMBINED` is read from."""
        return [
            shard for name in _list_stored(part) for shard in sorted(self.path.glob(f"{name}-*-of-*.parquet"), key=str)
        ]

    def read(self, part: str, families: Collection[str] = (), columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of a part, of all families or of the named ones.

        Those of `COMBINED` are in an order that the set's seed draws. What else reads rows here calls this, so that who
        has a part already, as a training has, hands it out instead. Raises `LearnableError` for a shard that is not
        readable Parquet, and as `read_rejected` does.
        """
        if part in COMBINED:
            return self._read_combined(part, families, columns)
        digests = self._digests(part)
        return pa.concat_tables(
            [_read_shard(shard, digests.get(shard.name), columns, families) for shard in self.shards(part)]
        )

    def read_rejected(self, side: Split, families: Collection[str] = ()) -> pa.Table:
        """Return the prompts of one side of the split that were looked at and not kept: of the rejects and the reserve.

        Prompts that repeat others, or that have no score, are left out. Raises `LearnableError` for a set that does
        not say on which side its rejects are, and for a shard that is not readable Parquet.
        """
        tables = [self.read("train", families).slice(0, 0)]
        for part in UNKEPT_PARTS:
            if self.shards(part):
                tables.append(_pick_looked_at(self.read(part, families), side, f"{part} of {str(self.path)!r}"))
        return pa.concat_tables(tables, promote_options="permissive")

    def read_mastered(self, side: Split, families: Collection[str] = ()) -> pa.Table:
        """Return the prompts of one side that the policy had mastered, and that were left out as too easy.

        None of a set that does not say on which side they are. Raises `LearnableError` for a shard that is not
        readable Parquet.
        """
        try:
            rejected = self.read_rejected(side, families)
        except UnknownSideError:
            return self.read("train", families).slice(0, 0)
        return _pick_mastered(rejected) if rejected.num_rows else rejected

    def _read_combined(self, part: str, families: Collection[str], columns: Sequence[str] | None) -> pa.Table:
        train, others = self.read("train", families), self.read_rejected("train", families)
        if part == REVIEWED_PART and others.num_rows:
            share = 0.1  # of all prompts
            mastered = _pick_mastered(others)
            wanted = round(train.num_rows * share / (1 - share))
            others = self._shuffle(mastered, part).slice(0, wanted)
        rows = self._shuffle(pa.concat_tables([train, others], promote_options="permissive"), part)
        return rows if columns is None else rows.select(list(columns))

    def _shuffle(self, rows: pa.Table, part: str) -> pa.Table:
        keys = [content_id(self.manifest.seed, part, prompt_id) for prompt_id in rows["prompt_id"].to_pylist()]
        return rows.take(pc.sort_indices(pa.array(keys, pa.string())))

    def check_shards(self, parts: Collection[str]) -> None:
        """Raise `LearnableError` for a shard that is gone, or is not the one that the manifest was written with."""
        for stored in [name for part in parts for name in _list_stored(part)]:
            digests = self._digests(stored)
            for shard in self.shards(stored):
                _check_digest(shard, shard.read_bytes(), digests.get(shard.name))

    def _digests(self, part: str) -> dict[str, str]:
        """Return what the manifest says of each shard; nothing for a set that was made by hand.

        Raises `LearnableError` for a shard that is gone.
        """
        digests = dict(self.manifest.parts[part].sha256) if part in self.manifest.parts else {}
        for name in digests:
            if not (self.path / name).is_file():
                raise LearnableError(f"shard {str(self.path / name)!r} is gone: {RESTORE}")
        return digests


def publish_curated(place: PathOrUrl, parts: Mapping[str, Rows], manifest: Manifest) -> CuratedSet:
    """Write the next version of the curated set in the folder `place`: a reader sees all of it or nothing.

    `manifest` needs no `parts` and no `schema`: they follow from the tables in `parts`. The version that was the latest
    is its `parent`, unless it names another. When the latest version holds the very same rows, drawn and judged in
    the same way, that one is returned and nothing is written. Raises `LearnableError` when the folder cannot be
    written.
    """
    folder = find_place(place)
    latest = find_versions(folder)[-1:]
    try:
        with _staging(folder) as staging:
            complete = manifest.with_changes(
                parent=manifest.parent or (latest[0].name if latest else None),
                parts={name: _write_shards(staging, name, table) for name, table in parts.items()},
                schema={field.name: str(field.type) for field in _slice(parts["train"], 0, 0).schema},
            )
            if latest and _says_the_same(previous := open_curated(latest[0]), complete):
                return previous
            (staging / CARD).write_text(render_card(folder.name, complete), encoding="utf-8")
            (staging / MANIFEST).write_text(json.dumps(complete.to_json(), indent=2) + "\n", encoding="utf-8")
            return open_curated(_claim_version(folder, staging))
    except OSError as error:
        raise LearnableError(f"cannot write curated set {str(folder)!r}: {error.strerror or error}") from error


def open_curated(path: PathOrUrl) -> CuratedSet:
    """Open a version's folder, or the latest version of the set's folder.

    Raises `LearnableError` naming what is missing, for a manifest that cannot be read, and for a set of another format.
    """
    folder = find_place(path)
    if not folder.is_dir():
        homes = [home for home in (find_place("learnable-store") / "curated", folder.parent) if home.is_dir()]
        known = {place.name: place for home in homes for place in home.iterdir()}
        near = nearest_names(folder.name, known)
        hint = f"did you mean {str(known[near[0]])!r}?" if near else "make one with find-learnable"
        raise LearnableError(f"curated set {str(path)!r} does not exist: {hint}")
    if versions := find_versions(folder):
        folder = versions[-1]
    try:
        given = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise LearnableError(f"curated set {str(path)!r} has no {MANIFEST}: it is not a curated set") from error
    except json.JSONDecodeError as error:
        raise LearnableError(f"manifest of {str(folder)!r} is not valid JSON: {error}") from error
    if isinstance(given, dict):
        check_number(given.get("format"), f"curated set {str(folder)!r}", "curate it again with find-learnable")
    try:
        return CuratedSet(folder, Manifest.from_json(given))
    except LearnableError as error:
        raise LearnableError(f"manifest of {str(folder)!r}: {error}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise LearnableError(f"manifest of {str(folder)!r} is not a curated set's ({error}): {RESTORE}") from error


def download_curated(curated: CuratedSet) -> CuratedSet:
    """Return the set in a local folder: itself where it is in one, else a copy that is made once a version."""
    if local_path(curated.path):
        return curated
    target = cache_folder() / "curated" / content_id(str(curated.path), to_plain(curated.manifest.parts))
    if not (target / MANIFEST).is_file():
        for file in sorted(curated.path.iterdir(), key=lambda file: file.name == MANIFEST):
            put(find_place(target / file.name), file.read_bytes())
    return CuratedSet(find_place(target), curated.manifest)


def find_versions(place: PathOrUrl) -> list[UPath]:
    """Return the published versions of a curated set, oldest first: those that are whole."""
    return [version for version in _numbered(find_place(place)) if (version / MANIFEST).is_file()]


def _numbered(folder: UPath) -> list[UPath]:
    return sorted(
        (path for path in folder.glob("v[0-9]*") if path.name[1:].isdigit()), key=lambda path: int(path.name[1:])
    )


def _list_stored(part: str) -> tuple[str, ...]:
    return ("train", *UNKEPT_PARTS) if part in COMBINED else (part,)


def _pick_looked_at(rows: pa.Table, side: Split, where: str) -> pa.Table:
    for name in ("split", "decision"):
        if name not in rows.column_names:
            raise UnknownSideError(
                f"{where} have no column {name!r}, so which of them are held out is not known: curate the set again "
                "with find-learnable, or look at its kept prompts alone"
            )
    looked_at = pc.invert(pc.is_in(rows["decision"], value_set=pa.array(NOT_SAMPLED)))
    return rows.filter(pc.and_(pc.equal(rows["split"], pa.scalar(side)), looked_at))


def _pick_mastered(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.equal(rows["decision"], pa.scalar("too_easy")))


def _read_shard(shard: UPath, digest: str | None, columns: Sequence[str] | None, families: Collection[str]) -> pa.Table:
    try:
        data = shard.read_bytes()
        _check_digest(shard, data, digest)
        return read_table(data, columns, families)
    except (OSError, pa.ArrowInvalid) as error:
        raise LearnableError(f"shard {str(shard)!r} is not readable Parquet: {error}; curate the set again") from error


def _check_digest(shard: UPath, data: bytes, written: str | None) -> None:
    if written is not None and hashlib.sha256(data).hexdigest() != written:
        raise LearnableError(f"shard {str(shard)!r} is not as its manifest says (its SHA-256 differs): {RESTORE}")


def _write_shards(folder: Path, part: str, rows: Rows) -> SetPart:
    count = max(1, -(-len(rows) // ROWS_AT_ONCE))
    files = {}
    for index in range(count):
        path = folder / f"{part}-{index:05d}-of-{count:05d}.parquet"
        pq.write_table(_slice(rows, index * ROWS_AT_ONCE, ROWS_AT_ONCE), path, compression="zstd")
        files[path.name] = hash_file(path)
    return SetPart(rows=len(rows), sha256=files)


def _slice(rows: Rows, start: int, length: int) -> pa.Table:
    part = rows.slice(start, length)
    return part.to_arrow() if isinstance(part, pl.DataFrame) else part


def _says_the_same(curated: CuratedSet, manifest: Manifest) -> bool:
    there = curated.manifest
    same_draw = there.sampling.sampling_id == manifest.sampling.sampling_id
    return same_draw and there.parts == manifest.parts and there.verifiers == manifest.verifiers


@contextmanager
def _staging(folder: UPath) -> Iterator[Path]:
    """Make a folder to fill: beside the versions where a rename can publish it, else on this machine."""
    if (local := local_path(folder)) is None:
        with tempfile.TemporaryDirectory(prefix="curated-") as staging:
            yield Path(staging)
        return
    staged = local / f".staging-{uuid.uuid4().hex[:8]}"
    try:
        staged.mkdir(parents=True)
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _claim_version(folder: UPath, staging: Path) -> UPath:
    """Publish what is staged under the next free number: by a rename, or object by object with the manifest last."""
    number = max((int(path.name[1:]) for path in _numbered(folder)), default=0) + 1
    while not _publish_as(target := folder / f"v{number:04d}", staging):
        number += 1  # another run may have published one meanwhile
    return target


def _publish_as(target: UPath, staging: Path) -> bool:
    """Publish what is staged as this version; return whether it was free."""
    if target.exists():
        return False
    if local := local_path(target):
        for path in (*staging.iterdir(), staging):
            sync(path)
        try:
            staging.rename(local)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                return False
            raise
        sync(local.parent)
        return True
    card, *others = sorted(staging.iterdir(), key=lambda file: (file.name == MANIFEST, file.name != CARD))
    if not create(target / card.name, card.read_bytes()):
        return False
    for file in others:
        put(target / file.name, file.read_bytes())
    return True
