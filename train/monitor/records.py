"""The metrics of a training run: what is kept of each of TRL's logs, as JSON Lines and as Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import IO

import polars as pl

from learnable.data.records import JsonObject
from learnable.data.storage.places import write_whole

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
    "clip_ratio/region_mean": "clipped_tokens",
    "importance_ratio/mean": "importance_ratio",
    "importance_ratio/min": "importance_ratio_min",
    "importance_ratio/max": "importance_ratio_max",
    "sampling/importance_sampling_ratio/mean": "engine_ratio",
    "sampling/importance_sampling_ratio/min": "engine_ratio_min",
    "sampling/importance_sampling_ratio/max": "engine_ratio_max",
    "epoch": "epoch",
    "step_time": "step_seconds",
    "num_tokens": "num_tokens",
    "eval_reward": "eval_reward",
    "eval_rewards/verifier_reward/pass_rate": "eval_pass_rate",
    "eval_rewards/pass_reward/pass_rate": "eval_pass_rate",
    "eval_held_out/mastered_share": "eval_mastered_share",
    "eval_held_out/forgotten_share": "eval_forgotten_share",
    "sampler/expected_zero_std_share": "expected_zero_std_share",
    "sampler/prompts_seen": "prompts_seen",
    "sampler/predicted_share": "predicted_share",
    "sampler/prediction_explains": "prediction_explains",
    "sampler/fitted_drift": "fitted_drift",
    "sampler/stage": "stage",
    "sampler/stage_success": "stage_success",
    "stored/share": "stored_share",
    "stored/ratio_ess": "ratio_ess",
    "stored/clip_share": "clip_share",
}
# Of a look at mastered prompts, which TRL logs under the same names as that at others.
REVIEW_METRICS = {
    "eval_reward": "review_reward",
    "eval_review/forgotten_share": "review_forgotten_share",
    "eval_rewards/verifier_reward/reward_gain": "review_gain",
    "eval_rewards/pass_reward/reward_gain": "review_gain",
}
# What DPO logs beside a loss: no rule watches it.
PREFERENCE_METRICS = {
    "rewards/margins": "preference_margin",
    "rewards/accuracies": "preference_accuracy",
    "logps/chosen": "chosen_logprob",
    "logps/rejected": "rejected_logprob",
}
REWARD_METRICS = (
    "within_group_std",
    "between_group_std",
    "zero_std_share",
    "mean_abs_advantage",
    "pass_rate",
    "reward_gain",
    "lost_share",
    "unscored_share",
    "repeated_ngrams",
    "distinct_ngrams",
)
COMPONENTS = "components/"  # before the name of a reward's part, where it stands among metrics


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What is kept of one of TRL's logs: a line of `metrics.jsonl`.

    `metrics` are by the names of `METRICS`, `REVIEW_METRICS`, `PREFERENCE_METRICS` and `REWARD_METRICS`; `components`
    are the means of the reward's parts.
    """

    step: int
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    components: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_logs(cls, step: int, logs: Mapping[str, float]) -> StepRecord:
        """Return what is kept of what TRL logged at a step."""
        is_review = "eval_review/forgotten_share" in logs
        kept = REVIEW_METRICS if is_review else METRICS | PREFERENCE_METRICS
        metrics: dict[str, float | None] = {name: logs[key] for key, name in kept.items() if key in logs}
        components = {}
        for key, value in logs.items():
            *path, name = key.split("/")
            if path[:1] == ["rewards"] and name in REWARD_METRICS:
                metrics[name] = value
            elif key.startswith("sampler/stage_share/"):  # of the places of a batch, by the stage of a curriculum
                metrics[key.removeprefix("sampler/")] = value
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
            for name, start in (("reward", low), ("eval_reward", low), ("review_reward", low), ("reward_std", 0.0))
            if name in self.metrics
            for value in [self.metrics[name]]
        }
        return replace(self, metrics={**self.metrics, **mapped})

    def to_json(self) -> JsonObject:
        """Return the record as a line of `metrics.jsonl`: one flat object, with `components` where there are any."""
        parts = {"components": dict(self.components)} if self.components else {}
        return {"step": self.step, **self.metrics, **parts}

    @property
    def is_look(self) -> bool:
        """Whether it is of prompts that are held out, and not of a step."""
        return "eval_reward" in self.metrics or "review_reward" in self.metrics

    def read(self, name: str) -> float | None:
        """Return a metric; None where it was not logged, or was null."""
        return self.metrics.get(name)

    def list_values(self) -> Iterator[tuple[str, float]]:
        """Yield all that was measured by its name, components as `components/<verifier>/<part>`."""
        for name, value in self.metrics.items():
            if value is not None:
                yield name, value
        for name, value in self.components.items():
            yield f"{COMPONENTS}{name}", value


@dataclass(frozen=True, slots=True)
class EpochTotals:
    """What one pass through the prompts came to: its number from 1 on, its steps, and their sums and means.

    `tokens` are those of prompts and completions, `seconds` those of its steps; None where they were not logged.
    """

    epoch: int
    steps: int
    tokens: float | None
    seconds: float | None
    reward: float | None
    zero_std_share: float | None


def total_epochs(records: Sequence[StepRecord]) -> list[EpochTotals]:
    """Return the totals of each epoch of a run, of which the last may not be whole.

    An epoch ends with the step at which the trainer's count of them gets to the next whole number.
    """
    epochs: dict[int, list[StepRecord]] = {}
    for record in records:
        at = record.read("epoch")
        if at is not None and "reward" in record.metrics:  # and no look, nor the summary at the end
            epochs.setdefault(max(1, ceil(round(at, 6))), []).append(record)
    totals, before = [], 0.0
    for number, steps in sorted(epochs.items()):
        counted = steps[-1].read("num_tokens")
        spent = [value for one in steps if (value := one.read("step_seconds")) is not None]
        tokens = None if counted is None else counted - before
        before = before if counted is None else counted
        means = (_mean(steps, "reward"), _mean(steps, "frac_reward_zero_std"))
        totals.append(EpochTotals(number, len(steps), tokens, round(sum(spent), 3) if spent else None, *means))
    return totals


def find_first_reach(records: Sequence[StepRecord], share: float) -> int | None:
    """Return the step of the first look at which held-out completions passed so often; None where none did."""
    looks = ((record.step, record.read("eval_pass_rate")) for record in records)
    return next((step for step, rate in looks if rate is not None and rate >= share), None)


def _mean(records: Sequence[StepRecord], name: str) -> float | None:
    values = [value for record in records if (value := record.read(name)) is not None]
    return fmean(values) if values else None


class MetricsFile:
    """`metrics.jsonl`: one line a logged step, flushed as it goes."""

    def __init__(self, path: Path, *, from_step: int = 0) -> None:
        """Open for appending. Lines after `from_step` are dropped: a resumed run takes those steps again."""
        kept = [record for record in read_metrics(path) if record.step <= from_step] if path.exists() else []
        text = "".join(f"{json.dumps(record.to_json())}\n" for record in kept)
        write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))
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


def write_table(records: Sequence[StepRecord], path: Path) -> None:
    """Write the records as Parquet: a row a log, `step` and a column of floats for each name of `list_values`."""
    rows = [{"step": record.step, **{name: float(value) for name, value in record.list_values()}} for record in records]
    names = sorted({name for row in rows for name in row} - {"step"})
    schema = {"step": pl.Int64, **dict.fromkeys(names, pl.Float64)}
    write_whole(path, lambda file: pl.DataFrame(rows, schema=schema).write_parquet(file))
