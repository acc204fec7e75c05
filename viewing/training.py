"""A training run as the page draws it: its curves, its alarms, and how it ended."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.train.monitor.records import StepRecord, read_metrics
from learnable.train.monitor.rules import read_rules
from learnable.train.monitor.watching import find_alarms

POINTS = 600  # of a curve at most: a chart has no more pixels
METRICS, REPORT = "metrics.jsonl", "report.json"


def read_run(folder: Path) -> JsonObject:
    """Return a training run: `steps` and `values` of each of its `curves`, its `alarms` and its `verdict`.

    A run that still goes on has no verdict. Raises `LearnableError` for a folder without metrics, or whose files cannot
    be read.
    """
    file = folder / METRICS
    if not file.is_file():
        raise LearnableError(f"{str(folder)!r} has no {METRICS}: give the folder of a training run")
    try:
        records = read_metrics(file)
        report = json.loads((folder / REPORT).read_text(encoding="utf-8")) if (folder / REPORT).is_file() else {}
    except (OSError, ValueError, KeyError) as error:
        raise LearnableError(f"training run {str(folder)!r} cannot be read: {error}") from error
    alarms = find_alarms(read_rules(), records)
    return {
        "name": folder.name,
        "steps": max((record.step for record in records), default=0),
        "curves": _list_curves(records),
        "alarms": [
            {name: getattr(alarm, name) for name in ("rule", "metric", "severity", "since", "step", "says", "helped")}
            for alarm in alarms
        ],
        "verdict": report.get("verdict", "") if isinstance(report, dict) else "",
        "curated": Path(str(report.get("curated", ""))).parts[-2:] if isinstance(report, dict) else (),
    }


def _list_curves(records: list[StepRecord]) -> list[JsonObject]:
    curves: dict[str, tuple[list[int], list[float]]] = {}
    for record in records:
        for name, value in record.list_values():
            if not isfinite(value):
                continue
            steps, values = curves.setdefault(name, ([], []))
            steps.append(record.step)
            values.append(round(float(value), 6))
    every = max(1, -(-max((len(steps) for steps, _ in curves.values()), default=0) // POINTS))
    return [
        {"name": name, "steps": steps[::every], "values": values[::every]} for name, (steps, values) in curves.items()
    ]
