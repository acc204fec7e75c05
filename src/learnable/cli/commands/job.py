"""`learnable train --pool`: from a pool of prompts and an empty store to a trained policy, in one job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from learnable.cli import options
from learnable.cli.arguments import DEFAULTS, count_workers, name_verifier
from learnable.cli.console import Shell
from learnable.cli.display.fitted_table import Column, FittedTable
from learnable.data.errors import LearnableError
from learnable.data.records import Sampling
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.flows.settings.engines import VLLMSettings
from learnable.train.settings import TrainSettings

if TYPE_CHECKING:
    from learnable.flows.job import JobPlan, JobReport

pool_option = options.panel("Without a curated set: what is trained on is found first")


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolArguments:
    """Where prompts come from that are not curated yet."""

    pool: Annotated[
        str | None, pool_option(help="Prompts as find-learnable --prompts reads them: what to train on is found first.")
    ] = None
    form: Annotated[
        list[str] | None,
        pool_option(
            help="A form of generated prompts in place of --pool, as find-learnable has them; so is --family. "
            "Repeatable.",
            autocompletion=options.complete_form,
        ),
    ] = None
    limit: Annotated[int | None, pool_option(help="Most prompts of the pool to look at.")] = None
    prompt_column: Annotated[str, pool_option(help="Column of --pool that holds the prompt.")] = (
        DEFAULTS.prompts.prompt_column
    )
    answer_column: Annotated[str | None, pool_option(help="Column of --pool that holds the right answer.")] = None
    store: Annotated[str, pool_option(help="Folder or URL of rollouts, scores and curated sets.")] = DEFAULTS.store

    @property
    def is_given(self) -> bool:
        """Whether a pool is named, or what belongs to one."""
        return bool(self.pool or self.form)

    def make_settings(self, train: TrainSettings) -> tuple[CurateSettings, TrainSettings]:
        """Return how prompts are found, and how they are trained on, which is as in `train` but for a set.

        Its families are those to generate, where there is no file. Raises `LearnableError` for what cannot work.
        """
        if train.curated:
            raise LearnableError("--pool and --form are prompts that are not curated yet: leave out --curated")
        if train.part or train.resume:
            raise LearnableError("--part and --resume are for a curated set: the same command goes on by itself")
        own = [name_verifier(name, None, None) for name in train.verifiers]
        prompts = PromptSettings(
            forms=tuple(self.form or ()),
            families=() if self.pool else train.families,
            location=self.pool,
            prompt_column=self.prompt_column,
            answer_column=self.answer_column,
            verifier=own[0] if own else None,
            trusted=tuple(own[1:]),
            limit=self.limit,
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
            store=self.store,
        )
        return curate, train if self.pool else replace(train, families=())


def show_job_plan(shell: Shell, plan: JobPlan) -> None:
    """Show what a job is to come to, before anything is paid."""
    if shell.as_json:
        shell.dump(plan.to_json())
        return
    table = FittedTable([Column("what", text=40), Column("completions")])
    table.add_row(f"finding {plan.want:,} prompts, at most about", f"{plan.finding:,}")
    table.add_row("of which a pilot of a family", f"{plan.pilot:,}")
    table.add_row("training, stored completions first", f"{plan.training:,}")
    shell.out.print(table)
    shell.line(
        "\nA prediction from a prompt's text and columns makes finding cheaper where there is one; find-learnable "
        "--dry-run measures the pilot and gives tokens."
    )
    if plan.advice:
        shell.line(f"\n{plan.advice}.")


def show_found(shell: Shell, report: JobReport) -> None:
    """Show what was found."""
    from learnable.flows.curation.report import describe_outcome, describe_predictions

    shell.line(describe_outcome(report.curation))
    for line in describe_predictions(report.curation):
        shell.line(line)
    shell.line(f"curated set  {report.curation.curated}\n", whole=True)


def show_paid(shell: Shell, report: JobReport) -> None:
    """Show what was paid for what."""
    table = FittedTable([Column("paid for", text=28), Column("completions"), Column("tokens")])
    for cost in report.paid:
        table.add_row(cost.what, f"{cost.completions:,}", f"{cost.tokens:,}")
    table.add_row("in all", *(f"{sum(each):,}" for each in zip(*_counts(report), strict=True)))
    shell.line("")
    shell.out.print(table)
    shell.line(f"\nOf the completions that were trained on, {report.stored:,} were there from finding.")


def _counts(report: JobReport) -> list[tuple[int, int]]:
    return [(cost.completions, cost.tokens) for cost in report.paid]
