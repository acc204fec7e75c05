"""`learnable dial`: the knobs of a generator at which the policy passes at a wanted rate, and a set made there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from learnable.cli import options
from learnable.cli.arguments import WORKERS, EngineArguments
from learnable.cli.commands.find import show_curation
from learnable.cli.commands.find_arguments import PolicyArguments
from learnable.cli.console import STOPPED_RUN, Shell, open_shell
from learnable.cli.display.fitted_table import Column, FittedTable, figure
from learnable.cli.flags import Flag, Given, flags_of, with_flags
from learnable.cli.options import SAMPLED_BY
from learnable.data.errors import LearnableError
from learnable.filters.dial.aim import Aim
from learnable.filters.stopping.budget import WANTED
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.flows.settings.curation import OUTPUT, POLICY, PROMPTS
from learnable.flows.settings.dial import DialSettings

if TYPE_CHECKING:
    from learnable.flows.dialing.report import DialReport, KnobSetting

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


def read_family(typed: str | None) -> tuple[str, ...]:
    """Return the one family that is dialled, or none."""
    return (typed,) if typed else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DialArguments:
    """Which generator, which knobs, and which pass rate."""

    prompts: Annotated[
        Given,
        flags_of(
            PromptSettings,
            PROMPTS,
            only="forms families forms_file location knobs wording limit",
            forms=Flag(help="A form, such as Addition; repeatable, all of one family.", complete=options.complete_form),
            families=Flag(
                help="A family, such as arithmetic.",
                kind=str,
                read=read_family,
                complete=options.complete_family,
            ),
            location=Flag(help="Another generator with knobs, such as reasoning-gym:chain_sum."),
            knobs=Flag(
                help="A knob and where to try it: terms=2..6, terms=2,4,8, or one value; repeatable. (default: the "
                "family's usual range)"
            ),
            wording=Flag(help="Words of the prompts: plain, natural, or a TOML file of yours."),
            limit=Flag(help="Most prompts of the set to look at. (default: 512)"),
        ),
    ]
    aim: Annotated[Given, flags_of(Aim, WANTED)]
    search: Annotated[Given, flags_of(DialSettings, WANTED)]
    dry_run: Annotated[
        bool, options.goal_option("--dry-run", help="Sample nothing: show the settings and a prompt of each.")
    ] = False


def find_generator(prompts: PromptSettings) -> str:
    """Return the family whose knobs are turned. Raises `LearnableError` unless there is one."""
    from learnable.verifiers.families.registry import find_family, find_form_reader, find_forms, load_forms

    if prompts.location:
        name, colon, _ = prompts.location.partition(":")
        if colon and name == "reasoning-gym":
            return name
        raise LearnableError(
            f"--prompts {prompts.location!r} has no knobs: give --family or --form, or a generator's name, as in "
            "reasoning-gym:chain_sum"
        )
    own = load_forms(prompts.forms_file)
    families = {family for family, _ in find_forms(prompts.forms, own)}
    families |= {find_family(name).name for name in prompts.families}
    families |= {find_form_reader().name} if own and not families else set()
    if len(families) != 1:
        what = f"these are {', '.join(sorted(families))}" if families else "none is named"
        raise LearnableError(f"one family is dialled at a time, and {what}: give --family NAME, or forms of one")
    return families.pop()


@with_flags(PROMPTS, WANTED, POLICY, SAMPLED_BY, OUTPUT)
def dial(
    *,
    arguments: DialArguments,
    run: Annotated[
        Given,
        flags_of(
            CurateSettings,
            only="policy verify_policy store name workers score_on verifier_timeout wait seed",
            workers=WORKERS,
            seed=Flag(help="Seed of the search, of prompts and rollouts.", panel=WANTED),
        ),
    ],
    policy: PolicyArguments,
    engine: EngineArguments,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the knobs at which a policy passes at a wanted rate, and curate a set there."""
    with open_shell(as_json=as_json, quiet=quiet, stopped=STOPPED_RUN) as shell:
        from learnable.flows.dialing.pipeline import leave_out_unmoved, list_examples, run_dial

        settings = dial_settings(arguments, policy, run, engine)
        if arguments.dry_run:
            settings = leave_out_unmoved(settings)
            show_grid(shell, settings, list_examples(settings))
        else:
            show_dial(shell, run_dial(settings))


def dial_settings(
    arguments: DialArguments, policy: PolicyArguments, run: Given, engine: EngineArguments
) -> DialSettings:
    """Return the settings of a search. Raises `LearnableError` for what cannot work."""
    from learnable.verifiers.families.knob_grid import find_grid

    named, typed = arguments.prompts.read(), run.read()
    knobs, prompts = named.pop("knobs"), PromptSettings(**named)
    curation = CurateSettings(
        **{**typed, "name": typed["name"] or f"{prompts.name}-dial"},
        prompts=prompts,
        chat=policy.chat(),
        sampling=policy.sampling(),
        engine=engine.settings(),
    )
    grid = find_grid(find_generator(prompts), knobs)
    return DialSettings(curation, grid, Aim(**arguments.aim.read()), **arguments.search.read())


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


def draw_bar(setting: KnobSetting, aim: Aim) -> str:
    """Draw the interval of a pass rate as a line with its mean, between the ends of what will do."""
    at_low, at_high, at_mean, *ends = (
        round(value * (BAR - 1)) for value in (setting.low, setting.high, setting.pass_rate, aim.low, aim.high)
    )
    marks = ["|" if place in ends else "·" for place in range(BAR)]
    marks[at_low : at_high + 1] = "─" * (at_high + 1 - at_low)
    marks[at_mean] = "●"
    return "".join(marks)
