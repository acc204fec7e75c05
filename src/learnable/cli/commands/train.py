"""`learnable train`: train on a curated set, and say whether held-out reward rose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from learnable.cli import options
from learnable.cli.arguments import ScheduleArguments
from learnable.cli.commands.job import PoolArguments, do_job
from learnable.cli.commands.settings_page import show_settings
from learnable.cli.commands.train_report import show_training
from learnable.cli.console import Shell, open_shell
from learnable.cli.flags import Flag, Given, flags_of, with_flags
from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.flows.settings.curation import PROMPTS
from learnable.train.preflight.device import describe_gpus
from learnable.train.presets import (
    TrainPreset,
    find_train_preset,
    list_train_presets,
    merge_settings,
)
from learnable.train.settings import MEASURED, TRAINED_ON, TrainSettings
from learnable.train.trl_options import read_trl_options

if TYPE_CHECKING:
    from learnable.flows.scheduling.timetable import Timetable

TRAIN_HELP = """
Train on a curated set with TRL, and say whether held-out reward rose. With --pool (or --form, or --family \
without a set) find as many prompts as the run can use first, then train on the completions that found them, then live.

Measures the policy on the set's held-out prompts with fresh completions, trains, measures again, and \
writes the trained policy, metrics.jsonl and metrics.parquet, a reward curve and report.json. A monitor watches \
the metrics and says what goes wrong, since when, and what helped others: docs/reference/metrics.md has its rules.

\b
Examples:
  learnable train --curated learnable-store/curated/arithmetic
  learnable train --curated SET --steps 200 --learning-rate 1e-6 --lora-rank 16
  learnable train --pool questions.jsonl --verifier number --steps 60
  learnable train --pool questions.jsonl --steps 60 --explain
  learnable train --curated SET --part train
  learnable train --curated SET --stored first
  learnable train --curated SET --verifier my_judge.py:score
  learnable train --curated SET --method dpo --dpo-margin 0.5
  learnable train --curated SET --lora-rank 16 --explain --gpu-memory 80 --gpus 8
  learnable train --curated SET --preset dapo-like --trl warmup_steps=20 --explain
  learnable train --curated SET --eval-steps 5 --on-alarm stop
  learnable train --curated SET --monitor my_rules.toml --on-alarm checkpoint
  learnable train --curated SET --part control
  learnable train --curated SET --curriculum arithmetic --curriculum-by success
  learnable train --curated SET --part pool --sampler static --held-out pool
  learnable train --curated SET --reward-range -1 1 --scale-rewards none
  learnable train --curated SET --output runs/first --resume
"""

TRAINED_HOW = "How it is trained"
TRAIN_PANELS = (TRAINED_ON, PROMPTS, TRAINED_HOW, MEASURED)
training_option = options.panel(TRAINED_HOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainArguments:
    """The flags that make the settings; the preset and the set fill in the others."""

    preset: Annotated[str | None, training_option(help=f"{', '.join(list_train_presets())}, or a TOML file.")] = None
    given: Annotated[
        Given, flags_of(TrainSettings, TRAINED_HOW, unset=True, trl=Flag(kind=list[str], read=read_trl_options))
    ]

    def find_preset(self) -> TrainPreset | None:
        """Return the preset that was named. Raises `LearnableError` for one that is not there or cannot be read."""
        return find_train_preset(self.preset) if self.preset else None

    def settings(self, usual: JsonObject | None = None) -> TrainSettings:
        """Return the settings: what was typed, else what is `usual` for the command, else the preset's.

        The stage refuses those that cannot work together. Raises `LearnableError` as `find_preset` and `Given.read` do.
        """
        given = {**(usual or {}), **self.given.read()}
        if "curated" not in given:
            raise LearnableError("nothing to train on is named: give --curated SET, or to `learnable train` a --pool")
        preset = self.find_preset()
        return TrainSettings(**{"output": "", **merge_settings(preset.values if preset else {}, given)})


@with_flags(*TRAIN_PANELS)
def train(
    arguments: TrainArguments,
    pool: PoolArguments,
    schedule: ScheduleArguments,
    use_prefect: options.UsePrefect = False,
    explain: Annotated[
        bool,
        training_option(
            "--explain",
            help="Print every setting of the run, where it is from and why, and its memory; train nothing.",
        ),
    ] = False,
    gpu_memory: Annotated[
        float | None,
        training_option(help="With --explain: would it fit GPUs of so many GiB? As --gpu-memory 80 --gpus 8."),
    ] = None,
    gpus: Annotated[
        int | None, training_option(help="With --gpu-memory: how many GPUs, a process on each. (default: 1)")
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Train on a curated set. Raises `LearnableError` for what cannot work."""
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        timetable = schedule.timetable(prefect=True)
        given = arguments.given.read()
        if pool.is_given or ("families" in given and not given.get("curated")):
            if timetable or gpu_memory:
                raise LearnableError("--cron, --every and --gpu-memory are for a curated set: give --curated")
            unset = arguments.settings({"curated": ""})
            do_job(shell, *pool.make_settings(unset), explain=explain, use_prefect=use_prefect)
            return
        settings = arguments.settings()
        machine = describe_gpus(gpu_memory, gpus)
        if explain:
            given |= {"num_processes": gpus or 1} if machine else {}
            show_settings(shell, settings, arguments.find_preset(), given, machine)
            return
        if machine:
            raise LearnableError("--gpu-memory describes a machine that is not here: add --explain")
        start_training(shell, settings, timetable, use_prefect=use_prefect)


def start_training(shell: Shell, settings: TrainSettings, timetable: Timetable | None, *, use_prefect: bool) -> None:
    """Train now and show what came of it, or by a timetable. Raises `LearnableError` as the stage does."""
    from learnable.flows.launch import run_training, serve_training

    if timetable:
        serve_training(settings, timetable)
    else:
        show_training(shell, run_training(settings, use_prefect=use_prefect))
