"""A curated set taken up again: its prompts, kept and rejected, and the settings it was made with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import polars as pl

from learnable.data.curated.curated_set import CuratedSet, open_curated
from learnable.data.errors import LearnableError
from learnable.data.records import Prompt, Sampling
from learnable.data.schemas import OUR_COLUMNS
from learnable.data.tables import prompt_from_row
from learnable.filters.decisions.band import Band
from learnable.filters.decisions.presets import Preset
from learnable.filters.posterior.certificate import CERTIFICATE, read_family_priors
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.settings import CurateSettings, EngineSettings, PromptSettings

POOL_PARTS = ("train", "test", "rejects", "reserve")
NEVER_SAMPLED = ("duplicate", "contaminated")
NEEDED_KEYS = ("policy", "sampling", "group_size", "effort", "beliefs", "band", "truncated", "seed")

T = TypeVar("T", Band, Preset, Sampling)


@dataclass(frozen=True, slots=True)
class RefreshSettings:
    """What a refresh is asked to do. Raises `LearnableError` for settings that cannot work.

    `curated` is a set's folder or a version's. `anchors` prompts are asked again first. `store` is where rollouts and the
    new version go, by default the store that the set lies in. The rest is as in `CurateSettings`.
    """

    curated: str
    policy: str | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    anchors: int = 100
    store: str | None = None
    workers: int = 1
    verifier_timeout: float | None = None
    wait: bool = True

    def __post_init__(self) -> None:
        if self.anchors < 1:
            raise LearnableError(f"--anchors {self.anchors} tell nothing: give 1 or more, 100 is usual")
        if self.policy is None and self.engine.name != "server":
            raise LearnableError("--policy is missing: name the policy that the set is to be refreshed for")


@dataclass(frozen=True, slots=True)
class CuratedPool:
    """A version, all its rows (one a prompt), the prompts they hold, and the settings of a run over them.

    `carried` has the users' columns of each prompt, which are in no other table.
    """

    curated: CuratedSet
    rows: pl.DataFrame
    carried: pl.DataFrame
    prompts: Mapping[str, Prompt]
    settings: CurateSettings

    def find(self, prompt_ids: Iterable[str]) -> list[Prompt]:
        """Return the prompts with these ids."""
        return [self.prompts[prompt_id] for prompt_id in prompt_ids]

    @property
    def graded(self) -> dict[str, bool]:
        """Whether the rewards of each family are more than pass and fail."""
        family_priors = read_family_priors(self.curated.manifest["beliefs"])
        return {name: family_prior.graded for name, family_prior in family_priors.items()}


def open_pool(asked: RefreshSettings) -> CuratedPool:
    """Open the set that is to be refreshed.

    Raises `LearnableError` for one that was made without certificates, or is in no store.
    """
    curated = open_curated(asked.curated)
    missing = [key for key in NEEDED_KEYS if key not in curated.manifest]
    tables = [pl.DataFrame(curated.read(part)) for part in POOL_PARTS if curated.shards(part)]
    rows = pl.concat(tables, how="diagonal_relaxed")
    missing += [name for name in (*CERTIFICATE, "decision") if name not in rows.columns]
    if missing:
        raise LearnableError(
            f"curated set {str(curated.path)!r} has no {', '.join(missing[:3])}: it was made before prompts were certified; "
            "curate it again with find-learnable"
        )
    theirs = [name for name in rows.columns if name not in OUR_COLUMNS]
    carried, rows = rows.select("prompt_id", *theirs), rows.drop(theirs)
    prompts = {row["prompt_id"]: prompt_from_row(row, str(curated.path)) for row in rows.iter_rows(named=True)}
    return CuratedPool(curated, rows, carried, prompts, _settings(asked, curated))


def _settings(asked: RefreshSettings, curated: CuratedSet) -> CurateSettings:
    manifest = curated.manifest
    return CurateSettings(
        prompts=PromptSettings(families=("simulated",) if asked.engine.name == "simulated" else ()),
        policy=asked.policy,
        engine=asked.engine,
        group_size=manifest["group_size"],
        budget=replace(SamplingBudget.from_json(manifest["effort"]), want=None, retest=0.0),
        preset=_preset(manifest),
        sampling=_read_settings(Sampling, manifest["sampling"]),
        truncated=manifest["truncated"],
        test_share=manifest.get("test_share", 0.0),
        seed=manifest["seed"],
        store=asked.store or _store_of(curated),
        name=curated.path.parent.name,
        workers=asked.workers,
        verifier_timeout=asked.verifier_timeout,
        wait=asked.wait,
    )


def _preset(manifest: Mapping[str, Any]) -> Preset:
    band = _read_settings(Band, manifest["band"])
    return _read_settings(Preset, {**manifest.get("preset", {"name": "band"}), "band": band})


def _read_settings(kind: type[T], values: Mapping[str, Any]) -> T:
    """Return settings as they were before JSON made lists of their tuples; what this version does not know is left out."""
    known = {field.name for field in fields(kind)}
    return kind(**{key: _tuple(value) for key, value in values.items() if key in known})


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _store_of(curated: CuratedSet) -> str:
    folder = curated.path.parent.parent
    if folder.name != "curated":
        raise LearnableError(f"curated set {str(curated.path)!r} lies in no store: give --store")
    return str(folder.parent)
