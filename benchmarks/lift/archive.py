"""Runs that are over, kept as lines of JSON: a comparison of many hours goes on where another machine left it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import nan
from pathlib import Path
from typing import Any

from benchmarks.lift.runs import Look, Paid, Run, is_over, make_run_folder, read_run
from learnable.train.results.report import without_nan

Key = tuple[str, float, int]  # arm, rate, seed


@dataclass(slots=True)
class Archive:
    """The runs of one pool with one policy, whose baseline took so many steps: in a file, and in folders under `root`.

    Runs of other policies or lengths may be in the file too, and are left alone. Without a file folders are all. The
    curated set is not part of the key: on each machine the same recipe makes it, of nearly the same completions.
    """

    root: Path
    file: Path | None
    policy_id: str
    steps: int
    _runs: dict[Key, Run] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file and self.file.is_file() else []
        for row in map(json.loads, lines):
            if (row["policy_id"], row["baseline_steps"]) == (self.policy_id, self.steps):
                run = parse_run(row["run"])
                self._runs[run.arm, run.rate, run.seed] = run

    def find(self, arm: str, rate: float, seed: int) -> Run | None:
        """Return a run that is over, None for one that is not. What folders have goes into the file, once."""
        if (kept := self._runs.get((arm, rate, seed))) is not None:
            return kept
        if not is_over(folder := self.folder_of(arm, rate, seed)):
            return None
        found = self._runs[arm, rate, seed] = read_run(folder, arm, rate, seed)
        self._write(found)
        return found

    def folder_of(self, arm: str, rate: float, seed: int) -> Path:
        """Return where a run is made."""
        return make_run_folder(self.root, self.steps, arm, rate, seed)

    def _write(self, run: Run) -> None:
        if self.file is None:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        row = {"policy_id": self.policy_id, "baseline_steps": self.steps, "run": without_nan(asdict(run))}
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def parse_run(row: Mapping[str, Any]) -> Run:
    """Return the run that a line has; what was not a number is null there.

    Runs of which completions are not noted generated all that they trained on, a batch a step.
    """
    usual = [{"completions": look["step"] * row["batch_size"], "trained": look["tokens"]} for look in row["looks"]]
    looks = tuple(Look(**restore_nan({**more, **look})) for more, look in zip(usual, row["looks"], strict=True))
    alarms = tuple((rule, severity) for rule, severity in row["alarms"])
    forecast = {"forecast_zero_std": row["forecast_zero_std"]}  # of which null is a value of its own
    paid = Paid(**row.get("paid", {}))
    return Run(**restore_nan(row) | forecast | {"looks": looks, "alarms": alarms, "paid": paid})


def restore_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with NaN for null."""
    return {name: nan if value is None else value for name, value in row.items()}
