"""Publishes a curated set: its parts, manifest and card, without a word of the machine that they were made on."""

from __future__ import annotations

import io
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from learnable.data.curated.card import Publication, render_card
from learnable.data.curated.curated_set import MANIFEST, POOL_PARTS, CuratedSet
from learnable.data.curated.manifest import SetPart
from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.progress import progress
from learnable.data.publication.destinations import (
    CARD,
    Change,
    Destination,
    FolderDestination,
    PublishedFile,
    find_destination,
)
from learnable.data.publication.privacy import (
    check_rows,
    check_text,
    clean_manifest,
    clean_place,
    clean_text,
    list_private_paths,
    split_place,
)
from learnable.data.publication.provenance import PromptSource, choose_licenses, describe_sources
from learnable.data.storage.places import local_path
from learnable.data.tables import parquet_bytes
from learnable.flows.settings.publishing import PublishSettings
from learnable.flows.showing import find_set, set_name

SOURCE = "source"  # the column that says where a row came from
BUILTIN = "builtin"  # what it says of the prompts of our generators
UNKNOWN = "an unknown place"
Amend = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file of a published set: its name, bytes and SHA-256, and whether it is new there, changed, or the same."""

    name: str
    bytes: int
    sha256: str
    change: Change


@dataclass(frozen=True, slots=True)
class PublishReport:
    """What went up, or with `dry_run` would: files, what was `removed`, and the `card`. `address` is where it is.

    `sent` and `bytes` count the files that are not there already. `licenses` is empty where none is known.
    """

    curated: str
    to: str
    address: str
    dry_run: bool
    files: tuple[SentFile, ...]
    removed: tuple[str, ...]
    sent: int
    bytes: int
    licenses: tuple[str, ...]
    sources: tuple[PromptSource, ...]
    card: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A set as it may be read by others: its files, and what its card says of licence and sources."""

    files: tuple[PublishedFile, ...]
    licenses: tuple[str, ...]
    sources: tuple[PromptSource, ...]
    card: str


def run_publish(settings: PublishSettings, amend: Amend | None = None) -> PublishReport:
    """Publish a version of a curated set, or its latest. What is there already is not sent again.

    `amend` may give the rows of each part more columns. Raises `LearnableError` for a set that cannot be read or names
    a path of this machine, and for a destination that does not take it.
    """
    curated = find_set(settings.curated, settings.store)
    destination = find_destination(settings.to, private=settings.private)
    _check_apart(curated, destination)
    with tempfile.TemporaryDirectory(prefix="publish-") as staging:
        progress().stage(f"Reading {set_name(curated)}")
        prepared = prepare(curated, settings, destination, Path(staging), amend)
        changes, stale = _compare(destination, prepared.files, dry_run=settings.dry_run)
        wanted = [file for file in prepared.files if changes[file.name] != "same"]
        size, address = sum(file.size for file in wanted), ""
        if (wanted or stale) and not settings.dry_run:
            progress().stage(f"Sending {len(wanted)} files ({size:,} bytes) to {settings.to}")
            address = destination.send(wanted, stale, f"{set_name(curated)}, made by Learnable")
    return PublishReport(
        curated=str(curated.path),
        to=settings.to,
        address=address or settings.to,
        dry_run=settings.dry_run,
        files=tuple(SentFile(file.name, file.size, file.sha256, changes[file.name]) for file in prepared.files),
        removed=tuple(stale),
        sent=len(wanted),
        bytes=size,
        licenses=prepared.licenses,
        sources=prepared.sources,
        card=prepared.card,
    )


def prepare(
    curated: CuratedSet,
    settings: PublishSettings,
    destination: Destination,
    staging: Path,
    amend: Amend | None = None,
) -> Prepared:
    """Write into the folder `staging` what goes up.

    Raises `LearnableError` for shards that are not as the manifest says, and for rows that name a private path.
    """
    told, dropped = curated.manifest, settings.drop_columns
    if unknown := [name for name in dropped if name not in told.schema]:
        raise UnknownNameError("column", unknown[0], list(told.schema))
    folders = [path for path in (local_path(curated.path), local_path(curated.path.parent)) if path]
    private = list_private_paths(told, [str(path.absolute()) for path in folders])
    prompts: Counter[tuple[str, str]] = Counter()
    files: list[PublishedFile] = []
    parts: dict[str, SetPart] = {}
    schema = {name: kind for name, kind in told.schema.items() if name not in dropped}
    curated.check_shards(told.parts)
    for part, info in told.parts.items():
        shards = []
        for name in info.sha256:
            rows = pq.read_table(io.BytesIO((curated.path / name).read_bytes()))
            if part in POOL_PARTS:
                prompts.update(_count_places(rows))
            cleaned = _clean_rows(rows, dropped)
            cleaned = amend(cleaned) if amend else cleaned
            if part == "train":
                schema |= {field.name: str(field.type) for field in cleaned.schema if field.name not in schema}
            shards.append(_stage_shard(curated, name, rows, cleaned, private, staging))
        files += shards
        parts[part] = SetPart(rows=info.rows, sha256={shard.name: shard.sha256 for shard in shards})
    manifest = clean_manifest(told.with_changes(parts=parts, schema=schema), private)
    sources = describe_sources(prompts)
    licenses = (settings.license,) if settings.license else choose_licenses(sources)
    publication = Publication(destination.title, licenses, tuple((s.name, s.prompts, s.license) for s in sources))
    card = render_card(clean_text(set_name(curated).partition(" ")[0], private), manifest, publication)
    for file, text in {CARD: card, MANIFEST: json.dumps(manifest.to_json(), indent=2) + "\n"}.items():
        check_text(text, private, file)
        (staging / file).write_text(text, encoding="utf-8")
        files.append(PublishedFile.of(staging / file))
    return Prepared(tuple(files), licenses, sources, card)


def _stage_shard(
    curated: CuratedSet, name: str, rows: pa.Table, cleaned: pa.Table, private: Sequence[str], staging: Path
) -> PublishedFile:
    """Return a shard as it goes up: the very file where there was nothing to clean."""
    check_rows(pl.DataFrame(cleaned), private, name)
    if cleaned is rows and (path := local_path(curated.path / name)):
        return PublishedFile.of(path)
    data = (curated.path / name).read_bytes() if cleaned is rows else parquet_bytes(cleaned)
    (staging / name).write_bytes(data)
    return PublishedFile.of(staging / name)


def _clean_rows(rows: pa.Table, dropped: Sequence[str]) -> pa.Table:
    """Return rows without the dropped columns, and with names for where they came from; themselves if all is well."""
    kept = rows.drop_columns([name for name in dropped if name in rows.column_names]) if dropped else rows
    if SOURCE not in kept.column_names:
        return kept
    places = kept[SOURCE].to_pylist()
    clean = [place and clean_place(place) for place in places]
    if clean == places:
        return kept
    index = kept.column_names.index(SOURCE)
    return kept.set_column(index, SOURCE, pa.array(clean, kept.schema.field(SOURCE).type))


def _count_places(rows: pa.Table) -> Counter[tuple[str, str]]:
    """Return how many rows came from each location, or where that is not said from each family."""
    families = rows["family"].to_pylist() if "family" in rows.column_names else [""] * rows.num_rows
    places = rows[SOURCE].to_pylist() if SOURCE in rows.column_names else [None] * rows.num_rows
    return Counter(
        ("", str(family)) if place == BUILTIN else (split_place(str(place or ""))[0] or UNKNOWN, "")
        for place, family in zip(places, families, strict=True)
    )


def _check_apart(curated: CuratedSet, destination: Destination) -> None:
    """Raise `LearnableError` where a set would be published onto itself, or among its own versions."""
    if not isinstance(destination, FolderDestination):
        return
    there = [local_path(place) or place for place in (destination.folder, curated.path, curated.path.parent)]
    to, *own = [place.resolve() if isinstance(place, Path) else place for place in there]
    if to in own:
        raise LearnableError(f"`to` {str(destination.folder)!r} is the set itself: give another folder")


def _compare(
    destination: Destination, files: Sequence[PublishedFile], *, dry_run: bool
) -> tuple[dict[str, Change], list[str]]:
    """Compare files with those that are there. A dry run goes on where the hub cannot be asked."""
    try:
        return destination.compare(files)
    except LearnableError as error:
        if not dry_run or isinstance(destination, FolderDestination):
            raise
        progress().note(f"every file is taken to be new: {error}")
        return {file.name: "new" for file in files}, []
