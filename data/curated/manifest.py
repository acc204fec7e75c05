"""What a version of a curated set says of itself: the one place that reads and writes `manifest.json`.

A field is named as in the rest of the code. Where its key in the file is another word, the field's `metadata` has it:
keys never change within a `format`, so that other tools go on reading new sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from learnable.data.band import Band
from learnable.data.curated.record import Record, by_name, in_json, keys_of, many_of, read_field, to_plain
from learnable.data.curated.refreshed import REFRESHED, RefreshRecord
from learnable.data.policies import Policy
from learnable.data.records import JsonObject, Sampling
from learnable.data.storage.format import STORE_FORMAT

# Keys of a manifest that are there only where they say something.
OPTIONAL_KEYS = ("chat", "knobs", "imported", "predictions", "lengths", "family_lengths", "verifier_sources")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPart(Record):
    """A part of the set: how many rows, and the SHA-256 of each of its shards."""

    rows: int = 0
    sha256: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRecord(Record):
    """Text prompts went to the policy as a user's turn, after these words of the system where there are any."""

    system_prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRecord(Record):
    """The rollouts were not drawn here: the `format` and the names of the `files` that they came in."""

    format: str = ""
    files: tuple[str, ...] = in_json(read=tuple, default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceRecord(Record):
    """The fitted model of a family's variance within groups; `prior_df` is what its prior is worth, in rollouts."""

    tilt: float = 0.0
    centre: float = 0.5
    prior_df: float = in_json("draws", default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyPriorRecord(Record):
    """The prior of a family: Beta(alpha, beta) with masses at 0 and 1, fitted to so many groups.

    `ess_per_rollout` is how many passes and fails one rollout tells as much as: 1 where that is all its rewards are.
    """

    alpha: float = 0.5
    beta: float = 0.5
    zero: float = 0.0
    one: float = 0.0
    fitted_to: int = 0
    ess_per_rollout: float = in_json("flips_per_rollout", default=1.0)
    variance_model: VarianceRecord | None = in_json("spread", VarianceRecord.from_json)

    @property
    def is_graded(self) -> bool:
        """Whether the family's rewards are more than pass and fail."""
        return self.ess_per_rollout > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumRecord(Record):
    """One stratum of a family: prompts with predicted pass rates from `low` up to, without it, `high`.

    Of its `prompts` so many were `sampled` and so many `rejected` without any rollout; `in_band` is the chance that one
    is in the band, as its certificates begin with.
    """

    low: float = 0.0
    high: float = 1.0
    prompts: int = 0
    sampled: int = 0
    rejected: int = 0
    in_band: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionRecord(Record):
    """How the pass rates of a family were predicted before their rollouts.

    From `sources`, of which `known_rates` are columns of other models' solve rates; fitted to `groups`, of whose
    deviance it explains the share `deviance_explained` where they are left out. `gain` is how much likelier groups are
    by it, in nats, with its `standard_error`. The `audited` prompts are those of strata that were rejected unsampled:
    the rate that was predicted of them and the one that was found, and the share of them found in the band.
    `usual_rollouts` are expected without a prediction.
    """

    sources: tuple[str, ...] = in_json(read=tuple, default=())
    known_rates: tuple[str, ...] = in_json(read=tuple, default=())
    groups: int = 0
    deviance_explained: float = 0.0
    gain: float = 0.0
    standard_error: float = 0.0
    rejected: int = 0
    audited: int = 0
    audit_predicted: float | None = None
    audit_found: float | None = None
    audit_in_band: float | None = None
    rollouts: int = 0
    usual_rollouts: int = 0
    strata: tuple[StratumRecord, ...] = in_json(read=many_of(StratumRecord), default=())


@dataclass(frozen=True, slots=True)
class Forecast(Record):
    """What groups of one size will be like in training, on average over prompts.

    `zero_std_share`: groups whose rewards are all equal, which teach nothing; `usable_rate`: the others;
    `mean_abs_advantage`: of `(reward - mean) / std` with the sample standard deviation, as TRL computes it, zero-std
    groups counted as 0.
    """

    group_size: int = 0
    zero_std_share: float = 0.0
    usable_rate: float = 0.0
    mean_abs_advantage: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts(Record):
    """A row for each group size: of the `curated` prompts, and of the whole `pool`."""

    curated: tuple[Forecast, ...] = in_json(read=many_of(Forecast), default=())
    pool: tuple[Forecast, ...] = in_json(read=many_of(Forecast), default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthsRecord(Record):
    """How long the curation's completions were, in tokens: half of them at most `p50`, 95 in 100 at most `p95`."""

    p50: int = 0
    p95: int = 0
    longest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow(Record):
    """The figures of a form, or of a whole family, whose `form` is None: see `filters.statistics.forms.summarise`."""

    family: str = ""
    form: str | None = None
    prompts: int = 0
    kept: int = 0
    rollouts: int | None = None
    tokens: int | None = None
    mean: float | None = None
    pass_at_1: float | None = None
    expected_within_variance: float | None = in_json("learnability")
    zero_std_share: float | None = None
    errors: int | None = None
    extraction_failed_share: float | None = None
    within_std: float | None = None
    between_std: float | None = None
    f_ratio: float | None = None
    intraclass: float | None = None
    learnable: bool | None = None

    def to_json(self) -> JsonObject:
        """Return the row as plain data; a family's has no `form`, one without judged rollouts no share of failures."""
        absent = {key for key in ("form", "extraction_failed_share") if getattr(self, key) is None}
        return {key: value for key, value in Record.to_json(self).items() if key not in absent}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentRow(Record):
    """The figures of one component of a form's rewards: see `filters.statistics.forms.component_stats`."""

    family: str = ""
    form: str = ""
    component: str = ""
    prompts: int = 0
    rollouts: int = 0
    mean: float | None = None
    share_zero: float | None = None
    share_one: float | None = None
    within_std: float | None = None
    between_std: float | None = None
    intraclass: float | None = None
    explained: float | None = None


FindingCode = Literal[
    "no_spread",
    "constant_component",
    "silent_reward",
    "faked_signal",
    "spread_between_forms",
    "spread_between_prompts",
    "alike_prompts",
    "undecided_prompts",
]


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """One thing to know before training: its kind, what it is about, the forms it holds for, and a sentence.

    `subject` is a family, `family: component`, or "the pool".
    """

    code: FindingCode | Literal[""] = ""
    subject: str = ""
    forms: tuple[str, ...] = in_json(read=tuple, default=())
    text: str = ""

    def is_about(self, family: str) -> bool:
        """Whether its subject is a family or a component of it."""
        return f"{self.subject}: ".startswith(f"{family}: ")


def _band(value: Mapping[str, Any]) -> Band:
    """Read a band. What the file does not say was not asked of a prompt; what this version does not know is dropped."""
    anything = {"low": 0.0, "high": 1.0, "min_std": 0.0, "signal": "reward"}
    return Band(**{key: value.get(key, usual) for key, usual in anything.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(Record):
    """What a version rests on: policy, sampling, thresholds, priors, verifiers, figures, and the SHA-256 of its shards.

    `budget` and `preset` are for `filters`' `SamplingBudget` and `Preset`. `verifiers` are their versions by name,
    `verifier_sources` the hashes of the code of users' own (None where there are none), `conditions` what those say of
    the machine, `schema` the Arrow types of the columns of `train`. `chat` is None where prompts went to the policy as
    they are, `refresh` in a version that no refresh made. `knobs` are those of the prompts' generator that were set,
    None where none was. `imported` says where rollouts came from that were not drawn here. `predictions` say by family
    how pass rates were predicted, None where none were. `lengths`, and `family_lengths` by family, are None where no
    completion was measured. `absent` names the keys that the file did not have, whose fields have defaults: sets that
    were made by hand lack most.
    """

    format: int = STORE_FORMAT
    parent: str | None = None
    run_id: str = ""
    created: str = ""
    policy: Policy = in_json(read=Policy.from_json, default=Policy("", ""))
    engine: str = ""
    sampling: Sampling = in_json(read=Sampling.from_json, default=Sampling())
    chat: ChatRecord | None = in_json(read=ChatRecord.from_json)
    knobs: Mapping[str, str] | None = None
    imported: ImportRecord | None = in_json(read=ImportRecord.from_json)
    group_size: int = 0
    budget: JsonObject = in_json("effort", make=dict)
    family_priors: Mapping[str, FamilyPriorRecord] = in_json("beliefs", by_name(FamilyPriorRecord), make=dict)
    predictions: Mapping[str, PredictionRecord] | None = in_json(read=by_name(PredictionRecord))
    band: Band = in_json(read=_band, make=lambda: _band({}))
    preset: JsonObject = field(default_factory=lambda: {"name": "band"})
    truncated: Literal["count", "exclude"] = "count"
    test_share: float = 0.0
    seed: int = 0
    expected_false_keeps: float = 0.0
    forecast: Forecasts = in_json(read=Forecasts.from_json, make=Forecasts)
    lengths: LengthsRecord | None = in_json(read=LengthsRecord.from_json)
    family_lengths: Mapping[str, LengthsRecord] | None = in_json(read=by_name(LengthsRecord))
    verifiers: Mapping[str, str] = field(default_factory=dict)
    verifier_sources: Mapping[str, str] | None = None
    conditions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    forms: tuple[SummaryRow, ...] = in_json(read=many_of(SummaryRow), default=())
    components: tuple[ComponentRow, ...] = in_json(read=many_of(ComponentRow), default=())
    findings: tuple[Finding, ...] = in_json(read=many_of(Finding), default=())
    refresh: RefreshRecord | None = None
    parts: Mapping[str, SetPart] = in_json(read=by_name(SetPart), make=dict)
    schema: Mapping[str, str] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()

    @classmethod
    def from_json(cls, given: JsonObject) -> Self:
        """Read a manifest. Keys that are not known are kept."""
        of_refresh = keys_of(RefreshRecord) if given.get("kind") == REFRESHED else {}
        known = {key: value for key, value in keys_of(cls).items() if key != "refresh"}
        values = {field_.name: read_field(field_, given[key]) for key, field_ in known.items() if key in given}
        refresh = RefreshRecord.from_json({key: given[key] for key in of_refresh if key in given})
        return cls(
            **values,
            refresh=refresh if of_refresh else None,
            unknown={key: value for key, value in given.items() if key not in known and key not in of_refresh},
            absent=frozenset(known.keys() - given.keys() - {"format", *OPTIONAL_KEYS}),
        )

    def to_json(self) -> JsonObject:
        """Return the manifest as it is written. What was absent and never set stays so."""
        plain: dict[str, Any] = {}
        for key, field_ in keys_of(type(self)).items():
            if key == "refresh":
                plain |= {**(self.refresh.to_json() if self.refresh else {}), **self.unknown}
            elif key not in self.absent and (key not in OPTIONAL_KEYS or getattr(self, field_.name) is not None):
                plain[key] = to_plain(getattr(self, field_.name))
        return plain

    def with_changes(self, **values: Any) -> Self:
        """Return the manifest with other values: what was absent and is given now is there."""
        given = {key for key, field_ in keys_of(type(self)).items() if field_.name in values}
        return replace(self, **values, absent=self.absent - given)

    def find_absent(self, keys: Iterable[str]) -> list[str]:
        """Return which of these keys of the file are not there."""
        return [key for key in keys if key in self.absent]
