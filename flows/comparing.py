"""Two versions, policies or runs side by side: what moved in and out of the band, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from learnable.data.curated.curated_set import POOL_PARTS, CuratedSet, open_curated
from learnable.data.curated.record import to_plain
from learnable.data.curated.refreshed import Changes, FamilyDrift
from learnable.data.errors import LearnableError, nearest_names
from learnable.data.records import JsonObject, weights_id
from learnable.data.store import Store
from learnable.filters.refresh.movement import CAUSES, JOINED, KEEP, LEFT, explain_moves, match_rows
from learnable.filters.refresh.staleness import fit_drifts
from learnable.flows.refreshing.publishing import SIDES
from learnable.flows.showing import find_set, read_rows, set_name

DIFFERING = {"band": "band", "preset": "preset", "group_size": "group size", "truncated": "truncated completions"}
COUNTED = ("prompts", "kept_before", "kept_now", "keep_to_drop", "drop_to_keep", "unchanged")
BELIEVED = ("alpha", "beta", "p_zero", "p_one")


@dataclass(frozen=True, slots=True)
class Pool:
    """One side of a comparison: a version with its manifest, or the groups that a run decided."""

    name: str
    rows: pl.DataFrame
    curated: CuratedSet | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """One prompt that is kept on one side alone: its figures on both, None where a side does not have it."""

    prompt_id: str
    prompt: str
    form: str
    move: str
    cause: str
    decision: str | None
    mean: float | None
    n: float | None
    decision_after: str | None
    mean_after: float | None
    n_after: float | None


@dataclass(frozen=True, slots=True)
class SetComparison:
    """What two pools have in common and what moved between them.

    `differs` says in words what else is not the same. `changes` counts prompts that both have, `alone_before` and
    `alone_after` those of one of them. `causes` has by move (`left`, `joined`) how many prompts moved for which reason,
    and `decisions` how many had each pair of decisions. `drift` is how far the rates of each family moved. `moves` are
    the prompts that moved, those whose mean moved most first.
    """

    before: str
    after: str
    differs: tuple[str, ...]
    changes: Changes
    alone_before: int
    alone_after: int
    kept_before: int
    kept_after: int
    causes: Mapping[str, Mapping[str, int]]
    decisions: Mapping[str, Mapping[str, int]]
    drift: tuple[FamilyDrift, ...]
    moves: tuple[Move, ...] = field(default=())

    def to_json(self) -> JsonObject:
        """Return the comparison as `--json` prints it."""
        plain: JsonObject = to_plain(self)
        return plain | {"changes": {key: value for key, value in plain["changes"].items() if key in COUNTED}}


def compare_sets(before: str, after: str | None, store: str) -> SetComparison:
    """Compare two curated sets, versions, or runs of a store; without `after`, a version with its parent.

    Raises `LearnableError` for what cannot be found, and where the two have no prompt in common.
    """
    first, second = (
        (_find_parent(before, store), _find_pool(before, store))
        if after is None
        else (
            _find_pool(before, store),
            _find_pool(after, store),
        )
    )
    matched = match_rows(first.rows, second.rows)
    shared = matched.filter(pl.col("decision").is_not_null() & pl.col("decision_after").is_not_null())
    if not shared.height:
        raise LearnableError(
            f"{first.name} and {second.name} have no prompt in common: compare versions of one set, or sets of one pool"
        )
    moved = explain_moves(
        matched,
        same_policy=_same_policy(first, second),
        same_rules=not _differing_rules(first, second),
        changed_judges=_changed_judges(first, second),
    )
    was, is_ = pl.col("decision") == KEEP, pl.col("decision_after") == KEEP
    counted = shared.with_columns(was.alias("was"), is_.alias("is"))
    decided = shared.group_by("decision", "decision_after").len().sort("decision", "decision_after")
    return SetComparison(
        before=first.name,
        after=second.name,
        differs=tuple(_describe_differences(first, second)),
        changes=Changes(**counted.select(*SIDES).to_dicts()[0]),
        alone_before=matched.filter(pl.col("decision_after").is_null()).height,
        alone_after=matched.filter(pl.col("decision").is_null()).height,
        kept_before=int((first.rows["decision"].cast(pl.String) == KEEP).sum()),
        kept_after=int((second.rows["decision"].cast(pl.String) == KEEP).sum()),
        causes={move: _count_causes(moved, move) for move in (LEFT, JOINED)},
        decisions=_nest(decided),
        drift=_fit(shared),
        moves=tuple(_list_moves(moved)),
    )


def _find_pool(place: str, store: str) -> Pool:
    """Return a set, a version or a run of the store. Raises `LearnableError` with the nearest names."""
    groups = Store(store).root / "groups"
    if (file := groups / f"{place}.parquet").is_file():
        return Pool(f"run {place}", pl.read_parquet(file.read_bytes()))
    try:
        curated = find_set(place, store)
    except LearnableError as error:
        runs = [path.stem for path in groups.glob("*.parquet")] if groups.is_dir() else []
        if near := nearest_names(place, runs):
            raise LearnableError(f"{error}; or the run {near[0]!r} of {store!r}?") from error
        raise
    return _as_pool(curated)


def _find_parent(place: str, store: str) -> Pool:
    curated = _find_pool(place, store).curated
    if curated is None:
        raise LearnableError(f"a run has no parent: give the other one of the two, as in learnable compare {place} B")
    parent = curated.manifest.parent
    if not parent or not (curated.path.parent / parent).is_dir():
        raise LearnableError(
            f"{set_name(curated)} has no parent version to compare with: give another set, version or run as B"
        )
    return _as_pool(open_curated(curated.path.parent / parent))


def _as_pool(curated: CuratedSet) -> Pool:
    parts = [part for part in POOL_PARTS if curated.shards(part)]
    return Pool(set_name(curated), read_rows(curated, parts), curated)


def _same_policy(first: Pool, second: Pool) -> bool:
    if first.curated is None or second.curated is None:
        return first.curated is second.curated
    ids = [weights_id(pool.curated.manifest.policy.policy_id) for pool in (first, second) if pool.curated]
    return ids[0] == ids[1]


def _differing_rules(first: Pool, second: Pool) -> list[str]:
    """Return which rules of deciding differ, in words."""
    if first.curated is None or second.curated is None:
        return []
    one, other = first.curated.manifest, second.curated.manifest
    told = [words for name, words in DIFFERING.items() if getattr(one, name) != getattr(other, name)]
    return told + (["precision"] if one.budget.get("precision") != other.budget.get("precision") else [])


def _changed_judges(first: Pool, second: Pool) -> frozenset[str]:
    if first.curated is None or second.curated is None:
        return frozenset()
    one, other = first.curated.manifest.verifiers, second.curated.manifest.verifiers
    return frozenset(name for name in one.keys() & other.keys() if one[name] != other[name])


def _describe_differences(first: Pool, second: Pool) -> list[str]:
    """Say what is not the same on both sides, beside the decisions."""
    if first.curated is None or second.curated is None:
        return ["a run keeps its groups alone: policies, judges and rules are not compared"]
    one, other = first.curated.manifest, second.curated.manifest
    told = []
    if not _same_policy(first, second):
        told.append(f"policy: {one.policy.policy_id}, then {other.policy.policy_id}")
    if one.sampling.sampling_id != other.sampling.sampling_id:
        told.append(f"sampling: {one.sampling.sampling_id}, then {other.sampling.sampling_id}")
    told += [f"{name}: {one.verifiers[name]}, then {other.verifiers[name]}" for name in _changed_judges(first, second)]
    judges = [", ".join(sorted(each.verifiers)) for each in (one, other)]
    if judges[0] != judges[1]:
        told.append(f"judges: {judges[0]}, then {judges[1]}")
    return [*told, *(f"another {rule}" for rule in _differing_rules(first, second))]


def _count_causes(moved: pl.DataFrame, move: str) -> dict[str, int]:
    counts = dict(moved.filter(pl.col("move") == move)["cause"].value_counts().iter_rows())
    return {cause: counts[cause] for cause in CAUSES if counts.get(cause)}


def _nest(decided: pl.DataFrame) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for before, after, count in decided.iter_rows():
        nested.setdefault(before, {})[after] = count
    return nested


def _fit(shared: pl.DataFrame) -> tuple[FamilyDrift, ...]:
    """Return how far the rates of each family moved, as a refresh fits it; nothing where there are no certificates."""
    known = shared.drop_nulls([*BELIEVED, "n_eff_after", "mean_after"])
    if not known.height:
        return ()
    before = known.select("prompt_id", "family", *BELIEVED).with_columns(trained=pl.lit(False))
    after = known.select("prompt_id", n_eff="n_eff_after", mean="mean_after")
    drifts = fit_drifts(before, after)
    return tuple(FamilyDrift(family=family, **drift.to_json()) for (family, _), drift in sorted(drifts.items()))


def _list_moves(moved: pl.DataFrame) -> list[Move]:
    rows = moved.filter(pl.col("cause").is_not_null())
    by = (pl.col("mean_after") - pl.col("mean")).abs()
    names = [name for name in Move.__dataclass_fields__ if name != "prompt"]
    ordered = rows.sort(by, "prompt_id", descending=[True, False], nulls_last=True)
    return [Move(**row) for row in ordered.select(*names, prompt="question").iter_rows(named=True)]
