"""Can the runs of an ablation work, how far is each, and which held-out prompts do all of them measure?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.train.ablation.planning import Ablation, Variant
from learnable.train.file_settings import read_settings
from learnable.train.preflight.checks import PreparedRun, prepare_run
from learnable.train.results.evaluation import read_held_out
from learnable.train.settings import TrainSettings

State = Literal["new", "started", "finished"]


@dataclass(frozen=True, slots=True)
class AblationRun:
    """A variant with a seed: settings with nothing left open, and how far an earlier command has brought it."""

    variant: Variant
    seed: int
    settings: TrainSettings
    state: State

    @property
    def name(self) -> str:
        """The run in words."""
        return f"{self.variant.name}, seed {self.seed}"

    @property
    def completions(self) -> int:
        """How many completions training makes; none under SFT."""
        if self.settings.method == "sft":
            return 0
        passes = self.settings.trl.get("num_iterations", 1)  # over the same completions
        return self.settings.steps * self.settings.step_size // (passes if isinstance(passes, int) else 1)


@dataclass(frozen=True, slots=True)
class PreparedAblation:
    """An ablation whose runs passed their checks.

    `shared` are the ids of the held-out prompts that all runs measure, `measured` how many each variant does, by name.
    `remarks` are what preflight says of each variant.
    """

    ablation: Ablation
    folder: Path
    runs: tuple[AblationRun, ...]
    shared: frozenset[str]
    measured: dict[str, int]
    remarks: tuple[str, ...] = ()

    def count_evaluated(self, run: AblationRun) -> int:
        """Return how many completions the evaluations before and after a run are of; runs of a seed may share some."""
        return 2 * self.measured[run.variant.name] * (run.settings.eval_group_size + 1)


def prepare_ablation(ablation: Ablation, folder: Path) -> PreparedAblation:
    """Check all variants as `prepare_run` does, before anything is trained, and look how far each run is in `folder`.

    Seeds change nothing that is checked, so a variant is checked once. Raises `LearnableError` that names all variants
    that cannot work; where a run in `folder` was another one; and where the variants have no held-out prompt in common.
    """
    prepared = _prepare_variants(ablation)
    held_out = {name: _read_ids(run) for name, run in prepared.items()}
    shared = frozenset.intersection(*held_out.values())
    if not shared:
        raise LearnableError(
            f"ablation {ablation.name!r}: its runs have no held-out prompt in common, so nothing can be compared: give "
            'held_out = "pool" in [base], and sets that were curated from one pool with one seed'
        )
    return PreparedAblation(
        ablation,
        folder,
        tuple(_list_runs(ablation, prepared, folder)),
        shared,
        {name: len(ids) for name, ids in held_out.items()},
        tuple(f"{', '.join(names)}: {remark}" for remark, names in _find_remarks(prepared).items()),
    )


def _prepare_variants(ablation: Ablation) -> dict[str, PreparedRun]:
    prepared, failures = {}, []
    for variant in ablation.variants:
        try:
            prepared[variant.name] = _prepare_variant(variant)
        except LearnableError as error:
            hint = f" (its set is made by: {variant.made_by})" if variant.made_by else ""
            failures.append(f"run {variant.name!r}: {error}{hint}")
    if failures:
        raise LearnableError(f"ablation {ablation.name!r} cannot start:\n" + "\n".join(failures))
    return prepared


def _prepare_variant(variant: Variant) -> PreparedRun:
    """Check a variant on the version of its set that is the latest now: its runs stay with that one."""
    curated = str(open_curated(variant.settings.curated).path)
    with TemporaryDirectory() as nowhere:  # its folder is looked at apart
        return prepare_run(replace(variant.settings, curated=curated, output=nowhere))


def _find_remarks(prepared: Mapping[str, PreparedRun]) -> dict[str, list[str]]:
    """Return what is to be said of variants, and of which."""
    remarks: dict[str, list[str]] = {}
    for name, run in prepared.items():
        for remark in (*run.notes, *run.warnings):
            remarks.setdefault(remark, []).append(name)
    return remarks


def _read_ids(run: PreparedRun) -> frozenset[str]:
    settings = run.settings
    prompt_set = read_held_out(run.curated, settings.held_out, settings.families, settings.eval_limit)
    return frozenset(prompt.prompt_id for prompt in prompt_set.prompts)


def _list_runs(ablation: Ablation, prepared: Mapping[str, PreparedRun], folder: Path) -> Iterator[AblationRun]:
    """Yield the runs seed by seed, so that what is done at any time can be compared."""
    for seed in ablation.seeds:
        for variant in ablation.variants:
            output = str(folder / f"{variant.folder}-seed-{seed}")
            settings = replace(prepared[variant.name].settings, seed=seed, output=output)
            yield AblationRun(variant, seed, settings, find_state(settings))


def find_state(settings: TrainSettings) -> State:
    """Return how far a run is. Raises `LearnableError` where its folder has one of other settings, or a longer one."""
    file = settings.folder / "settings.json"
    if not file.is_file():
        return "new"
    saved = read_settings(file)
    then, now = saved.as_json(), settings.as_json()
    # What may be given otherwise when an ablation goes on: it changes no result.
    may_change = {"output", "resume", "steps", "save_steps", "report_to", "engine_options", "allow_silent_reward"}
    may_change |= {"num_processes", "accelerate_config", "micro_batch_size"}
    for name in sorted({*then, *now} - may_change):
        if then.get(name) != now.get(name):
            raise LearnableError(
                f"run {str(settings.folder)!r} was started with {name} = {then.get(name)}, and now it is "
                f"{now.get(name)}: give that again, or another `output`"
            )
    if saved.steps > settings.steps:
        raise LearnableError(
            f"run {str(settings.folder)!r} goes to step {saved.steps} already, and now to {settings.steps}: give more "
            "steps, or another `output`"
        )
    return "finished" if _count_reported(settings.folder) == settings.steps else "started"


def _count_reported(folder: Path) -> int | None:
    """Return the steps that a finished run was to take, None for one that did not get to its report."""
    report = folder / "report.json"
    return int(json.loads(report.read_text(encoding="utf-8"))["settings"]["steps"]) if report.is_file() else None
