"""`find-learnable` and `learnable find`: the prompts that a policy can learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from learnable.cli import options
from learnable.cli.arguments import WORKERS, EngineArguments, ScheduleArguments
from learnable.cli.commands.find_arguments import GoalArguments, PolicyArguments, PresetArguments, PromptArguments
from learnable.cli.commands.train_report import show_training
from learnable.cli.console import STOPPED_RUN, Shell, open_shell
from learnable.cli.display.preview_page import print_preview
from learnable.cli.display.report_tables import tabulate_forms, tabulate_plan
from learnable.cli.display.terminal_text import print_text, shorten
from learnable.cli.flags import Flag, Given, flags_of, option_of, with_flags
from learnable.cli.options import SAMPLED_BY, SCHEDULED
from learnable.data.errors import LearnableError
from learnable.filters.stopping.budget import WANTED, SamplingBudget
from learnable.flows.settings import CurateSettings
from learnable.flows.settings.curation import DECIDED, OUTPUT, POLICY, PROMPTS
from learnable.train.settings import TrainSettings

if TYPE_CHECKING:
    from learnable.flows.curation.cost import CostReport
    from learnable.flows.curation.preview import Preview
    from learnable.flows.curation.report import CurationReport

FIND_HELP = """
Find the prompts a policy can learn from.

Samples a group of completions for each prompt, scores them, keeps the prompts whose group neither \
always fails nor always succeeds, and writes them as Parquet that TRL's GRPOTrainer reads as it is.

\b
Examples:
  find-learnable --form sonnet --limit 40
  find-learnable --family arithmetic --family comparison
  find-learnable --family binary --knob bits=8 --limit 200
  find-learnable --curriculum counting --stage some
  find-learnable --prompts gsm8k.jsonl --show 3
  find-learnable --prompts questions.jsonl --verifier arithmetic
  find-learnable --prompts org/name --answer-column label --verifier choice
  find-learnable --prompts questions.jsonl --verifier number --spec '{"extract": "boxed"}'
  find-learnable --prompts questions.jsonl --verifier my_rewards.py:score --verifier-range 0..2 --verifier-pass 1.5
  find-learnable --prompts "reasoning-gym:chain_sum?num_terms=4"
  find-learnable --form haiku --policy path/to/model --signal pass --json
  find-learnable --prompts questions.jsonl --want 2000 --precision 0.9 --dry-run --gpu-hour-price 2.5
  find-learnable --engine server --base-url http://127.0.0.1:8000/v1 --base-url http://127.0.0.1:8001/v1
  find-learnable --engine ray --ray-address auto --replicas 8 --store s3://bucket/store
  find-learnable --family arithmetic --store /data/store --cron "0 3 * * *"
"""

IN_WORDS = {
    "too_easy": " (saturated)",
    "too_hard": " (beyond the policy)",
    "predicted_too_easy": " (unsampled)",
    "predicted_too_hard": " (unsampled)",
    "unasked": " (others were enough)",
}


def read_columns(typed: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns of a flag that is given several times, or with commas."""
    return tuple(name for given in typed or () for name in given.split(",") if name)


Run = Annotated[
    Given,
    flags_of(
        CurateSettings,
        workers=WORKERS,
        predict_from=Flag(read=read_columns),
    ),
]
Budget = Annotated[Given, flags_of(SamplingBudget, DECIDED)]
ThenTrain = Annotated[
    bool, options.output_option("--then-train", help="Train on the result, as `learnable train` does by default.")
]


@with_flags(PROMPTS, POLICY, SAMPLED_BY, WANTED, DECIDED, OUTPUT, SCHEDULED)
def find(
    prompts: PromptArguments,
    budget: Budget,
    run: Run,
    policy: PolicyArguments,
    engine: EngineArguments,
    goal: GoalArguments,
    preset: PresetArguments,
    schedule: ScheduleArguments,
    then_train: ThenTrain = False,
    allow_silent_reward: Annotated[bool, option_of(TrainSettings, "allow_silent_reward")] = False,
    use_prefect: options.UsePrefect = True,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    version: options.Version = False,
) -> None:
    """Find the prompts a policy can learn from."""
    with open_shell(as_json=as_json, quiet=quiet, stopped=STOPPED_RUN) as shell:
        settings = CurateSettings(
            **run.read(),
            prompts=prompts.settings(),
            chat=policy.chat(),
            engine=engine.settings(),
            preset=preset.chosen_preset(),
            sampling=policy.sampling(),
            budget=SamplingBudget(**budget.read()),
        )
        if goal.show is not None or goal.dry_run:
            show_ahead(shell, settings, goal)
            return
        timetable = schedule.timetable(prefect=use_prefect)
        training = training_settings(then_train=then_train, allow_silent_reward=allow_silent_reward)
        from learnable.flows.launch import run_curation, serve_curation

        if timetable:
            serve_curation(settings, training, timetable)
        else:
            show_curation(shell, run_curation(settings, training, use_prefect=use_prefect))


def show_ahead(shell: Shell, settings: CurateSettings, goal: GoalArguments) -> None:
    """Show what the first rows become, or what the run would come to. Raises `LearnableError` for bad input."""
    if goal.show is not None:
        from learnable.flows.curation.preview import preview_prompts

        show_preview(shell, preview_prompts(settings, goal.show))
        return
    from learnable.flows.curation.cost import plan_curation

    show_plan(shell, plan_curation(settings, goal.gpu_hour_price))


def training_settings(*, then_train: bool, allow_silent_reward: bool) -> TrainSettings | None:
    """Return the settings of the training that follows, None for none. Raises `LearnableError` for what cannot work."""
    if then_train:
        return TrainSettings(curated="", output="", allow_silent_reward=allow_silent_reward)
    if allow_silent_reward:
        raise LearnableError("--allow-silent-reward is for training: add --then-train, or give it to `learnable train`")
    return None


def show_curation(shell: Shell, report: CurationReport) -> None:
    """Show the table by form, where things were written, and what to type next."""
    if shell.as_json:
        shell.dump(report.to_json())
        return
    from learnable.flows.curation.report import describe_outcome, describe_predictions

    totals = report.totals
    shell.out.print(tabulate_forms(report))
    shell.line(f"\n{describe_outcome(report)}")
    if len(report.forms) > 1:
        count = sum(bool(form.learnable) for form in report.forms)
        shell.line(
            f"{count} of {len(report.forms)} forms are learnable as a whole: mean .2 to .8, within-group std over .1."
        )
    for line in [*describe_rejected(totals.decisions), *describe_predictions(report)]:
        shell.line(line)
    if report.triage:
        shell.line(f"Never solved: {', '.join(f'{count} {name}' for name, count in report.triage.items())}.")
    if report.certified_precision is not None:
        shell.line(
            f"Certified: {report.certified_precision:.0%} of the kept are expected to be truly in the band. "
            f"Forecast: {report.advice}."
        )
    show_rendered(shell, report.rendered_prompt)
    show_places(shell, report)


def show_places(shell: Shell, report: CurationReport) -> None:
    """Show where the set and its page are, and what to type next or what came of the training."""
    from learnable.data.storage.places import find_place
    from learnable.viewing.report import REPORT

    shell.line(f"\ncurated set  {report.curated}", whole=True)
    if (page := find_place(report.curated) / REPORT).is_file():
        shell.line(f"report       {page}", whole=True)
    if report.training is not None:
        shell.line("")
        show_training(shell, report.training)
    elif report.totals.train and report.engine != "simulated":
        shell.line(f"next         {name_next(report)}", whole=True)


def name_next(report: CurationReport) -> str:
    """Return the command that trains on the set, as it can be typed."""
    silent = any(finding.code == "silent_reward" for finding in report.findings)
    first, allowed = ("mend the reward, or ", " --allow-silent-reward") if silent else ("", "")
    own = "".join(f" --verifier {quote(name)}" for name in report.own_verifiers)
    return f"{first}learnable train --curated {quote(report.curated)}{own}{allowed}"


def describe_rejected(decisions: Mapping[str, int]) -> list[str]:
    """Return a line of why prompts were rejected, none where none was."""
    others = ((reason, count) for reason, count in decisions.items() if reason != "keep")
    rejected = ", ".join(f"{count} {reason}{IN_WORDS.get(reason, '')}" for reason, count in others)
    return [f"Rejected: {rejected}."] if rejected else []


def show_plan(shell: Shell, plan: CostReport) -> None:
    """Show what a run would come to, and what to type next."""
    if shell.as_json:
        shell.dump(plan.to_json())
        return
    shell.out.print(tabulate_plan(plan))
    for remark in plan.remarks:
        shell.line(f"\n{remark[0].upper()}{remark[1:]}.")
    show_rendered(shell, plan.rendered_prompt)
    shell.line("\nnext         the same command without --dry-run")


def show_preview(shell: Shell, preview: Preview) -> None:
    """Show what the first rows became."""
    if shell.as_json:
        shell.dump(preview.to_json())
        return
    print_preview(shell.out, preview)
    shell.line("\nnext         the same command without --show")


def show_rendered(shell: Shell, rendered: str) -> None:
    """Show one prompt with every mark that the policy sees around it."""
    if rendered:
        shell.line("\nOne prompt, as the policy sees it:")
        print_text(shell.out, shorten(rendered))
