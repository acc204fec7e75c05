"""The report of a training run, as `report.json` has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from math import isnan
from pathlib import Path
from typing import Any

from learnable.data.records import JsonObject
from learnable.data.storage.places import write_whole
from learnable.train.monitor.forecast import TrainingForecast
from learnable.train.monitor.records import EpochTotals
from learnable.train.monitor.watching import Alarm
from learnable.train.results.comparison import HeldOut, MeasureChange
from learnable.train.results.earlier_runs import PartsComparison
from learnable.train.settings import TrainSettings


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """What a trainer's process leaves in `training.json`. `seconds` are those of its last start.

    `steps`: optimizer steps taken in all. `resumed_from`: the step of the checkpoint that it went on from, 0 for none.
    `ran_dry`: it ended before its time, since the live sampler had no prompts left to learn from.
    """

    steps: int
    resumed_from: int
    trained_parameters: int
    learning_rate: float
    seconds: float
    ran_dry: bool = False

    def write(self, path: Path) -> None:
        """Write the summary as JSON."""
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> TrainingSummary:
        """Read what `write` wrote."""
        values = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{one.name: values[one.name] for one in fields(cls) if one.name != "ran_dry" or one.name in values})


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """All of a training run, as `report.json` has it. `held_out` is None without evaluation.

    `families`: mean reward before and after, by family. `seconds`: of each stage, by its name. `forecast`: of training,
    from the set's certificates; None for a set without them. `comparisons` are with earlier runs on other parts of the
    same set; `not_compared` says why other runs were left out. `held_out_parts` has the kept and the rejected prompts
    apart, where both were measured. `epochs` are totals of each pass through the prompts. `reached` has, for each share
    that was asked for, the step of the first look at which held-out completions passed so often;
    None where none did. `alarms` are those of all steps, a resumed run's earlier ones too.
    """

    curated: str
    policy: str
    policy_id: str
    trained_policy: str
    settings: TrainSettings
    training: TrainingSummary
    held_out: HeldOut | None
    families: Mapping[str, MeasureChange]
    verdict: str
    warnings: tuple[str, ...]
    seconds: Mapping[str, float]
    metrics: str
    curve: str
    forecast: TrainingForecast | None = None
    comparisons: tuple[PartsComparison, ...] = ()
    not_compared: tuple[str, ...] = ()
    held_out_parts: Mapping[str, HeldOut] = field(default_factory=dict)
    alarms: tuple[Alarm, ...] = ()
    epochs: tuple[EpochTotals, ...] = ()
    reached: Mapping[str, int | None] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        """Return the report as plain data; what could not be estimated is null.

        The forecast stands under `foresight`; alarms and parts of what is held out are there where there were any, and
        `ran_dry` where it did.
        """
        plain: dict[str, Any] = without_nan(asdict(self) | {"settings": self.settings.as_json()})
        for name in ("alarms", "epochs", "reached"):
            if not plain[name]:
                del plain[name]
        if not self.training.ran_dry:
            del plain["training"]["ran_dry"]
        if self.forecast:
            plain["forecast"]["sentence"] = self.forecast.sentence
        if not self.held_out_parts:
            del plain["held_out_parts"]
        return {"foresight" if key == "forecast" else key: value for key, value in plain.items()}

    def write(self, path: Path) -> None:
        """Write `report.json`, whole or not at all."""
        text = json.dumps(self.to_json(), indent=2) + "\n"
        write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))


def without_nan(value: Any) -> Any:
    """Return plain data with null for what could not be estimated."""
    if isinstance(value, Mapping):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and isnan(value) else value
