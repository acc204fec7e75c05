"""What a person looks at in a curated set: its prompts, and all that one prompt's completions and scores say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import polars as pl
from upath import UPath

from learnable.data.curated.curated_set import (
    COMPLETION_PARTS,
    MANIFEST,
    POOL_PARTS,
    CuratedSet,
    find_versions,
    open_curated,
)
from learnable.data.errors import LearnableError, UnknownNameError, nearest_names
from learnable.data.records import Row
from learnable.data.storage.places import find_place, local_path
from learnable.data.store import Store, find_home
from learnable.data.tables import prompt_from_row
from learnable.filters.decisions.decide import PREDICTED, REASONS, UNASKED
from learnable.filters.decisions.triage import TRIAGES
from learnable.viewing.groups import read_group

KEPT_PARTS, REJECTED_PARTS = POOL_PARTS[:2], POOL_PARTS[2:]
PART = "part"  # the column that says which part of the set a row is from
MIN_ID_DIGITS = 8
# Columns that a person looks for, and that a part of a set may not have.
JUDGED = {"decision": pl.String, "triage": pl.String, "n": pl.Int64, "mean": pl.Float64, "std": pl.Float64}
REASONED = ("decision", "triage")


@dataclass(frozen=True, slots=True)
class ShownCompletion:
    """A completion with its score, whose fields are None where the store has no honest one by the verifier's version.

    The fields are those of `Rollout` and `Score`, in the order in which `--json` has them.
    """

    rollout_index: int
    rollout_id: str
    finish_reason: str
    num_tokens: int
    reasoning_tokens: int
    max_tokens: int
    seed: int | None
    reasoning: str
    completion: str
    reward: float | None
    passed: bool | None
    verdict: str | None
    reason: str | None
    components: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """One prompt of a version: its row (with `part`), and its completions, best first.

    `completions` is None where the store is not at hand, and `note` says why; it also says where there are more or
    fewer of them than the certificate counts.
    """

    curated: CuratedSet
    row: Row
    completions: Sequence[ShownCompletion] | None
    note: str = ""


def find_set(place: str, store: str) -> CuratedSet:
    """Open a set with all that is shown of it, as `locate_set` does. Raises `LearnableError` where something is not."""
    return _checked(locate_set(place, store))


def locate_set(place: str, store: str) -> CuratedSet:
    """Open a set by its folder, a version's, or its name in a store (`name` or `name/v0001`).

    Raises `LearnableError` naming the nearest set.
    """
    named = Store(store).curated
    places = [find_place(place)] if "://" in place else [find_place(place), named / place]
    for folder in places:
        if find_versions(folder) or (folder / MANIFEST).is_file():
            return open_curated(folder)
    if names := _folders(places[0] / "curated"):
        raise LearnableError(
            f"{place!r} is a store: name one of its curated sets, such as {place.rstrip('/')}/curated/{names[0]}"
        )
    if near := nearest_names(place, _folders(named)):
        offer = " or ".join(map(repr, near))
        raise LearnableError(f"curated set {place!r} does not exist: did you mean {offer} in {store!r}?")
    return open_curated(place)


def _checked(curated: CuratedSet) -> CuratedSet:
    needed = ("parts", "policy", "sampling", "verifiers", "band", "group_size")
    if missing := curated.manifest.find_absent(needed):
        raise LearnableError(
            f"manifest of {str(curated.path)!r} has no {', '.join(missing)}: curate the set again with find-learnable"
        )
    return curated


def _folders(place: UPath) -> list[str]:
    return sorted(path.name for path in place.iterdir() if path.is_dir()) if place.is_dir() else []


def set_name(curated: CuratedSet) -> str:
    """Return what a version is called: `arithmetic v0001`, or its folder's name where that is no version's."""
    path = _absolute(curated)
    return f"{path.parent.name} {path.name}" if path.name[1:].isdigit() else path.name


def read_rows(curated: CuratedSet, parts: Sequence[str]) -> pl.DataFrame:
    """Return the rows of some parts of a version, with `part`.

    Parts of `POOL_PARTS` that the version does not have are left out. Raises `LearnableError` for any other.
    """
    there = [part for part in curated.manifest.parts if part not in COMPLETION_PARTS]
    if unknown := [part for part in parts if part not in (*POOL_PARTS, *there)]:
        raise UnknownNameError("part", unknown[0], there)
    tables = [
        pl.DataFrame(curated.read(part)).with_columns(pl.lit(part).alias(PART)) for part in parts if part in there
    ]
    if not tables:
        raise LearnableError(f"{str(curated.path)!r} has no part {' or '.join(parts)}: it has {', '.join(there)}")
    rows = pl.concat(tables, how="diagonal_relaxed")
    return rows.with_columns(
        pl.lit(None, kind).alias(name) for name, kind in JUDGED.items() if name not in rows.columns
    )


def with_reason(rows: pl.DataFrame, reason: str) -> pl.DataFrame:
    """Return the rows that have `reason` as their decision or triage.

    Raises `UnknownNameError` for a reason that is neither.
    """
    if reason not in (*REASONS, *TRIAGES):
        raise UnknownNameError("reason", reason, (*REASONS, *TRIAGES))
    return rows.filter((pl.col("decision") == reason) | (pl.col("triage") == reason))


def count_reasons(rows: pl.DataFrame) -> dict[str, int]:
    """Return how many rows each decision has, then each triage, the most common first."""
    counted = [
        rows[name].drop_nulls().value_counts().sort("count", name, descending=[True, False]) for name in REASONED
    ]
    return {reason: count for counts in counted for reason, count in counts.iter_rows()}


def id_digits(prompt_ids: pl.Series) -> int:
    """Return how many digits of these ids tell them apart, at least `MIN_ID_DIGITS`."""
    distinct = prompt_ids.n_unique()
    longest = int(prompt_ids.str.len_chars().max() or MIN_ID_DIGITS)  # type: ignore[arg-type]
    sizes = range(MIN_ID_DIGITS, longest)
    return next((size for size in sizes if prompt_ids.str.slice(0, size).n_unique() == distinct), longest)


def find_row(rows: pl.DataFrame, prefix: str) -> Row:
    """Return the row of the one prompt whose id starts so. Raises `LearnableError` where none does, or several do."""
    matches = rows.filter(pl.col("prompt_id").str.starts_with(prefix)).unique("prompt_id", keep="first")
    if matches.height == 1:
        return matches.row(0, named=True)
    ids = (matches if matches.height else rows)["prompt_id"].unique().sort().to_list()
    shown = 5  # prompts that an error names
    if matches.height:
        more = f" and {len(ids) - shown} more" if len(ids) > shown else ""
        raise LearnableError(f"prompt {prefix!r} is not one alone: {', '.join(ids[:shown])}{more}; give more of its id")
    by_start = {prompt_id[: len(prefix)]: prompt_id for prompt_id in ids}
    near = [by_start[start] for start in get_close_matches(prefix, by_start, n=3, cutoff=0.5)]
    offer = f"did you mean {' or '.join(near)}?" if near else "leave the id out to list them"
    raise LearnableError(f"no prompt here has an id that starts with {prefix!r}: {offer}")


def show_prompt(curated: CuratedSet, row: Row, store: str | None = None) -> ShownPrompt:
    """Return a prompt with its completions out of `store`, or out of the store that the set lies in."""
    home = _store_of(curated, store)
    if home is None:
        return ShownPrompt(
            curated, row, None, "the set lies in no store, so its completions are not here: give `store`"
        )
    rows = read_group(home.ledger, curated.manifest, prompt_from_row(row, str(curated.path))).to_dicts()
    listed = [ShownCompletion(**one | {"components": dict(one["components"] or {})}) for one in rows]
    return ShownPrompt(curated, row, listed or None, _note(curated, row, len(listed), home))


def _store_of(curated: CuratedSet, store: str | None) -> Store | None:
    if store is not None:
        return Store(store).open()
    return find_home(curated.path)


def _absolute(curated: CuratedSet) -> UPath:
    path = local_path(curated.path)
    return find_place(path.absolute()) if path else curated.path


def _note(curated: CuratedSet, row: Row, stored: int, store: Store) -> str:
    """Say why there are no completions, or not as many as the certificate is made of; nothing where all is well."""
    if row["decision"] in ("duplicate", "contaminated"):
        return f"never sampled: it is a {row['decision']} prompt" + (
            f", and repeats {row['collides_with']}" if row.get("collides_with") else ""
        )
    if row["decision"] in PREDICTED:
        return "never sampled: its pass rate was predicted, and its certificate is that of prompts like it"
    if row["decision"] == UNASKED:
        return "never sampled: others were enough, and its certificate is that of prompts like it"
    if row.get("certified_by") == "moved":
        came = (curated.manifest.refresh and curated.manifest.refresh.refreshed_from.version) or "the version before"
        return f"its certificate was moved from the rollouts of an earlier policy: see {came} of this set"
    made = row["rollouts"] or 0
    if stored == made:
        return "" if made else "it has no completions"
    where = str(store.root)
    if not stored:
        return f"the store {where!r} does not hold its {made} completions"
    if stored > made:
        return (
            f"the certificate rests on the first {made}; the store {where!r} holds {stored}, as a later run drew more"
        )
    return f"the certificate rests on {made}, of which the store {where!r} holds {stored}"
