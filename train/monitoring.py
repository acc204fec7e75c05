"""What a training run reports step by step: metrics, warnings that last, and the forecast beside what was measured."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import IO

import polars as pl

from learnable.data.curated.curated_set import CuratedSet
from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.filters.decisions.forecast import Forecast, forecast
from learnable.filters.posterior.predictive import ZERO_STD_AT
from learnable.train.settings import TrainSettings

WINDOW = 5  # logs in a row before a warning: one bad step is noise
FORECAST_LOGS = 10  # later, the policy is no longer the one that was curated for
FORECAST_COLUMNS = ("family", "alpha", "beta", "p_zero", "p_one", "n", "zeros", "ones")
# TRL's names of what a line of metrics.jsonl contains, and ours where TRL's has a slash.
METRICS = {
    "loss": "loss",
    "reward": "reward",
    "reward_std": "reward_std",
    "frac_reward_zero_std": "frac_reward_zero_std",
    "kl": "kl",
    "entropy": "entropy",
    "grad_norm": "grad_norm",
    "learning_rate": "learning_rate",
    "completions/mean_length": "completion_length",
    "completions/clipped_ratio": "clipped_ratio",
    "step_time": "step_seconds",
    "num_tokens": "num_tokens",
    "eval_reward": "eval_reward",
    "sampler/expected_zero_std_share": "expected_zero_std_share",
    "sampler/prompts_seen": "prompts_seen",
}
REWARD_METRICS = ("within_group_std", "zero_std_share", "mean_abs_advantage", "pass_rate", "unscored_share")
ZERO_REWARD = (
    f"every reward of the last {WINDOW} logs is 0: the verifier never fires on what this policy writes; look at some "
    "completions, at --max-completion-length and at the prompts' format"
)
CLIPPED = "more than half of the completions run into --max-completion-length: raise it, or they are judged cut short"
UNSCORED = "more than a fifth of the completions could not be scored; they teach nothing: see the log for the reason"


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What is kept of one of TRL's logs: a line of `metrics.jsonl`.

    `metrics` are by the names of `METRICS` and `REWARD_METRICS`; `components` are the means of the reward's parts.
    """

    step: int
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    components: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_logs(cls, step: int, logs: Mapping[str, float]) -> StepRecord:
        """Return what is kept of what TRL logged at a step."""
        metrics: dict[str, float | None] = {name: logs[key] for key, name in METRICS.items() if key in logs}
        components = {}
        for key, value in logs.items():
            *path, name = key.split("/")
            if path[:1] == ["rewards"] and name in REWARD_METRICS:
                metrics[name] = value
            elif path[:1] == ["component"]:
                components["/".join((*path[1:], name))] = value
        return cls(step, metrics, components)

    @classmethod
    def from_json(cls, line: JsonObject) -> StepRecord:
        """Read a line of `metrics.jsonl`."""
        metrics = {name: value for name, value in line.items() if name not in ("step", "components")}
        return cls(line["step"], metrics, line.get("components", {}))

    def mapped_back(self, low: float, high: float) -> StepRecord:
        """Return the record of a run whose rewards went from `low` to `high` as if they had gone from 0 to 1."""
        mapped = {
            name: value if value is None else (value - start) / (high - low)
            for name, start in (("reward", low), ("eval_reward", low), ("reward_std", 0.0))
            if name in self.metrics
            for value in [self.metrics[name]]
        }
        return replace(self, metrics={**self.metrics, **mapped})

    def to_json(self) -> JsonObject:
        """Return the record as a line of `metrics.jsonl`: one flat object, with `components` where there are any."""
        parts = {"components": dict(self.components)} if self.components else {}
        return {"step": self.step, **self.metrics, **parts}

    def read(self, name: str) -> float | None:
        """Return a metric; None where it was not logged, or was null."""
        return self.metrics.get(name)


class MetricsFile:
    """`metrics.jsonl`: one line a logged step, flushed as it goes."""

    def __init__(self, path: Path, *, from_step: int = 0) -> None:
        """Open for appending. Lines after `from_step` are dropped: a resumed run takes those steps again."""
        kept = [record for record in read_metrics(path) if record.step <= from_step] if path.exists() else []
        path.write_text("".join(f"{json.dumps(record.to_json())}\n" for record in kept), encoding="utf-8")
        self._file: IO[str] = path.open("a", encoding="utf-8")

    def write(self, record: StepRecord) -> None:
        """Append one record."""
        self._file.write(json.dumps(record.to_json()) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_metrics(path: Path) -> list[StepRecord]:
    """Read `metrics.jsonl`; a torn last line is left out."""
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(StepRecord.from_json(json.loads(line)))
        except json.JSONDecodeError:
            break
    return records


@dataclass
class TrainingMonitor:
    """Watches the records of a run and gives each warning once, when its cause has lasted `WINDOW` logs.

    When the cause goes away and returns, the warning is given again.
    """

    recent: deque[StepRecord] = field(default_factory=lambda: deque(maxlen=WINDOW))
    first_entropy: float | None = None
    fired: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)

    def observe(self, record: StepRecord) -> list[str]:
        """Take in one record and return the warnings that are new.

        Raises `LearnableError` when no completion could be scored for `WINDOW` logs: from then on only the KL term
        would move the policy.
        """
        if not {"reward", "unscored_share"} & set(record.metrics):
            return []  # the summary at the end, or an evaluation
        self.recent.append(record)
        if self.first_entropy is None:
            self.first_entropy = record.read("entropy")
        self.fired |= {name for name, value in record.components.items() if value}
        if len(self.recent) < WINDOW:
            return []
        if self._is_always("unscored_share", lambda share: share == 1):
            raise LearnableError(
                f"no completion could be scored in {WINDOW} steps, so there is nothing to learn from: run "
                "`learnable verify` on a few completions to see what the verifier says"
            )
        warnings = dict(self._find_warnings())
        new = [text for name, text in warnings.items() if name not in self.given]
        self.given = set(warnings)
        return new

    def _find_warnings(self) -> list[tuple[str, str]]:
        entropy, start = self._read_last("entropy"), self.first_entropy or 0.0
        checks = [
            ("zero_std", self._is_always("frac_reward_zero_std", lambda share: share > 0.5), self._explain_zero_std()),
            ("zero_reward", self._is_always("reward", lambda reward: reward == 0), ZERO_REWARD),
            ("kl", self._is_always("kl", lambda kl: not isfinite(kl) or kl > 1.0), self._explain_kl()),
            (
                "entropy",
                start > 0 and self._is_always("entropy", lambda value: value < 0.1 * start),
                f"entropy fell from {start:.2f} to {entropy:.2f}: the policy is collapsing onto one answer; raise "
                "--beta, lower --learning-rate, or stop at an earlier checkpoint",
            ),
            ("clipped", self._is_always("clipped_ratio", lambda share: share > 0.5), CLIPPED),
            ("unscored", self._is_always("unscored_share", lambda share: share > 0.2), UNSCORED),
        ]
        return [(name, text) for name, is_true, text in checks if is_true] + self._find_silent_components()

    def _find_silent_components(self) -> list[tuple[str, str]]:
        names = {name for record in self.recent for name in record.components}
        return [
            (
                f"component {name}",
                f"{name} has been 0 in every completion so far: it rewards nothing and teaches nothing",
            )
            for name in sorted(names - self.fired)
        ]

    def _is_always(self, name: str, test: Callable[[float], bool]) -> bool:
        values = [record.read(name) for record in self.recent]
        return all(value is not None and test(value) for value in values)

    def _read_last(self, name: str) -> float:
        value = self.recent[-1].read(name)
        return float("nan") if value is None else float(value)

    def _explain_zero_std(self) -> str:
        return (
            f"{self._read_last('frac_reward_zero_std'):.0%} of groups have no spread and teach nothing: the policy has "
            "moved past this set, or it was curated for another one; curate again on the latest checkpoint"
        )

    def _explain_kl(self) -> str:
        return (
            f"KL is {self._read_last('kl'):.2f}: the policy is far from where it started; lower --learning-rate "
            "or raise --beta"
        )


@dataclass(frozen=True, slots=True)
class TrainingForecast:
    """A forecast for the group size of the training, and the means of the first logs; None where nothing was logged.

    `zero_std_share`: share of groups whose rewards are all equal. `mean_abs_advantage`: mean of |advantage| as TRL
    scales it.
    """

    group_size: int
    zero_std_share: float
    mean_abs_advantage: float
    measured_zero_std_share: float | None = None
    measured_mean_abs_advantage: float | None = None

    @property
    def sentence(self) -> str:
        """Forecast and measurement, as a sentence."""
        text = (
            f"forecast at G = {self.group_size}: {self.zero_std_share:.0%} of groups without spread, mean |advantage| "
            f"{self.mean_abs_advantage:.2f}"
        )
        if self.measured_zero_std_share is None or self.measured_mean_abs_advantage is None:
            return text
        return (
            f"{text}; measured in the first steps: {self.measured_zero_std_share:.0%}, "
            f"{self.measured_mean_abs_advantage:.2f}"
        )


def forecast_training(curated: CuratedSet, settings: TrainSettings) -> TrainingForecast | None:
    """Forecast the groups of a run from the certificates of its prompts; None for a set that has none, and for SFT."""
    if settings.method != "grpo" or not set(FORECAST_COLUMNS) <= set(curated.manifest.schema.keys()):
        return None
    known = curated.manifest.schema.keys()
    columns = [*FORECAST_COLUMNS, *(name for name in ZERO_STD_AT.values() if name in known)]
    rows = pl.DataFrame(curated.read(settings.part, settings.families, columns=columns))
    found: list[Forecast] = forecast(rows, _find_graded(curated, settings), [settings.num_generations])
    if not found:
        return None
    return TrainingForecast(settings.num_generations, found[0].zero_std_share, found[0].mean_abs_advantage)


def add_measured(expected: TrainingForecast, records: Sequence[StepRecord]) -> TrainingForecast:
    """Return the forecast with what the first logs of a run measured."""
    return replace(
        expected,
        measured_zero_std_share=_average_first(records, "zero_std_share"),
        measured_mean_abs_advantage=_average_first(records, "mean_abs_advantage"),
    )


def _find_graded(curated: CuratedSet, settings: TrainSettings) -> dict[str, bool]:
    """Return for each family whether its rewards are graded, not just pass and fail."""
    passes = settings.signal == "pass" or curated.manifest.band.signal == "pass"
    priors = curated.manifest.family_priors
    return {family: prior.is_graded and not passes for family, prior in priors.items()}


def _average_first(records: Sequence[StepRecord], key: str) -> float | None:
    values = [value for record in records if (value := record.read(key)) is not None][:FORECAST_LOGS]
    return sum(values) / len(values) if values else None
