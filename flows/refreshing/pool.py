"""A curated set taken up again: its prompts, kept and rejected, and the settings it was made with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import polars as pl

from learnable.data.curated.curated_set import POOL_PARTS, CuratedSet, open_curated
from learnable.data.curated.manifest import Manifest
from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject, Prompt
from learnable.data.schemas import OUR_COLUMNS
from learnable.data.tables import prompt_from_row
from learnable.filters.decisions.presets import Preset
from learnable.filters.posterior.certificate import CERTIFICATE_COLUMNS
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.settings import CurateSettings, PromptSettings, RefreshSettings
from learnable.verifiers.registry import check_trusted, trust_verifiers

NEVER_SAMPLED = ("duplicate", "contaminated")

T = TypeVar("T", SamplingBudget, Preset)


@dataclass(frozen=True, slots=True)
class CuratedPool:
    """A version, all its rows (one a prompt), the prompts in them, and the settings of a run over them.

    `carried` has the users' columns of each prompt, which are in no other table. `retest` is the share of the clearly
    rejected prompts that is sampled again.
    """

    curated: CuratedSet
    rows: pl.DataFrame
    carried: pl.DataFrame
    prompts: Mapping[str, Prompt]
    settings: CurateSettings
    retest: float

    def find(self, prompt_ids: Iterable[str]) -> list[Prompt]:
        """Return the prompts with these ids."""
        return [self.prompts[prompt_id] for prompt_id in prompt_ids]

    @property
    def graded(self) -> dict[str, bool]:
        """Whether the rewards of each family are more than pass and fail."""
        return {name: prior.is_graded for name, prior in self.curated.manifest.family_priors.items()}


def open_pool(settings: RefreshSettings) -> CuratedPool:
    """Open the set that is to be refreshed.

    Raises `LearnableError` for one that was made without certificates, is in no store, or names code that no person
    has named.
    """
    trust_verifiers(settings.verifiers)
    curated = open_curated(settings.curated)
    needed = ("policy", "sampling", "group_size", "effort", "beliefs", "band", "truncated", "seed")
    missing = curated.manifest.find_absent(needed)
    tables = [pl.DataFrame(curated.read(part)) for part in POOL_PARTS if curated.shards(part)]
    rows = pl.concat(tables, how="diagonal_relaxed")
    missing += [name for name in (*CERTIFICATE_COLUMNS, "decision", "triage", "problem_id") if name not in rows.columns]
    if missing:
        raise LearnableError(
            f"curated set {str(curated.path)!r} has no {', '.join(missing[:3])}: its prompts are not certified; "
            "curate them with find-learnable"
        )
    theirs = [name for name in rows.columns if name not in OUR_COLUMNS]
    carried, rows = rows.select("prompt_id", *theirs), rows.drop(theirs)
    prompts = {row["prompt_id"]: prompt_from_row(row, str(curated.path)) for row in rows.iter_rows(named=True)}
    check_trusted({prompt.verifier for prompt in prompts.values()})
    budget = read_settings(SamplingBudget, curated.manifest.budget)
    return CuratedPool(curated, rows, carried, prompts, _settings(settings, curated, budget), budget.retest)


def _settings(settings: RefreshSettings, curated: CuratedSet, budget: SamplingBudget) -> CurateSettings:
    manifest = curated.manifest
    return CurateSettings(
        prompts=PromptSettings(families=("simulated",) if settings.engine.name == "simulated" else ()),
        policy=settings.policy,
        engine=settings.engine,
        group_size=manifest.group_size,
        budget=replace(budget, want=None, retest=0.0),
        preset=_preset(manifest),
        sampling=manifest.sampling,
        truncated=manifest.truncated,
        test_share=manifest.test_share,
        seed=manifest.seed,
        store=settings.store or _store_of(curated),
        name=curated.path.parent.name,
        workers=settings.workers,
        score_on=settings.score_on,
        verifier_timeout=settings.verifier_timeout,
        wait=settings.wait,
        verify_policy=settings.verify_policy,
        predict="off",
    )


def _preset(manifest: Manifest) -> Preset:
    return read_settings(Preset, {**manifest.preset, "band": manifest.band})


def read_settings(kind: type[T], values: JsonObject) -> T:
    """Return settings as they were before JSON made lists of their tuples, without what this version does not know.

    Raises `LearnableError` where `kind` refuses their values.
    """
    known = {field.name for field in fields(kind)}
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in values.items() if key in known
    }
    return kind(**given)


def _store_of(curated: CuratedSet) -> str:
    folder = curated.path.parent.parent
    if folder.name != "curated":
        raise LearnableError(f"curated set {str(curated.path)!r} lies in no store: give `store`")
    return str(folder.parent)
