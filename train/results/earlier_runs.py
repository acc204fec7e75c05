"""Runs that drew from one set in two ways side by side: what curation and sampler were worth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learnable.train.results.comparison import (
    MeasureChange,
    compare_measure,
    judge_direction,
    pair_prompts,
    read_mean_reward,
)
from learnable.train.results.evaluation import Evaluation, read_evaluation
from learnable.train.results.statistics import Interval
from learnable.train.settings import PARTS, TrainSettings

DRAWINGS = tuple(f"{part}{live}" for part in PARTS for live in (" (live)", ""))  # what stands first is compared first


@dataclass(frozen=True, slots=True)
class PartRun:
    """One of the runs: the part it trained on and how, its folder, held-out mean reward before and after."""

    part: str
    folder: str
    mean_reward: MeasureChange


@dataclass(frozen=True, slots=True)
class PartsComparison:
    """Two runs that drew from one set, and by how much `first` ended above `second`, prompt by prompt."""

    first: PartRun
    second: PartRun
    prompts: int
    difference: Interval
    verdict: str


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A finished run that drew otherwise. `differs` says why it cannot be compared; empty if it can."""

    folder: Path
    part: str
    differs: tuple[str, ...]

    @property
    def objection(self) -> str:
        """Why it is not compared, as a sentence."""
        return f"{self.folder} trained on {self.part} too, but cannot be compared: {', '.join(self.differs)}"


def find_earlier_runs(settings: TrainSettings, curated: str, policy_id: str) -> list[EarlierRun]:
    """Return the runs beside this one that drew otherwise from the same version, the newest of each way to draw.

    For each, a run that can be compared goes before a newer one that cannot. Files that are no report are skipped.
    """
    by_part: dict[str, EarlierRun] = {}
    reports = sorted(settings.folder.parent.glob("*/report.json"), key=lambda path: path.stat().st_mtime)
    for file in reports:
        run = _read_run(file, settings, curated, policy_id)
        if run and (run.part not in by_part or not run.differs or by_part[run.part].differs):
            by_part[run.part] = run
    return [by_part[name] for name in DRAWINGS if name in by_part]


def name_drawing(part: str, sampler: str | None) -> str:
    """Return what a run trains on, and that it does so live.

    >>> name_drawing("pool", "live"), name_drawing("train", "static")
    ('pool (live)', 'train')
    """
    return f"{part} (live)" if sampler == "live" else part


def compare_parts(settings: TrainSettings, before: Evaluation, after: Evaluation, other: EarlierRun) -> PartsComparison:
    """Compare this run with a comparable earlier one, the way named first in `DRAWINGS` against the other.

    Raises `LearnableError` when the earlier run's rewards cannot be read.
    """
    theirs = [read_evaluation(other.folder / f"{when}.json") for when in ("before", "after")]
    own = name_drawing(settings.named_part, settings.sampler)
    runs = {
        own: _compare_ends(settings, own, settings.folder, before, after),
        other.part: _compare_ends(settings, other.part, other.folder, *theirs),
    }
    ends = {own: after, other.part: theirs[1]}
    first, second = sorted(runs, key=DRAWINGS.index)
    pairs = pair_prompts(ends[second], ends[first])
    difference = compare_measure(pairs, read_mean_reward, settings.seed).change
    verdict = _write_verdict(first, second, len(pairs), difference)
    return PartsComparison(runs[first], runs[second], len(pairs), difference, verdict)


def _compare_ends(settings: TrainSettings, part: str, folder: Path, before: Evaluation, after: Evaluation) -> PartRun:
    return PartRun(part, str(folder), compare_measure(pair_prompts(before, after), read_mean_reward, settings.seed))


def _write_verdict(first: str, second: str, prompts: int, difference: Interval) -> str:
    ends = {
        "rose": f"training on {first} ended higher than training on {second}",
        "fell": f"training on {first} ended lower than training on {second}",
        "no clear change": f"no clear difference between training on {first} and on {second}",
        "too few prompts to tell": f"too few prompts to tell training on {first} from training on {second}",
    }
    end = ends[judge_direction(difference, prompts)]
    return f"{end}: held-out reward {difference.as_change}, {prompts} prompts, paired"


def _read_run(file: Path, settings: TrainSettings, curated: str, policy_id: str) -> EarlierRun | None:
    try:
        report: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        theirs, set_path = report["settings"], report["curated"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    part = name_drawing(theirs.get("part") or "train", theirs.get("sampler"))
    own = name_drawing(settings.named_part, settings.sampler)
    same_set = Path(set_path).resolve() == Path(curated).resolve()
    if not same_set or part == own or part not in DRAWINGS or not report.get("held_out"):
        return None
    differs = (
        [] if report.get("policy_id") == policy_id else [f"policy {report.get('policy_id')} there, {policy_id} here"]
    )
    # What may differ between two runs that are compared: what is under comparison, and what changes no step.
    free = {"part", "sampler", "curated", "output", "policy", "resume", "save_steps", "report_to", "eval_steps"}
    free |= {"eval_k", "num_processes", "accelerate_config", "micro_batch_size", "allow_silent_reward"}
    free |= {"engine_options"}
    for name, here in settings.as_json().items():
        there = theirs.get(name)
        if name not in free and there != here:
            differs.append(f"{name.replace('_', ' ')} {there} there, {here} here")
    if not all((file.parent / f"{when}.json").is_file() for when in ("before", "after")):
        differs.append("its rewards a prompt are gone")
    return EarlierRun(file.parent, part, tuple(differs))
