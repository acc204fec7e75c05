"""What `learnable train --explain` shows: settings with their reasons, memory, and what to mind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from learnable.cli.console import Shell
from learnable.cli.display.report_tables import tabulate_settings
from learnable.data.records import JsonObject
from learnable.train.preflight.device import Device
from learnable.train.presets import TrainPreset, explain_settings
from learnable.train.settings import TrainSettings

if TYPE_CHECKING:
    from learnable.train.preflight.checks import PreparedRun


def show_settings(
    shell: Shell, settings: TrainSettings, preset: TrainPreset | None, given: JsonObject, other: Device | None
) -> None:
    """Show the settings that a run would have, where each is from and why, its memory, and what to mind.

    `given` are those that were typed. `other` is a GPU of another machine, with one for each of the processes that are
    given, in place of what is here. Raises `LearnableError` for a run that cannot work.
    """
    from learnable.train.preflight.checks import prepare_run

    if other:
        settings = replace(settings, num_processes=given["num_processes"])
    with TemporaryDirectory() as folder:  # a run without --output would begin a folder of its own
        run = prepare_run(replace(settings, output=settings.output or folder), other)
    rows = explain_settings(settings, replace(run.settings, output=settings.output), given, preset)
    if shell.as_json:
        values = {"notes": run.notes, "warnings": run.warnings, **_measure(run, other)}
        shell.dump({"settings": [asdict(row) for row in rows], **values})
        return
    if preset:
        shell.line(f"{preset.name}: {preset.title} ({preset.source})\n")
    shell.out.print(tabulate_settings(rows))
    for line in (*run.notes, *_describe(run, other), *(f"warning: {warning}" for warning in run.warnings)):
        shell.line(f"\n{line}")


def _measure(run: PreparedRun, other: Device | None) -> JsonObject:
    from learnable.train.preflight.memory import judge_fit

    values: JsonObject = {"memory": asdict(run.memory) | {"peak": run.memory.peak} if run.memory else None}
    if other:
        fit = judge_fit(run.memory, run.settings) if run.memory else None
        values["machine"] = {"gpus": run.settings.num_processes, "gpu_memory": other.memory, "fit": fit}
    return values


def _describe(run: PreparedRun, other: Device | None) -> Iterator[str]:
    from learnable.train.preflight.memory import explain_fit, explain_memory

    if run.memory:
        yield f"memory: {explain_fit(run.memory, run.settings) if other else explain_memory(run.memory)}"
    elif other:
        yield "memory: not estimated, for this policy is not on this disk, or of a kind whose sizes are not known"
