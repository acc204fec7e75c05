"""Writes a curated set: the kept prompts, the rejected ones, a random control, and what they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import polars as pl
import polars.selectors as cs

from learnable.data.curated.curated_set import NOT_SAMPLED, CuratedSet, publish_curated
from learnable.data.curated.manifest import (
    ChatRecord,
    FamilyPriorRecord,
    Forecasts,
    ImportRecord,
    LengthsRecord,
    Manifest,
    SummaryRow,
)
from learnable.data.sources.packed import PackedRows
from learnable.filters.decisions.choosing import is_in_reserve
from learnable.filters.decisions.evidence import find_length
from learnable.filters.decisions.forecast import POSTERIOR, forecast
from learnable.filters.posterior.certificate import ZERO_STD_AT
from learnable.filters.statistics.forms import summarise
from learnable.flows.curation.chat import decide_chat
from learnable.flows.curation.inspection import Inspection, with_unread
from learnable.flows.run import Run
from learnable.flows.sampling.sampler import Collected
from learnable.flows.sampling.scan import TEXT_COLUMNS
from learnable.flows.settings.importing import ImportedSettings
from learnable.rollouts.registry import EngineSettings
from learnable.verifiers.protocol import verifier_conditions
from learnable.verifiers.registry import find_verifier, source_hash

PROMPT_COLUMNS = ("prompt", "prompt_id", "verifier", "spec", "family", "form")
DECISION = pl.col("decision").cast(pl.String)
KEPT = DECISION == "keep"
TRAINED = KEPT & (pl.col("split") == "train")
PoolRows = pl.DataFrame | PackedRows


@dataclass(frozen=True, slots=True)
class PartRows:
    """A part of a curated set: the places of its rows in a pool, which are put together a shard at a time.

    `more` has further columns, by `prompt_id`, beside these `columns`, or all, of the pool.
    """

    pool: PoolRows
    places: pl.Series
    more: pl.DataFrame | None = None
    columns: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.places)

    def slice(self, start: int, length: int) -> pl.DataFrame:
        """Return so many rows from one on, as they are written."""
        rows = self.pool[self.places.slice(start, length)]
        if self.columns is not None:
            rows = rows.select(self.columns)
        if self.more is not None:
            rows = rows.join(self.more, on="prompt_id", how="left", maintain_order="left")
        return rows.with_columns(cs.enum().cast(pl.String))


def publish(run: Run, decided: PackedRows, collected: Collected, inspection: Inspection) -> CuratedSet:
    """Write the curated set: kept and held-out prompts, rejects with reasons, a control, demonstrations, preferences.

    Where the preset has a reserve, its prompts go to a part of their own instead of to the rejects.
    """
    texts = read_completions(find_trained(decided.rows), collected, are_chats=are_chats(decided))
    parts = split_parts(run, decided, inspection.triage)
    parts["demonstrations"] = with_prompts(parts["train"], texts.best)
    parts["preferences"] = with_prompts(parts["train"], texts.pairs)
    return write_version(run, parts, _manifest(run, decided, collected, inspection))


def find_trained(decided: pl.DataFrame) -> pl.DataFrame:
    """Return the `prompt_id` of the prompts that are trained on."""
    return decided.select("prompt_id", "decision", "split").filter(TRAINED).select("prompt_id")


def are_chats(decided: PoolRows) -> bool:
    """Whether the prompts are chats, and no texts."""
    return decided.slice(0, 0).schema["prompt"] != pl.String


def split_parts(run: Run, decided: PoolRows, triage: pl.DataFrame) -> dict[str, PartRows]:
    """Return the parts of a curated set that are rows of its pool. `triage` says why prompts were never solved."""
    in_train, aside = pl.col("split") == "train", is_in_reserve(run.settings.preset)

    def find(condition: pl.Expr) -> pl.Series:
        return _known(decided).select(pl.arg_where(condition).alias("row"))["row"]

    train, candidates = find(TRAINED), find(in_train & ~DECISION.is_in(NOT_SAMPLED))
    parts = {
        "train": PartRows(decided, train),
        "test": PartRows(decided, find(KEPT & ~in_train)),
        "rejects": PartRows(decided, find(~KEPT & ~aside), triage),
        "control": PartRows(decided, candidates.sample(n=len(train), seed=run.settings.seed, shuffle=True)),
    }
    if run.settings.preset.reserve is not None:
        parts["reserve"] = PartRows(decided, find(~KEPT & aside))
    return parts


@dataclass(frozen=True, slots=True)
class Completions:
    """Completions of kept prompts, texts or chats as the prompts are.

    `best`: `prompt_id` and `completion`, the best one that passed. `pairs`: `prompt_id`, the best one `chosen` and the
    worst one `rejected`, `chosen_reward`, `rejected_reward` and the `margin` between them.
    """

    best: pl.DataFrame
    pairs: pl.DataFrame


def read_completions(train: pl.DataFrame, collected: Collected, *, are_chats: bool) -> Completions:
    """Return the completions that teach: of each prompt of `train` those that it has. A pair of equal texts is none.

    Where the prompts `are_chats`, completions are too.
    """
    evidence = collected.evidence
    best, pairs = (rows.join(train, on="prompt_id", how="semi") for rows in (evidence.best, evidence.pairs))
    ends = [pairs.select("prompt_id", rollout_id=end) for end in ("chosen", "rejected")]
    wanted = pl.concat([best, *ends]).unique(maintain_order=True)
    texts = pl.concat([pl.DataFrame(schema=TEXT_COLUMNS), *collected.scan.read_texts(wanted, whole=True)])
    for end in ("chosen", "rejected"):
        written = texts.rename({"rollout_id": end, "completion": f"{end}_text"})
        pairs = pairs.join(written, on=["prompt_id", end], maintain_order="left")
    best = best.join(texts, on=["prompt_id", "rollout_id"], maintain_order="left")
    pairs = pairs.filter(pl.col("chosen_text") != pl.col("rejected_text"))
    pairs = pairs.with_columns(
        chosen=_as_answer("chosen_text", are_chats=are_chats),
        rejected=_as_answer("rejected_text", are_chats=are_chats),
        margin=pl.col("chosen_reward") - pl.col("rejected_reward"),
    )
    return Completions(
        best.select("prompt_id", completion=_as_answer("completion", are_chats=are_chats)),
        pairs.drop("chosen_text", "rejected_text"),
    )


def _as_answer(text: str, *, are_chats: bool) -> pl.Expr:
    """Return a column of texts as answers to the prompts: a chat's completion is a chat too."""
    if not are_chats:
        return pl.col(text)
    return pl.concat_list(pl.struct(pl.lit("assistant").alias("role"), pl.col(text).alias("content")))


def with_prompts(train: PartRows, completions: pl.DataFrame) -> PartRows:
    """Return the kept prompts that have completions, in their order, with these: a part for training on texts."""
    has_some = _known(train.pool)["prompt_id"].gather(train.places).is_in(completions["prompt_id"].implode())
    return PartRows(train.pool, train.places.filter(has_some), completions, PROMPT_COLUMNS)


def _known(rows: PoolRows) -> pl.DataFrame:
    """Return what is known of the prompts, without their texts where these are apart."""
    return rows.rows if isinstance(rows, PackedRows) else rows


def write_version(run: Run, parts: Mapping[str, PartRows], manifest: Manifest) -> CuratedSet:
    """Publish the parts as the set's next version.

    Raises `LearnableError` where this run has lost its lock on the store, or the set cannot be written.
    """
    run.store.ledger.check_lock()
    return publish_curated(run.store.curated / run.settings.set_name, parts, manifest)


def describe_rows(
    run: Run, manifest: Manifest, decided: pl.DataFrame, graded: Mapping[str, bool], inspection: Inspection
) -> Manifest:
    """Return the manifest with what follows from the set's rows: forecasts, verifiers, figures, findings.

    `graded` says of each family whether its rewards are more than pass and fail.
    """
    kept = (
        decided.lazy().filter(KEPT).select("family", "p_keep", cs.by_name(*POSTERIOR, *ZERO_STD_AT.values())).collect()
    )
    verifiers = {name: find_verifier(name) for name in decided["verifier"].unique().sort()}
    conditions = {name: run.conditions.get(name) or verifier_conditions(each) for name, each in verifiers.items()}
    return manifest.with_changes(
        expected_false_keeps=float((1 - kept["p_keep"]).sum()),
        forecast=Forecasts(curated=tuple(forecast(kept, graded)), pool=tuple(forecast(decided, graded))),
        verifiers={name: verifier.version for name, verifier in verifiers.items()},
        verifier_sources={name: code for name, verifier in verifiers.items() if (code := source_hash(verifier))}
        or None,
        conditions={name: texts for name, texts in conditions.items() if texts},
        forms=with_unread(
            (SummaryRow(**row) for row in summarise(decided.lazy()).collect().to_dicts()), inspection.unread
        ),
        components=inspection.component_rows,
        findings=inspection.findings,
    )


def describe_lengths(lengths: pl.DataFrame) -> LengthsRecord | None:
    """Return how long the completions were that a run collected (`Evidence.lengths`); None where there are none."""
    if not lengths.height:
        return None
    return LengthsRecord(p50=find_length(lengths, 0.5), p95=find_length(lengths, 0.95), longest=find_length(lengths, 1))


def describe_family_lengths(lengths: pl.DataFrame) -> dict[str, LengthsRecord]:
    """Return the same of each family that a run collected completions of."""
    records = {str(name): describe_lengths(rows) for (name,), rows in lengths.group_by("family", maintain_order=True)}
    return {name: record for name, record in sorted(records.items()) if record}


def _describe_import(engine: EngineSettings) -> ImportRecord | None:
    if not isinstance(engine, ImportedSettings):
        return None
    return ImportRecord(format=engine.format, files=engine.files)


def _manifest(run: Run, decided: PackedRows, collected: Collected, inspection: Inspection) -> Manifest:
    settings = run.settings
    graded = {name: family_prior.graded for name, family_prior in collected.family_priors.items()}
    priors = {name: family_prior.to_json() for name, family_prior in sorted(collected.family_priors.items())}
    chat = None
    if are_chats(decided) and (decision := decide_chat(settings)).is_on:
        chat = ChatRecord(system_prompt=decision.system_prompt)
    manifest = Manifest(
        run_id=run.run_id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        policy=run.policy,
        engine=settings.engine.name,
        sampling=settings.sampling,
        chat=chat,
        knobs=dict(settings.prompts.knobs) or None,
        imported=_describe_import(settings.engine),
        group_size=settings.group_size,
        budget=settings.budget.to_json(),
        predictions=dict(collected.predictions) or None,
        family_priors={name: FamilyPriorRecord.from_json(figures) for name, figures in priors.items()},
        band=settings.band,
        preset=asdict(settings.preset),
        lengths=describe_lengths(collected.evidence.lengths),
        family_lengths=describe_family_lengths(collected.evidence.lengths) or None,
        truncated=settings.truncated,
        test_share=settings.test_share,
        seed=settings.seed,
    )
    return describe_rows(run, manifest, decided.rows, graded, inspection)
