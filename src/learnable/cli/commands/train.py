"""`learnable train`: train on a curated set, and say whether held-out reward rose."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Annotated

from learnable.cli import options
from learnable.cli.arguments import ScheduleArguments, read_literal, read_pairs
from learnable.cli.commands.job import PoolArguments, do_job
from learnable.cli.commands.settings_page import show_settings
from learnable.cli.commands.train_report import show_training
from learnable.cli.console import open_shell
from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.train.preflight.device import describe_gpus
from learnable.train.presets import (
    TrainPreset,
    find_train_preset,
    list_train_presets,
    merge_settings,
)
from learnable.train.settings import TrainSettings
from learnable.train.trl_options import read_trl_options

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

set_option = options.panel("What is trained on what")
training_option = options.panel("How it is trained")
measure_option = options.panel("What is measured")

AllowSilentReward = Annotated[
    bool | None,
    set_option(
        "--allow-silent-reward",
        help="Train although no rollout of the curation moved what rewards ask of a completion's form.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainArguments:
    """The flags that make the settings."""

    curated: Annotated[
        str | None,
        set_option(help="A curated set: its folder, or a version's. Without one, --pool, --form or --family."),
    ] = None
    part: Annotated[
        str | None,
        set_option(
            help="The set's train, its random control, the reserve of its preset, reviewed: train with a tenth of "
            "mastered prompts, or pool: kept and rejected prompts alike. (default: pool, drawn live, where the set has "
            "rejects; else train)"
        ),
    ] = None
    family: Annotated[list[str] | None, set_option("--family", help="Train on this family alone; repeatable.")] = None
    output: Annotated[str | None, set_option(help="Folder of the run. (default: runs/NAME-N, runs/NAME-PART-N)")] = None
    policy: Annotated[
        str | None,
        set_option(help="Model folder, LoRA adapter's folder, or hub id. (default: the one the set was curated for)"),
    ] = None
    verifier: options.TrustedVerifiers = None
    preset: Annotated[str | None, training_option(help=f"{', '.join(list_train_presets())}, or a TOML file.")] = None
    method: Annotated[
        str | None,
        training_option(
            help="grpo; sft on the set's demonstrations, to warm up for it; or dpo on its preferences, pairs of a "
            "better and a worse completion. (default: grpo)"
        ),
    ] = None
    steps: Annotated[int | None, training_option(help="Optimizer steps. (default: 60)")] = None
    num_generations: Annotated[
        int | None, training_option(help="Completions a prompt: GRPO's group size. (default: 16)")
    ] = None
    batch_size: Annotated[
        int | None,
        training_option(
            help="Completions a step: prompts times --num-generations; under dpo, pairs. (default: 128, or what the "
            "set fills, or fewer where that gives as many usable groups as 128 of the pool; 64 pairs)"
        ),
    ] = None
    micro_batch_size: Annotated[
        int | None, training_option(help="Completions in one pass of one process. (default: all)")
    ] = None
    learning_rate: Annotated[
        float | None, training_option(help="Learning rate. (default: one that suits the model's size)")
    ] = None
    beta: Annotated[
        float | None,
        training_option(
            help="Weight of the KL term that pulls toward the policy as it was; under dpo, of what pulls there in the "
            "loss of a pair. (default: 0.04; under dpo 0.1)"
        ),
    ] = None
    dpo_margin: Annotated[
        float | None,
        training_option(
            help="Under dpo, by how much the rewards of a pair must differ, at most 1: passes and failures always do. "
            "(default: 0.2)"
        ),
    ] = None
    no_kl: Annotated[
        bool | None, training_option("--no-kl", help="Train without the KL term, knowing that policies collapse so.")
    ] = None
    loss_type: Annotated[
        str | None, training_option(help="One of TRL's losses: grpo, dr_grpo, dapo, ... (default: grpo)")
    ] = None
    sampler: Annotated[
        str | None,
        training_option(
            help="static: each prompt once an epoch; live: those whose groups are expected to disagree by now. "
            "(default: live, unless a part is named)"
        ),
    ] = None
    stored: Annotated[
        str | None,
        training_option(
            help="first: begin with the rollouts that the set's store has of its prompts, by this policy and sampling, "
            "until they are used up or stale; off: generate all. (default: off)"
        ),
    ] = None
    predict: Annotated[
        str | None, training_option(help="auto: the live sampler predicts prompts without certificates; off. (auto)")
    ] = None
    curriculum: Annotated[
        str | None,
        training_option(
            help="Draw prompts stage by stage: arithmetic, counting, or a TOML or JSON file of stages "
            "(docs/how-to/train.md), as in --curriculum arithmetic --curriculum-by success."
        ),
    ] = None
    curriculum_by: Annotated[
        str | None,
        training_option(
            help="What leads to the next stage: step, where the stages' from_step says so; or success, at a pass rate "
            "of .7, and back at .3. (default: step)"
        ),
    ] = None
    signal: Annotated[
        str | None, training_option("--signal", help="Train on what: reward, or pass. (default: reward)")
    ] = None
    reward_range: Annotated[
        tuple[float, float] | None,
        training_option(
            help="What TRL is given for the worst and the best reward, as -1 1. It changes no step unless with "
            "--scale-rewards none. (default: 0 1)"
        ),
    ] = None
    scale_rewards: Annotated[
        str | None,
        training_option(help="Divide advantages by the std of the group, of the batch, or by none. (default: group)"),
    ] = None
    temperature: Annotated[
        float | None, training_option("--temperature", help="Sampling temperature. (default: the curated set's)")
    ] = None
    max_completion_length: Annotated[
        int | None, training_option(help="Most tokens of a completion. (default: the curated set's)")
    ] = None
    lora_rank: Annotated[
        int | None, training_option(help="Train LoRA adapters of this rank. (default: train every weight)")
    ] = None
    trl: Annotated[
        list[str] | None,
        training_option("--trl", help="Another setting by TRL's own name, as key=value; repeatable."),
    ] = None
    use_vllm: Annotated[
        bool | None, training_option("--use-vllm", help="Let the trainer sample with vLLM; needs a GPU.")
    ] = None
    num_processes: Annotated[int | None, training_option(help="Training processes here. (default: 1)")] = None
    evaluate: Annotated[
        bool | None,
        measure_option("--evaluate/--no-evaluate", help="Measure held-out reward before and after. (default: yes)"),
    ] = None
    held_out: Annotated[
        str | None,
        measure_option(
            help="kept: the held-out prompts that the curation kept; pool: the rejected ones too, which are reported "
            "apart. (default: kept)"
        ),
    ] = None
    engine_arg: Annotated[
        list[str] | None,
        measure_option(
            "--engine-arg", help="For the evaluation's vllm.LLM, such as gpu_memory_utilization=0.5; repeatable."
        ),
    ] = None
    eval_group_size: Annotated[
        int | None, measure_option(help="Fresh completions a held-out prompt. (default: 16)")
    ] = None
    eval_k: Annotated[int | None, measure_option(help="The k of pass@k. (default: 8)")] = None
    eval_limit: Annotated[int | None, measure_option(help="Most held-out prompts. (default: all)")] = None
    eval_steps: Annotated[
        int | None,
        measure_option(
            help="Steps between looks at held-out prompts during training; without them no alarm tells of over-fitting "
            "and forgetting. (default: none)"
        ),
    ] = None
    reach: Annotated[
        list[float] | None,
        measure_option(
            "--reach",
            help="Report at which look this share of held-out completions first passes, as --eval-steps 5 --reach 0.7; "
            "repeatable.",
        ),
    ] = None
    on_alarm: Annotated[
        str | None,
        measure_option(
            help="What an alarm of the monitor does: warn; stop the run, where the rule is severe; or keep a "
            "checkpoint of its step. (default: warn)"
        ),
    ] = None
    monitor: Annotated[
        str | None,
        measure_option(help="A TOML file of rules that change the monitor's and add to them. (default: none)"),
    ] = None
    save_steps: Annotated[int | None, measure_option(help="Steps between checkpoints. (default: 20)")] = None
    report_to: Annotated[str | None, measure_option(help="A tracker that TRL knows, such as trackio.")] = None
    allow_silent_reward: AllowSilentReward = None
    resume: Annotated[bool | None, set_option("--resume", help="Go on from the last checkpoint in --output.")] = None
    seed: Annotated[
        int | None, training_option("--seed", help="Seed of data order, sampling and evaluation. (default: 0)")
    ] = None

    def find_preset(self) -> TrainPreset | None:
        """Return the preset that was named. Raises `LearnableError` for one that is not there or cannot be read."""
        return find_train_preset(self.preset) if self.preset else None

    def list_given(self) -> JsonObject:
        """Return the settings that were typed. Raises `LearnableError` for an item that is no key=value."""
        typed = {name: getattr(self, name) for name in SETTINGS}
        given = {name: value for name, value in typed.items() if value not in (None, [])}
        if self.family:
            given["families"] = tuple(self.family)
        if self.verifier:
            given["verifiers"] = tuple(self.verifier)
        if self.reach:
            given["reach"] = tuple(self.reach)
        if self.trl:
            given["trl"] = read_trl_options(self.trl)
        if self.engine_arg:
            pairs = read_pairs(self.engine_arg, "--engine-arg")
            given["engine_options"] = {name: read_literal(text) for name, text in pairs.items()}
        return given

    def settings(self) -> TrainSettings:
        """Return the settings: what was typed, else the preset's. The stage refuses those that cannot work.

        Raises `LearnableError` as `find_preset` and `list_given` do.
        """
        if self.curated is None:
            raise LearnableError("nothing to train on is named: give --curated SET, or to `learnable train` a --pool")
        preset = self.find_preset()
        values = merge_settings(preset.values if preset else {}, self.list_given())
        return TrainSettings(**{"output": "", **values})


# Those that are typed as they are; `family` and `trl` are not.
SETTINGS = tuple(
    {field.name for field in fields(TrainArguments)} & {field.name for field in fields(TrainSettings)} - {"trl"}
)


@options.with_flags
def train(
    arguments: TrainArguments,
    pool: PoolArguments,
    schedule: ScheduleArguments,
    prefect: options.UsePrefect = False,
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
        from learnable.flows.launch import run_training

        scheduled = schedule.timetable(prefect=True)
        if pool.is_given or (arguments.family and not arguments.curated):
            if scheduled or gpu_memory:
                raise LearnableError("--cron, --every and --gpu-memory are for a curated set: give --curated")
            unset = replace(arguments, curated=arguments.curated or "").settings()
            do_job(shell, *pool.make_settings(unset), explain=explain, use_prefect=prefect)
            return
        settings = arguments.settings()
        other = describe_gpus(gpu_memory, gpus)
        if explain:
            given = arguments.list_given() | ({"num_processes": gpus or 1} if other else {})
            show_settings(shell, settings, arguments.find_preset(), given, other)
            return
        if other:
            raise LearnableError("--gpu-memory describes a machine that is not here: add --explain")
        if scheduled:
            from learnable.flows.launch import serve_training

            serve_training(settings, scheduled)
            return
        show_training(shell, run_training(settings, use_prefect=prefect))
