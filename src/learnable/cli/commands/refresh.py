"""`learnable refresh`: a curated set, brought up to date with a policy that has moved."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Annotated

from learnable.cli import options
from learnable.cli.arguments import WORKERS, EngineArguments, ScheduleArguments
from learnable.cli.console import STOPPED_RUN, Shell, open_shell
from learnable.cli.display.fitted_table import Column, FittedTable, figure
from learnable.cli.flags import Given, flags_of, with_flags
from learnable.cli.options import SAMPLED_BY
from learnable.flows.settings import RefreshSettings
from learnable.flows.settings.curation import DECIDED, OUTPUT, POLICY, PROMPTS

if TYPE_CHECKING:
    from learnable.flows.refreshing.publishing import RefreshReport

REFRESH_HELP = """
Bring a curated set up to date with a policy that has moved.

Asks the new policy some of the set's prompts, kept and rejected ones, learns from them how far pass rates have \
moved, moves every other prompt's certificate by that, and asks again only those that may have changed sides. \
Writes the next version of the set, and says how much of the old one was still good.

\b
Examples:
  learnable refresh --curated learnable-store/curated/arithmetic --policy runs/arithmetic-1/policy
  learnable refresh --curated SET --policy path/to/model --anchors 200 --json
  learnable refresh --curated SET --policy path/to/model --verifier my_judge.py:score
  learnable refresh --curated SET --engine server --base-url http://127.0.0.1:8000/v1
"""

CHANGES_COLUMNS = (
    Column("family", text=12),
    Column("prompts", need=4),
    Column("asked\nagain", need=3),
    Column("drift,\ntrained on", need=2),
    Column("drift,\nothers", need=1),
    Column("kept\nbefore"),
    Column("left"),
    Column("joined"),
    Column("kept\nnow"),
)


@with_flags(PROMPTS, POLICY, DECIDED, SAMPLED_BY, OUTPUT)
def refresh(
    *,
    given: Annotated[Given, flags_of(RefreshSettings, workers=WORKERS)],
    engine: EngineArguments,
    schedule: ScheduleArguments,
    use_prefect: options.UsePrefect = True,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Bring a curated set up to date with a policy that has moved."""
    with open_shell(as_json=as_json, quiet=quiet, stopped=STOPPED_RUN) as shell:
        from learnable.flows.launch import run_refresh

        settings = RefreshSettings(**given.read(), engine=engine.settings())
        if scheduled := schedule.timetable(prefect=use_prefect):
            from learnable.flows.launch import serve_refresh

            serve_refresh(settings, scheduled)
            return
        show_refresh(shell, run_refresh(settings, use_prefect=use_prefect))


def show_refresh(shell: Shell, report: RefreshReport) -> None:
    """Show what changed in each family, how much of the old set was still good, and what to type next."""
    if shell.as_json:
        shell.dump(report.to_json())
        return
    from learnable.flows.refreshing.publishing import describe_changes

    totals, in_band = report.totals, report.refresh.still_in_band
    shell.out.print(tabulate_changes(report))
    lines = ["", describe_changes(report)]
    if in_band is not None:
        lines.append(
            f"Shelf life: {in_band.share:.0%} of the old set is still in the band "
            f"[{in_band.low:.0%}, {in_band.high:.0%}]."
        )
    shell.line("\n".join(lines))
    shell.line(f"\ncurated set  {report.curated}", whole=True)
    if totals.train:
        shell.line(f"next         learnable train --curated {quote(report.curated)}", whole=True)


def tabulate_changes(report: RefreshReport) -> FittedTable:
    """Return a table with a row a family; a drift is how far log-odds of success have moved, give or take its noise."""
    drifts = {
        (row.family, row.trained): f"{figure(row.shift, signed=True)} ± {figure(row.noise)}"
        for row in report.refresh.drift
    }
    table = FittedTable(CHANGES_COLUMNS)
    for row in report.refresh.families:
        moved = [drifts.get((row.family, trained), "-") for trained in (True, False)]
        counts = map(str, (row.kept_before, row.keep_to_drop, row.drop_to_keep, row.kept_now))
        table.add_row(row.family, str(row.prompts), str(row.resampled), *moved, *counts)
    return table
