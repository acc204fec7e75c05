"""Trains the runs of an ablation one after the other, and sets what they came to side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from learnable.data.curated.curated_set import CuratedSet, open_curated
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.progress import progress
from learnable.data.sources.family import fold_name
from learnable.data.sources.selection import PromptSet
from learnable.data.storage.places import find_place, make_folder
from learnable.filters.decisions.presets import find_preset
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.launch import run_training
from learnable.flows.refreshing.pool import NEVER_SAMPLED, open_pool
from learnable.flows.settings import RefreshSettings
from learnable.train.ablation.planning import Ablation, Variant, write_value
from learnable.train.ablation.preparing import AblationRun, PreparedAblation
from learnable.train.ablation.report import AblationReport, build_report
from learnable.train.settings import TrainSettings
from learnable.verifiers.families.registry import find_forms

Train = Callable[[TrainSettings], object]


def run_ablation(
    prepared: PreparedAblation, *, use_prefect: bool = False, train: Train | None = None
) -> AblationReport:
    """Train what is not finished, and write table, figure and report. `train` stands in for `run_training` in tests.

    A run that fails is named in the notes and does not stop the others; the same call tries it again. Raises
    `InterruptedRunError` after Ctrl-C, and `LearnableError` where the folder cannot be written or no run finished.
    """
    make_folder(prepared.folder, f"output {str(prepared.folder)!r}", "output")
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


def find_missing_sets(ablation: Ablation) -> list[Variant]:
    """Return a variant for each set that is not there and that the file says how to make, in their order."""
    missing: dict[str, Variant] = {}
    for variant in ablation.variants:
        folder = find_place(variant.settings.curated)
        if variant.make and not folder.exists():
            missing.setdefault(str(folder), variant)
    return list(missing.values())


def make_set(ablation: Ablation, variant: Variant) -> CurationReport:
    """Curate a variant's set from the prompts, kept and rejected, of the set that the ablation names in [base].

    Rollouts that are in the store are not made again, and each prompt stays on its side of the split. Raises
    `LearnableError` for a form that the set has no prompts of, and as a curation does.
    """
    make: Mapping[str, Any] = variant.make
    curated = open_curated(ablation.curated)
    pool = open_pool(RefreshSettings(ablation.curated, policy=curated.manifest.policy.name))
    rows = pool.rows.filter(~pl.col("decision").is_in(NEVER_SAMPLED))
    prompts = pool.find(rows["prompt_id"])
    if forms := _choose_forms(make, curated):
        prompts = [prompt for prompt in prompts if fold_name(prompt.form) in forms]
        if not prompts:
            known = ", ".join(sorted({prompt.form for prompt in pool.prompts.values()}))
            raise LearnableError(f"{ablation.curated} has no prompts of {', '.join(forms)}: it has {known}")
    preset = find_preset(make["preset"]) if "preset" in make else pool.settings.preset
    if "band" in make:
        low, high = make["band"]
        preset = replace(preset, band=replace(preset.band, low=low, high=high))
    name = find_place(variant.settings.curated).name
    progress().stage(f"Curating {name}: {write_value(make)}, of {len(prompts):,} prompts of {ablation.curated}")
    return run_curation(replace(pool.settings, preset=preset, name=name), given=PromptSet(prompts))


def _choose_forms(make: Mapping[str, Any], curated: CuratedSet) -> list[str]:
    """Return the forms that a set is of, folded; none for all of them."""
    if "form" in make:
        known = {fold_name(row.form) for row in curated.manifest.forms if row.form}
        own = fold_name(make["form"])
        return [own] if own in known else [fold_name(form) for _, form in find_forms([make["form"]])]
    rows = [row for row in curated.manifest.forms if row.form and "best_forms" in make]
    rows.sort(key=lambda row: -(row.expected_within_variance or 0.0))
    return [fold_name(str(row.form)) for row in rows[: make.get("best_forms")]]


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
