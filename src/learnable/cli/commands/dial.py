"""`learnable dial`: the knobs of a generator at which the policy passes at a wanted rate, and a set made there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from learnable.cli import options
from learnable.cli.arguments import DEFAULTS, EngineArguments, RunArguments, count_workers, read_pairs
from learnable.cli.commands.find import show_curation
from learnable.cli.commands.find_arguments import OutputArguments, PolicyArguments
from learnable.cli.console import STOPPED_RUN, Shell, open_shell
from learnable.cli.display.fitted_table import Column, FittedTable, figure
from learnable.data.errors import LearnableError
from learnable.flows.settings import CurateSettings, PromptSettings

if TYPE_CHECKING:
    from learnable.filters.dial.search import Aim
    from learnable.flows.dialing.report import DialReport, Setting
    from learnable.flows.settings.dial import DialSettings

DIAL_HELP = """
Find the knobs of a generator at which the policy passes about half of the time, and curate a set there.

Samples a few prompts at some settings of the knobs, fits a curve of pass rates through them, and samples on where the \
target may be, until the 90 % interval of a setting's pass rate lies within the tolerance. The store keeps every \
rollout: the same command goes on where it was stopped.

\b
Examples:
  learnable dial --family arithmetic
  learnable dial --form Addition --knob largest=10..1000 --target 0.4
  learnable dial --family counting --knob most_words=3,6,12,24 --tolerance 0.05 --no-curate --json
  learnable dial --form LargeSums --knob digits=2..8 --dry-run
  learnable dial --family code --policy path/to/model --budget 4000
"""

BAR = 25  # characters from a pass rate of 0 to one of 1
MAX_ROWS = 24  # of more settings, only those that were sampled are shown
COLUMNS = (
    Column("knobs", text=24),
    Column("prompts", need=2),
    Column("pass\nrate"),
    Column("90% interval"),
    Column("within-\ngroup\nvariance", need=3),
    Column("0" + "pass rate".center(BAR - 2, "·") + "1", need=1),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DialArguments:
    """Which generator, which knobs, and which pass rate."""

    form: Annotated[
        list[str] | None,
        options.prompt_option(
            help="A form, such as Addition; repeatable, all of one family.", autocompletion=options.complete_form
        ),
    ] = None
    family: Annotated[
        str | None,
        options.prompt_option(help="A family, such as arithmetic.", autocompletion=options.complete_family),
    ] = None
    forms_file: options.FormsFile = DEFAULTS.prompts.forms_file
    prompts: Annotated[
        str | None, options.prompt_option(help="Another generator with knobs, such as reasoning-gym:chain_sum.")
    ] = None
    knob: Annotated[
        list[str] | None,
        options.prompt_option(
            help="A knob and where to try it: terms=2..6, terms=2,4,8, or one value; repeatable. (default: the "
            "family's usual range)"
        ),
    ] = None
    wording: Annotated[
        str, options.prompt_option(help="Words of the prompts: plain, natural, or a TOML file of yours.")
    ] = DEFAULTS.prompts.wording
    limit: Annotated[int | None, options.prompt_option(help="Most prompts of the set to look at. (default: 512)")] = (
        None
    )
    target: Annotated[float, options.goal_option(help="The wanted share of passes.")] = 0.5
    tolerance: Annotated[float, options.goal_option(help="How far off the pass rate may be.")] = 0.1
    budget: Annotated[int, options.goal_option(help="Most rollouts that the search looks at, two a prompt.")] = 8192
    dry_run: Annotated[
        bool, options.goal_option("--dry-run", help="Sample nothing: show the settings and a prompt of each.")
    ] = False
    curate: Annotated[
        bool, options.goal_option("--curate/--no-curate", help="Make a curated set at the knobs that are found.")
    ] = True
    seed: Annotated[int, options.goal_option(help="Seed of the search, of prompts and rollouts.")] = DEFAULTS.seed

    def generator(self) -> str:
        """Return the family whose knobs are turned. Raises `LearnableError` unless there is one."""
        from learnable.verifiers.families.registry import find_family, find_form_reader, find_forms, load_forms

        if self.prompts:
            name, colon, _ = self.prompts.partition(":")
            if colon and name == "reasoning-gym" and not (self.form or self.family):
                return name
            raise LearnableError(
                f"--prompts {self.prompts!r} has no knobs: give --family or --form, or a generator's name, as in "
                "reasoning-gym:chain_sum"
            )
        own = load_forms(self.forms_file)
        found = {family for family, _ in find_forms(self.form or (), own)}
        found |= {find_family(self.family).name} if self.family else set()
        found |= {find_form_reader().name} if own and not found else set()
        if len(found) != 1:
            what = f"these are {', '.join(sorted(found))}" if found else "none is named"
            raise LearnableError(f"one family is dialled at a time, and {what}: give --family NAME, or forms of one")
        return found.pop()

    def prompt_settings(self) -> PromptSettings:
        """Return which prompts are meant, their knobs aside."""
        return PromptSettings(
            forms=tuple(self.form or ()),
            families=(self.family,) if self.family else (),
            forms_file=self.forms_file,
            location=self.prompts,
            limit=self.limit,
            wording=self.wording,
        )


@options.with_flags
def dial(
    *,
    arguments: DialArguments,
    policy: PolicyArguments,
    engine: EngineArguments,
    output: OutputArguments,
    run: RunArguments,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the knobs at which a policy passes at a wanted rate, and curate a set there."""
    with open_shell(as_json=as_json, quiet=quiet, stopped=STOPPED_RUN) as shell:
        from learnable.flows.dialing.pipeline import leave_out_unmoved, list_examples, run_dial

        settings = dial_settings(arguments, policy, engine, output, run)
        if arguments.dry_run:
            settings = leave_out_unmoved(settings)
            show_grid(shell, settings, list_examples(settings))
        else:
            show_dial(shell, run_dial(settings))


def dial_settings(
    arguments: DialArguments,
    policy: PolicyArguments,
    engine: EngineArguments,
    output: OutputArguments,
    run: RunArguments,
) -> DialSettings:
    """Return the settings of a search. Raises `LearnableError` for what cannot work."""
    from learnable.filters.dial.search import Aim
    from learnable.flows.settings.dial import DialSettings
    from learnable.verifiers.families.knob_grid import find_grid

    prompts = arguments.prompt_settings()
    return DialSettings(
        CurateSettings(
            prompts=prompts,
            chat=policy.chat_settings(),
            policy=policy.policy,
            engine=engine.settings(),
            sampling=policy.sampling(),
            workers=count_workers(run.workers),
            seed=arguments.seed,
            store=output.store,
            name=output.name or f"{prompts.name}-dial",
            verifier_timeout=run.verifier_timeout,
            wait=run.wait,
            verify_policy=policy.verify_policy,
        ),
        find_grid(arguments.generator(), read_pairs(arguments.knob, "--knob")),
        Aim(arguments.target, arguments.tolerance),
        arguments.budget,
        arguments.curate,
    )


def show_grid(shell: Shell, settings: DialSettings, examples: Sequence[str]) -> None:
    """Show every setting with its first prompt, and what the search may cost."""
    cells = settings.grid.cells()
    if shell.as_json:
        listed = [{"knobs": knobs, "prompt": text} for knobs, text in zip(cells, examples, strict=True)]
        shell.dump({"settings": listed, "budget": settings.budget})
        return
    table = FittedTable([Column("knobs", text=24), Column("first prompt", text=30)])
    for knobs, text in zip(cells, examples, strict=True):
        table.add_row(", ".join(f"{name}={value}" for name, value in knobs.items()), " ".join(text.split()))
    shell.out.print(table)
    shell.line(f"\n{len(cells)} settings of the knobs; the search looks at {settings.budget:,} rollouts at most.")
    shell.line("\nnext         the same command without --dry-run")


def show_dial(shell: Shell, report: DialReport) -> None:
    """Show the curve, how the search ended, and the set that was made or what to type next."""
    if shell.as_json:
        shell.dump(report.to_json())
        return
    from learnable.flows.dialing.report import describe_outcome

    shell.out.print(tabulate_curve(report))
    shell.line(f"\n{describe_outcome(report)}")
    if report.advice:
        shell.line(f"{report.advice[0].upper()}{report.advice[1:]}.")
    shell.line(f"{report.rollouts:,} rollouts were looked at, {report.generated:,} of them new.")
    if report.curation is not None:
        shell.line("")
        show_curation(shell, report.curation)
    elif report.forms or report.families:
        forms = [f"--form {quote(form)}" for form in report.forms]
        forms += [f"--family {quote(family)}" for family in report.families]
        knobs = [f"--knob {quote(f'{name}={value}')}" for name, value in report.nearest.knobs.items()]
        shell.line(f"\nnext         find-learnable {' '.join([*forms, *knobs])}", whole=True)


def tabulate_curve(report: DialReport) -> FittedTable:
    """Return the table of settings, in the order of the grid; the nearest to the target stands out."""
    many = len(report.settings) > MAX_ROWS
    table = FittedTable(COLUMNS, f"policy {report.policy}")
    for setting in report.settings:
        if many and not setting.prompts:
            continue
        table.add_row(
            setting.named,
            str(setting.prompts) if setting.prompts else "-",
            figure(setting.pass_rate),
            f"{figure(setting.low)} to {figure(setting.high)}",
            figure(setting.within_variance),
            draw_bar(setting, report.aim),
            style="bold" if setting is report.nearest else "" if setting.prompts else "dim",
        )
    return table


def draw_bar(setting: Setting, aim: Aim) -> str:
    """Draw the interval of a pass rate as a line with its mean, between the ends of what will do."""
    at_low, at_high, at_mean, *ends = (
        round(value * (BAR - 1)) for value in (setting.low, setting.high, setting.pass_rate, aim.low, aim.high)
    )
    marks = ["|" if place in ends else "·" for place in range(BAR)]
    marks[at_low : at_high + 1] = "─" * (at_high + 1 - at_low)
    marks[at_mean] = "●"
    return "".join(marks)
