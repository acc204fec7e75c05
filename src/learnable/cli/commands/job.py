"""`learnable train --pool`: from a pool of prompts and an empty store to a trained policy, in one job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from learnable.cli import options
from learnable.cli.arguments import count_workers, name_verifier
from learnable.cli.commands.train_report import show_training
from learnable.cli.console import Shell
from learnable.cli.display.fitted_table import Column, FittedTable
from learnable.cli.display.report_tables import tabulate_held_out
from learnable.cli.flags import Flag, Given, flags_of
from learnable.data.errors import LearnableError
from learnable.data.records import Sampling
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.flows.settings.curation import TRACKERS
from learnable.rollouts.settings import VLLMSettings
from learnable.train.settings import TrainSettings

if TYPE_CHECKING:
    from learnable.flows.looping.job_report import JobPlan, JobReport

POOL = "Without a curated set: what is trained on is found first"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolArguments:
    """Where prompts come from that are not curated yet."""

    prompts: Annotated[
        Given,
        flags_of(
            PromptSettings,
            POOL,
            only="location forms limit prompt_column answer_column",
            location=Flag(
                help="Prompts as find-learnable --prompts reads them: what to train on is found first.", flag="--pool"
            ),
            forms=Flag(
                help="A form of generated prompts in place of --pool, as find-learnable has them; so is --family. "
                "Repeatable.",
                complete=options.complete_form,
            ),
            limit=Flag(help="Most prompts of the pool to look at."),
            prompt_column=Flag(help="Column of --pool that holds the prompt."),
            answer_column=Flag(help="Column of --pool that holds the right answer."),
        ),
    ]
    place: Annotated[
        Given,
        flags_of(
            CurateSettings,
            only="store",
            store=Flag(help="Folder or URL of rollouts, scores and curated sets.", panel=POOL),
        ),
    ]

    @property
    def is_given(self) -> bool:
        """Whether a pool is named, or what belongs to one."""
        typed = self.prompts.read()
        return bool(typed["location"] or typed["forms"])

    def make_settings(self, train: TrainSettings) -> tuple[CurateSettings, TrainSettings]:
        """Return how prompts are found, and how they are trained on, which is as in `train` but for a set.

        Its families are those to generate, where there is no file. Raises `LearnableError` for what cannot work.
        """
        if train.curated:
            raise LearnableError("--pool and --form are prompts that are not curated yet: leave out --curated")
        if train.part or train.resume:
            raise LearnableError("--part and --resume are for a curated set: the same command goes on by itself")
        own = [name_verifier(name, None, None) for name in train.verifiers]
        typed = self.prompts.read()
        prompts = PromptSettings(
            **typed,
            families=() if typed["location"] else train.families,
            verifier=own[0] if own else None,
            trusted=tuple(own[1:]),
        )
        usual = Sampling()
        sampling = replace(
            usual,
            temperature=usual.temperature if train.temperature is None else train.temperature,
            max_tokens=train.max_completion_length or usual.max_tokens,
        )
        curate = CurateSettings(
            prompts=prompts,
            policy=train.policy,
            engine=VLLMSettings(dict(train.engine_options or {})),
            sampling=sampling,
            group_size=train.num_generations,
            workers=count_workers(None),
            seed=train.seed,
            report_to=next((name for name in TRACKERS if name == train.report_to), "none"),  # TRL knows more
            **self.place.read(),
        )
        return curate, train if prompts.location else replace(train, families=())


def do_job(shell: Shell, curate: CurateSettings, train: TrainSettings, *, explain: bool, use_prefect: bool) -> None:
    """Find prompts and train on them, or say what that will take. Raises `LearnableError` for what cannot work."""
    from learnable.flows.launch import run_job
    from learnable.flows.looping.job import plan_job, plan_tokens

    if explain:
        show_job_plan(shell, plan_tokens(plan_job(curate, train), curate))
        return
    report = run_job(curate, train, use_prefect=use_prefect)
    if shell.as_json:
        shell.dump(report.to_json())
        return
    show_found(shell, report)
    show_training(shell, report.training)
    if report.held_out and len(report.rounds) > 1:
        shell.line("\nFrom the first round to the last:")
        shell.out.print(tabulate_held_out(report.held_out))
    show_paid(shell, report)
    if report.end:
        shell.line(f"\n{report.end}.")


def show_job_plan(shell: Shell, plan: JobPlan) -> None:
    """Show what a job is to come to, before anything is paid."""
    if shell.as_json:
        shell.dump(plan.to_json())
        return
    table = FittedTable([Column("what", text=40), Column("completions"), Column("tokens")])
    for what, count in (
        ("a pilot, all where it foretells enough", plan.pilot),
        (f"else finding {plan.want:,} prompts, about", plan.finding),
        ("training", plan.training),
    ):
        table.add_row(what, f"{count:,}", f"{count * plan.tokens_each:,.0f}")
    shell.out.print(table)
    why = (
        f"at most, {plan.tokens_each:,.0f} a completion: the ledger has none of this policy yet"
        if plan.is_bound
        else f"at the {plan.tokens_each:,.1f} a completion that the ledger has of this policy"
    )
    shell.line(
        f"\nTokens are {why}. A pilot foretells enough where text and columns of prompts tell which have spread."
    )
    if plan.advice:
        shell.line(f"\n{plan.advice[0].upper()}{plan.advice[1:]}.")


def show_found(shell: Shell, report: JobReport) -> None:
    """Show what was found, round by round."""
    from learnable.flows.curation.report import describe_predictions
    from learnable.flows.looping.job_report import describe_found, describe_rounds

    for one, sentence in zip(report.rounds, describe_rounds(report.rounds), strict=True):
        shell.line(sentence if len(report.rounds) > 1 else describe_found(one))
        for line in describe_predictions(one.curation) if one.gain is None else ():
            shell.line(line)
        shell.line(f"curated set  {one.curation.curated}\n", whole=True)


def show_paid(shell: Shell, report: JobReport) -> None:
    """Show what was paid for what."""
    table = FittedTable([Column("paid for", text=36), Column("completions"), Column("tokens")])
    for cost in report.paid:
        table.add_row(cost.what, f"{cost.completions:,}", f"{cost.tokens:,}")
    counts = [(cost.completions, cost.tokens) for cost in report.paid]
    table.add_row("in all", *(f"{sum(each):,}" for each in zip(*counts, strict=True)))
    shell.line("")
    shell.out.print(table)
    shell.line(f"\nOf the completions that were trained on, {report.stored:,} were there from finding.")
