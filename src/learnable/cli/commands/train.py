"""`learnable train`: train on a curated set, and say whether held-out reward rose."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Annotated, cast

from learnable.cli import options
from learnable.cli.arguments import ScheduleArguments
from learnable.cli.console import Shell, open_shell
from learnable.cli.display.report_tables import tabulate_held_out, tabulate_parts
from learnable.train.settings import Method, Part, Signal, TrainSettings

if TYPE_CHECKING:
    from learnable.train.results.report import TrainingReport

TRAIN_HELP = """
Train on a curated set with TRL's GRPOTrainer, and say whether held-out reward rose.

Measures the policy on the set's held-out prompts with fresh completions, trains, measures again, and \
writes the trained policy, metrics.jsonl, a reward curve and report.json.

\b
Examples:
  learnable train --curated learnable-store/curated/arithmetic
  learnable train --curated SET --steps 200 --learning-rate 1e-6 --lora-rank 16
  learnable train --curated SET --part control
  learnable train --curated SET --reward-range -1 1 --scale-rewards none
  learnable train --curated SET --output runs/first --resume
"""

DEFAULTS = TrainSettings(curated="", output="")

set_option = options.panel("What is trained on what")
training_option = options.panel("How it is trained")
measure_option = options.panel("What is measured")

AllowSilentReward = Annotated[
    bool,
    set_option(
        "--allow-silent-reward",
        help="Train although no rollout of the curation moved what rewards ask of a completion's form.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainArguments:
    """The flags that make the settings."""

    curated: Annotated[str, set_option(help="A curated set: its folder, or a version's.")]
    part: Annotated[str, set_option(help="The set's train, its random control, or the reserve of its preset.")] = (
        DEFAULTS.part
    )
    family: Annotated[list[str] | None, set_option("--family", help="Train on this family alone; repeatable.")] = None
    output: Annotated[str | None, set_option(help="Folder of the run. (default: runs/NAME-N, runs/NAME-PART-N)")] = None
    policy: Annotated[
        str | None,
        set_option(help="Model folder, LoRA adapter's folder, or hub id. (default: the one the set was curated for)"),
    ] = DEFAULTS.policy
    method: Annotated[str, training_option(help="grpo, or sft on the set's demonstrations to warm up for it.")] = (
        DEFAULTS.method
    )
    steps: Annotated[int, training_option(help="Optimizer steps.")] = DEFAULTS.steps
    num_generations: Annotated[int, training_option(help="Completions a prompt: GRPO's group size.")] = (
        DEFAULTS.num_generations
    )
    batch_size: Annotated[
        int | None,
        training_option(
            help="Completions a step: prompts times --num-generations. (default: 128, or what the set fills)"
        ),
    ] = DEFAULTS.batch_size
    micro_batch_size: Annotated[
        int | None, training_option(help="Completions in one pass of one process. (default: all)")
    ] = DEFAULTS.micro_batch_size
    learning_rate: Annotated[
        float | None, training_option(help="Learning rate. (default: one that suits the model's size)")
    ] = DEFAULTS.learning_rate
    beta: Annotated[float, training_option(help="Weight of the KL term that pulls toward the policy as it was.")] = (
        DEFAULTS.beta
    )
    no_kl: Annotated[
        bool, training_option("--no-kl", help="Train without the KL term, knowing that policies collapse so.")
    ] = DEFAULTS.no_kl
    loss_type: Annotated[str, training_option(help="One of TRL's losses: grpo, dr_grpo, dapo, ...")] = (
        DEFAULTS.loss_type
    )
    signal: Annotated[str, training_option("--signal", help="Train on what: reward, or pass.")] = DEFAULTS.signal
    reward_range: Annotated[
        tuple[float, float] | None,
        training_option(
            help="What TRL is given for the worst and the best reward, as -1 1. It changes no step unless with "
            "--scale-rewards none. (default: 0 1)"
        ),
    ] = DEFAULTS.reward_range
    scale_rewards: Annotated[
        str | None, training_option(help="TRL divides advantages by the std of the group, of the batch, or by none.")
    ] = DEFAULTS.scale_rewards
    temperature: Annotated[
        float | None, training_option("--temperature", help="Sampling temperature. (default: the curated set's)")
    ] = DEFAULTS.temperature
    max_completion_length: Annotated[
        int | None, training_option(help="Most tokens of a completion. (default: the curated set's)")
    ] = DEFAULTS.max_completion_length
    lora_rank: Annotated[
        int | None, training_option(help="Train LoRA adapters of this rank. (default: train every weight)")
    ] = DEFAULTS.lora_rank
    use_vllm: Annotated[bool, training_option("--use-vllm", help="Let the trainer sample with vLLM; needs a GPU.")] = (
        DEFAULTS.use_vllm
    )
    num_processes: Annotated[int, training_option(help="Training processes on this machine.")] = DEFAULTS.num_processes
    evaluate: Annotated[
        bool, measure_option("--evaluate/--no-evaluate", help="Measure held-out reward before and after.")
    ] = DEFAULTS.evaluate
    eval_group_size: Annotated[int, measure_option(help="Fresh completions a held-out prompt.")] = (
        DEFAULTS.eval_group_size
    )
    eval_k: Annotated[int, measure_option(help="The k of pass@k.")] = DEFAULTS.eval_k
    eval_limit: Annotated[int | None, measure_option(help="Most held-out prompts. (default: all)")] = (
        DEFAULTS.eval_limit
    )
    save_steps: Annotated[int, measure_option(help="Steps between checkpoints.")] = DEFAULTS.save_steps
    report_to: Annotated[str, measure_option(help="A tracker that TRL knows, such as trackio.")] = DEFAULTS.report_to
    allow_silent_reward: AllowSilentReward = DEFAULTS.allow_silent_reward
    resume: Annotated[bool, set_option("--resume", help="Go on from the last checkpoint in --output.")] = (
        DEFAULTS.resume
    )
    seed: Annotated[int, training_option("--seed", help="Seed of data order, sampling and evaluation.")] = DEFAULTS.seed

    def settings(self) -> TrainSettings:
        """Return the settings. The stage itself refuses a part, method or signal that there is not."""
        return TrainSettings(
            curated=self.curated,
            output=self.output or "",
            part=cast(Part, self.part),
            families=tuple(self.family or ()),
            method=cast(Method, self.method),
            policy=self.policy,
            steps=self.steps,
            num_generations=self.num_generations,
            batch_size=self.batch_size,
            micro_batch_size=self.micro_batch_size,
            learning_rate=self.learning_rate,
            beta=self.beta,
            no_kl=self.no_kl,
            temperature=self.temperature,
            max_completion_length=self.max_completion_length,
            loss_type=self.loss_type,
            signal=cast(Signal, self.signal),
            reward_range=self.reward_range,
            scale_rewards=self.scale_rewards,
            allow_silent_reward=self.allow_silent_reward,
            lora_rank=self.lora_rank,
            seed=self.seed,
            evaluate=self.evaluate,
            eval_group_size=self.eval_group_size,
            eval_k=self.eval_k,
            eval_limit=self.eval_limit,
            save_steps=self.save_steps,
            use_vllm=self.use_vllm,
            num_processes=self.num_processes,
            report_to=self.report_to,
            resume=self.resume,
        )


@options.with_flags
def train(
    arguments: TrainArguments,
    schedule: ScheduleArguments,
    prefect: options.UsePrefect = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Train on a curated set."""
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        from learnable.flows.launch import run_training

        scheduled = schedule.timetable(prefect=True)
        settings = arguments.settings()
        if scheduled:
            from learnable.flows.launch import serve_training

            serve_training(settings, scheduled)
            return
        show_training(shell, run_training(settings, use_prefect=prefect))


def show_training(shell: Shell, report: TrainingReport) -> None:
    """Show held-out figures before and after, the verdict, and where things were written."""
    if shell.as_json:
        shell.dump(report.to_json())
        return
    if report.held_out:
        shell.out.print(tabulate_held_out(report.held_out))
    shell.line(f"\n{report.verdict}\n")
    if report.forecast:
        shell.line(f"{report.forecast.sentence}\n")
    _show_parts(shell, report)
    for name, place in (("policy", report.trained_policy), ("curve", report.curve), ("metrics", report.metrics)):
        shell.line(f"{name:<12} {place}", whole=True)
    shell.line(f"next         find-learnable --policy {quote(report.trained_policy)}", whole=True)


def _show_parts(shell: Shell, report: TrainingReport) -> None:
    """Show what training on other parts of the set came to."""
    for comparison in report.comparisons:
        shell.out.print(tabulate_parts(comparison))
        shell.line(f"\n{comparison.verdict}\n")
    for objection in report.not_compared:
        shell.line(f"{objection}\n")
    if report.held_out and report.settings.part == "train" and not report.comparisons:
        shell.line("control      the same command with --part control shows what the curation is worth")
