"""Trains the runs of an ablation one after the other, and sets what they came to side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.progress import progress
from learnable.data.storage.places import make_folder
from learnable.flows.launch import run_training
from learnable.train.ablation.preparing import AblationRun, PreparedAblation
from learnable.train.ablation.report import AblationReport, build_report
from learnable.train.settings import TrainSettings

Train = Callable[[TrainSettings], object]


def run_ablation(
    prepared: PreparedAblation, *, use_prefect: bool = False, train: Train | None = None
) -> AblationReport:
    """Train what is not finished, and write table, figure and report. `train` stands in for `run_training` in tests.

    A run that fails is named in the notes and does not stop the others; the same call tries it again. Raises
    `InterruptedRunError` after Ctrl-C, and `LearnableError` where the folder cannot be written or no run finished.
    """
    make_folder(prepared.folder, f"output {str(prepared.folder)!r}", "--output")
    train = train or partial(run_training, use_prefect=use_prefect)
    runs, failed = [], []
    for number, run in enumerate(prepared.runs, 1):
        place = f"run {number} of {len(prepared.runs)}: {run.name}"
        try:
            runs.append(_train_one(run, place, train))
        except (InterruptedRunError, KeyboardInterrupt) as stop:
            raise InterruptedRunError(_explain_stop(prepared, runs, place)) from stop
        except LearnableError as error:
            progress().warn(f"{place}: {error}")
            failed.append(f"{run.name}, failed: {error}")
            runs.append(run)
    if all(run.state != "finished" for run in runs):
        raise LearnableError(f"no run of ablation {prepared.ablation.name!r} finished. {failed[0]}")
    return _write_report(replace(prepared, runs=tuple(runs)), failed)


def _train_one(run: AblationRun, place: str, train: Train) -> AblationRun:
    """Return the run as it is afterwards."""
    if run.state == "finished":
        progress().note(f"{place}: is there already")
        return run
    progress().stage(place[0].upper() + place[1:])
    train(replace(run.settings, resume=run.state == "started"))
    return replace(run, state="finished")


def _write_report(prepared: PreparedAblation, failed: list[str]) -> AblationReport:
    from learnable.train.ablation.figure import draw_ablation

    report = build_report(prepared, failed)
    draw_ablation(report)
    report.write(prepared.folder)
    return report


def _explain_stop(prepared: PreparedAblation, runs: list[AblationRun], place: str) -> str:
    later = prepared.runs[len(runs) :]
    done = sum(run.state == "finished" for run in (*runs, *later))
    return (
        f"stopped in {place}. {done} of {len(prepared.runs)} runs are done and kept in {str(prepared.folder)!r}; the "
        "same command goes on from there"
    )
