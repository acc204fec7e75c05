"""One job on a pool, as `learnable train --pool` runs it, laid out as one run: its rounds one after the other."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

from benchmarks.lift.pools import write_trained
from learnable.data.curated.curated_set import CuratedSet
from learnable.flows.looping.job import run_job
from learnable.flows.looping.job_report import JobReport
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.train.monitor.records import read_metrics
from learnable.train.settings import TrainSettings
from learnable.train.trainers.trainer import CHECKPOINTS, POLICY_FOLDER, read_step

METRICS, RUN_REPORT = "metrics.jsonl", "report.json"


def train_job(settings: TrainSettings, pool: CuratedSet, looks: int) -> tuple[int, int]:
    """Find prompts and train on them, and return the completions and tokens that finding them generated.

    `settings` are those of a run on `pool`, of which the prompts alone are taken. The run's folder is left as a run
    leaves it, with the checkpoints that are nearest to `looks` equal parts of its steps. Raises `LearnableError` as
    `run_job` does.
    """
    curate = CurateSettings(
        prompts=PromptSettings(location=str(write_trained(pool, settings.folder)), near_duplicates=1),
        sampling=settings.sampling,
        group_size=settings.num_generations,
        test_share=0.0,
        seed=settings.seed,
        store=str(settings.folder / "store"),
        name="job",
    )
    report = run_job(curate, replace(settings, curated="", part=None, sampler=None, stored="off"))
    lay_out(report, settings.folder)
    keep_looks(settings, looks)
    found = [cost for cost in report.paid if cost.what.startswith("finding")]
    return sum(cost.completions for cost in found), sum(cost.tokens for cost in found)


def lay_out(report: JobReport, folder: Path) -> None:
    """Number the steps and the checkpoints of a job's rounds on, and put all into one folder."""
    (folder / CHECKPOINTS).mkdir(exist_ok=True)
    steps, lines, alarms, whole = 0, [], [], {}
    for one in report.rounds:
        if one.training is None:
            continue
        part = one.training.settings.folder
        records = read_metrics(part / METRICS)
        lines += [json.dumps(replace(record, step=record.step + steps).to_json()) for record in records]
        for path in (part / CHECKPOINTS).glob("checkpoint-*"):
            path.rename(folder / CHECKPOINTS / f"checkpoint-{read_step(path) + steps}")
        whole = json.loads((part / RUN_REPORT).read_text(encoding="utf-8"))
        alarms += whole.get("alarms", [])
        steps += one.steps
        shutil.rmtree(folder / POLICY_FOLDER, ignore_errors=True)
        (part / POLICY_FOLDER).rename(folder / POLICY_FOLDER)
    whole = {**whole, "alarms": alarms, "training": {**whole["training"], "steps": steps}}
    (folder / METRICS).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / RUN_REPORT).write_text(json.dumps(whole), encoding="utf-8")


def keep_looks(settings: TrainSettings, looks: int) -> None:
    """Remove the checkpoints that are not the nearest to one of `looks` equal parts of a run's steps."""
    found = sorted((settings.folder / CHECKPOINTS).glob("checkpoint-*"), key=read_step)
    wanted = [settings.steps * place / looks for place in range(1, looks + 1)]
    kept = {min(found, key=lambda path: abs(read_step(path) - step)) for step in wanted} if found else set()
    for path in set(found) - kept:
        shutil.rmtree(path)
