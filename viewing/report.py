"""The report of a version: one file with every prompt's figures and, as far as it has room, their completions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from upath import UPath

from learnable.data.curated.curated_set import POOL_PARTS, CuratedSet
from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.records import JsonObject, Prompt
from learnable.data.storage.places import put
from learnable.data.store import Store, find_home
from learnable.viewing.groups import read_scores
from learnable.viewing.packing import encode_columns, fill_page, pack, pack_each, read_page
from learnable.viewing.prompts import measure_head, read_prompts, read_questions, scan_pool
from learnable.viewing.sample import Block, pack_blocks
from learnable.viewing.summary import KEPT, summarise_scores, summarise_version
from learnable.viewing.training import read_run

REPORT = "report.html"
AFTER_A_RUN = 100_000  # prompts: of more, figures and beginnings alone take over 40 MB, and gigabytes to make
ROOM = 38_000_000  # characters of a report, so that it stays under 40 MB
HEADS = 4_096  # prompts whose beginnings a browser unpacks together
EXPLAINED, EXPLAINED_AFTER_A_RUN = 100, 24  # completions: reading a sonnet takes a twentieth of a second


@dataclass(frozen=True, slots=True)
class Written:
    """A report that was written: how many characters, and the prompts and completions in it."""

    place: UPath
    size: int
    prompts: int
    with_completions: int


def write_report(
    curated: CuratedSet,
    place: UPath,
    store: Store | None = None,
    runs: Sequence[Path] = (),
    *,
    room: int = ROOM,
    explained: int = EXPLAINED,
) -> Written:
    """Write the report of a version.

    Args:
        curated: the version.
        place: where to write the file.
        store: holds the completions; by default the store that the version lies in, if it does in any.
        runs: folders of training runs whose curves are shown.
        room: characters at most, but that figures and beginnings of all prompts always have room.
        explained: completions at most that are explained line by line, where their domain can.

    Raises `LearnableError` for files that cannot be read or written.
    """
    home = store or find_home(curated.path)
    first, later, told = build_report(curated, home, [read_run(run) for run in runs], room, explained)
    data = "".join(fill_page(first, later)).encode()
    try:
        put(place, data)
    except OSError as error:
        raise LearnableError(f"cannot write {str(place)!r}: {error.strerror or error}") from error
    return Written(place, len(data), told["prompts"], told["with_completions"])


def write_beside(curated: CuratedSet, store: Store) -> None:
    """Write the report of a version beside its manifest, unless it is there. A version is its shards: none changes.

    A report that cannot be written is told, and a run ends well without it. A pool of millions has none.
    """
    place = curated.path / REPORT
    stored = curated.manifest.parts
    if (prompts := sum(stored[part].rows for part in POOL_PARTS if part in stored)) > AFTER_A_RUN:
        progress().note(f"{prompts:,} prompts are more than a report of a run holds: `learnable view` shows them")
        return
    try:
        if not place.is_file():
            write_report(curated, place, store, explained=EXPLAINED_AFTER_A_RUN)
    except (LearnableError, OSError) as error:
        progress().warn(f"the report of {str(curated.path)!r} was not written: {error}")


def build_report(
    curated: CuratedSet, home: Store | None, runs: Sequence[JsonObject], room: int, explained: int
) -> tuple[dict[str, str], dict[str, str], JsonObject]:
    """Return the parts of the page, packed: the first and the later ones; and what they say of how much is in it."""
    rows, pool = read_prompts(curated), scan_pool(curated)
    summary = summarise_version(curated, rows) | {"runs": list(runs), "scores": None}
    heads = [
        encode_columns(rows["head", "cut"][start : start + HEADS]) for start in range(0, max(rows.height, 1), HEADS)
    ]
    later = {f"heads-{number}": text for number, text in enumerate(pack_each(heads))}
    rows = rows.drop("head", "cut")
    prompts: dict[str, Prompt] = {}
    if home is not None:
        prompts = {prompt.prompt_id: prompt for prompt in read_questions(curated, pool)}
        kept = frozenset(rows.filter(KEPT)["prompt_id"])
        counts = dict(rows.select("prompt_id", pl.col("rollouts").fill_null(0)).iter_rows())
        rollouts = np.array([counts[name] for name in prompts], np.int64)
        scores = read_scores(home.ledger, curated.manifest, list(prompts.values()), rollouts, kept)
        summary["scores"] = summarise_scores(scores)
        rows = with_components(rows, scores.components)
    first = {"summary": pack(summary), "prompts": pack(encode_columns(rows))}
    blocks: list[Block] = []
    if home is not None:
        left = room - sum(map(len, (*first.values(), *later.values(), read_page()))) - rows.height
        blocks = pack_blocks(curated, home, rows, prompts, left, explained)
    place = {name: number for number, block in enumerate(blocks) for name in block.prompt_ids}
    told = {
        "prompts": rows.height,
        "with_completions": len(place),
        "completions": sum(block.completions for block in blocks),
        "explained": sum(block.explained for block in blocks),
        "blocks": len(blocks),
        "head": measure_head(rows.height),
        "heads": HEADS,
        "has_store": home is not None,
    }
    first |= {
        "summary": pack(summary | {"sample": told}),
        "blocks": pack([place.get(name, -1) for name in rows["prompt_id"]]),
    }
    return first, later | {f"block-{number}": block.text for number, block in enumerate(blocks)}, told


def with_components(rows: pl.DataFrame, components: pl.DataFrame) -> pl.DataFrame:
    """Return the table of prompts with the mean of each component of their rewards, as `component/NAME`."""
    names = {name: f"component/{name}" for name in components.columns[1:]}
    return rows.join(components.rename(names), on="prompt_id", how="left", maintain_order="left")
