"""Annotates a public set: its kept and rejected rows with what each of several policies makes of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pyarrow as pa

from learnable.data.curated.curated_set import POOL_PARTS, CuratedSet, find_versions, open_curated
from learnable.data.errors import LearnableError
from learnable.data.exports.writing import write_rows, write_table
from learnable.data.progress import progress
from learnable.data.publication.destinations import FolderDestination
from learnable.data.publication.privacy import split_place
from learnable.data.records import content_id
from learnable.data.storage.places import find_place
from learnable.data.store import Store
from learnable.flows.publishing import PublishReport, prepare, run_publish
from learnable.flows.settings.publishing import AnnotateSettings
from learnable.flows.showing import PART, find_set

OPEN_INSTRUCT = {"total_rollouts": "n", "total_correct_rollouts": "passes", "passrate": "pass_rate"}  # and ours
CERTIFICATES = "certificates"
CERTIFIED = ("ci_low", "ci_high", "usable_at_g", "decision")


@dataclass(frozen=True, slots=True)
class AnnotateReport:
    """What was annotated: rows, and of how many of them each policy has a certificate, by its id.

    `published` is what went up, None where a file was written.
    """

    curated: str
    rows: int
    policies: dict[str, int]
    output: str
    published: PublishReport | None


def run_annotate(settings: AnnotateSettings) -> AnnotateReport:
    """Annotate a set that find-learnable or an import made of a public one, and write or publish it.

    Raises `LearnableError` where no set has what a policy makes of these prompts, and as `run_publish` does.
    """
    base, others = find_sets(settings)
    table = pl.concat([read_certificates(one) for one in (base, *others)], how="vertical_relaxed")
    here = read_certificates(base)
    known = table.join(here.select("question").unique(), on="question", how="semi", maintain_order="left")
    by_question = known.group_by("question", maintain_order=True).agg(
        pl.struct(pl.exclude("question")).alias(CERTIFICATES)
    )

    def amend(rows: pa.Table) -> pa.Table:
        return annotate(rows, by_question) if "n" in rows.column_names else rows

    settings = replace(settings, curated=str(base.path))
    published = None if settings.output else run_publish(settings, amend)
    if settings.output:
        with tempfile.TemporaryDirectory(prefix="annotate-") as staging:
            prepared = prepare(base, settings, FolderDestination(find_place(staging)), Path(staging), amend)
            parts = [
                pl.read_parquet(file.path).with_columns(pl.lit(file.name.partition("-")[0]).alias(PART))
                for file in prepared.files
                if file.name.partition("-")[0] in POOL_PARTS
            ]
        _write(pl.concat(parts, how="diagonal_relaxed"), Path(settings.output))
    counts = (
        known.unique(["question", "policy_id"], maintain_order=True).group_by("policy_id", maintain_order=True).len()
    )
    return AnnotateReport(str(base.path), here.height, dict(counts.iter_rows()), settings.output, published)


def annotate(rows: pa.Table, by_question: pl.DataFrame) -> pa.Table:
    """Return rows with open-instruct's names for what their own policy did, and `certificates`, one for each policy.

    Raises `LearnableError` for rows that have a column of such a name.
    """
    if taken := [name for name in (*OPEN_INSTRUCT, CERTIFICATES) if name in rows.column_names]:
        raise LearnableError(
            f"rows have a column {taken[0]!r} of their own, which would be lost: leave it out with `drop_columns` "
            f"{taken[0]}, or rename it in the file and find the set again"
        )
    frame = pl.DataFrame(rows)
    frame = frame.with_columns(pl.col(ours).alias(theirs) for theirs, ours in OPEN_INSTRUCT.items())
    frame = frame.with_columns(question=_questions(frame))
    return frame.join(by_question, on="question", how="left", maintain_order="left").drop("question").to_arrow()


def read_certificates(curated: CuratedSet) -> pl.DataFrame:
    """Return what a set's policy makes of each prompt of its pool, with the id of the question; the first of equals."""
    parts = [pl.DataFrame(curated.read(part)) for part in POOL_PARTS if part in curated.manifest.parts]
    rows = pl.concat(parts, how="diagonal_relaxed")
    figures = rows.select(
        _questions(rows).alias("question"),
        pl.lit(curated.manifest.policy.policy_id).alias("policy_id"),
        pl.lit(curated.manifest.group_size).cast(pl.Int64).alias("group_size"),
        *(pl.col(ours).alias(theirs) for theirs, ours in OPEN_INSTRUCT.items()),
        *CERTIFIED,
    )
    return figures.unique("question", keep="first", maintain_order=True)


def find_sets(settings: AnnotateSettings) -> tuple[CuratedSet, list[CuratedSet]]:
    """Return the set that is annotated, and those of the other policies that are named.

    Raises `LearnableError` for a policy of which the store has no certificate of these prompts.
    """
    stored = sorted(_list_stored(settings.store), key=lambda one: one.manifest.created, reverse=True)
    wanted = list(settings.policies)
    try:
        base = find_set(settings.curated, settings.store)
    except LearnableError:
        if not wanted:
            raise
        policy = wanted.pop(0)
        found = next((one for one in stored if _is_by(one, policy) and _is_of(one, settings.curated)), None)
        if found is None:
            raise _not_there(settings, policy) from None
        base = found
    others = []
    questions = read_certificates(base)["question"].implode()
    for policy in wanted:
        if _is_by(base, policy):
            continue
        shared = (one for one in stored if _is_by(one, policy) and _questions_of(one).is_in(questions).any())
        if (found := next(shared, None)) is None:
            raise _not_there(settings, policy)
        others.append(found)
    return base, others


def _not_there(settings: AnnotateSettings, policy: str) -> LearnableError:
    return LearnableError(
        f"store {settings.store!r} has no set of {settings.curated!r} by {policy!r}: make one with find-learnable "
        f"--prompts {settings.curated} --policy {policy} --store {settings.store}, or import its rollouts"
    )


def _list_stored(store: str) -> Iterator[CuratedSet]:
    folder = Store(store).curated
    if folder.is_dir():
        for name in folder.iterdir():
            yield from map(open_curated, find_versions(name))


def _is_by(curated: CuratedSet, policy: str) -> bool:
    its = curated.manifest.policy
    names = {its.policy_id, its.policy_id.partition("@")[0], its.path, its.adapter} - {""}
    return policy in names or str(Path(policy).absolute()) in names


def _is_of(curated: CuratedSet, location: str) -> bool:
    """Whether a set's prompts came from a file, or a data set of the hub."""
    names = {location, Path(location).name} if Path(location).exists() else {location}
    places = {place for part in POOL_PARTS if part in curated.manifest.parts for place in _read_places(curated, part)}
    return bool(names & {split_place(str(place))[0] for place in places if place})


def _read_places(curated: CuratedSet, part: str) -> Sequence[object]:
    return curated.read(part, columns=["source"])["source"].to_pylist()


def _questions_of(curated: CuratedSet) -> pl.Series:
    return read_certificates(curated)["question"]


def _questions(rows: pl.DataFrame) -> pl.Series:
    """Return ids of what the policy was asked: the text or the messages."""
    return pl.Series([content_id(prompt) for prompt in rows["prompt"].to_list()], dtype=pl.String)


def _write(rows: pl.DataFrame, output: Path) -> None:
    progress().stage(f"Writing {output}")
    if output.suffix == ".parquet":
        write_table(rows.to_arrow(), output)
    else:
        write_rows(rows.to_dicts(), output, "jsonl")
