"""`learnable annotate`: a public set with what one or several policies make of each of its prompts."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from learnable.cli import options
from learnable.cli.commands.publish import show_published
from learnable.cli.console import Shell, open_shell
from learnable.cli.flags import Given, flags_of, with_flags
from learnable.flows.settings.publishing import PUBLISHED, AnnotateSettings

if TYPE_CHECKING:
    from learnable.flows.annotating import AnnotateReport

ANNOTATE_HELP = """
Annotate a public set: every row, kept or rejected, with pass rate, interval, usable groups and counts.

The certificates are those of sets in the store, which find-learnable or learnable import made of the same prompts. \
total_rollouts, total_correct_rollouts and passrate are open-instruct's names for our n, passes and pass_rate. \
The column certificates lists what each policy makes of the question.

\b
Examples:
  learnable annotate org/set --policy org/model --to hub:user/set-annotated --dry-run
  learnable annotate prompts.jsonl --policy org/small --policy org/large --output annotated.parquet
  learnable annotate sonnet --to for-others
"""


@with_flags(PUBLISHED)
def annotate(
    curated: Annotated[
        str,
        typer.Argument(
            metavar="SET|FILE", help="A curated set, or the file or hub id that find-learnable made sets of."
        ),
    ],
    how: Annotated[Given, flags_of(AnnotateSettings, PUBLISHED)],
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Annotate a public set."""
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        from learnable.flows.annotating import run_annotate

        show_annotated(shell, run_annotate(AnnotateSettings(curated=curated, **how.read())))


def show_annotated(shell: Shell, report: AnnotateReport) -> None:
    """Show of how many rows each policy has a certificate, and where they are."""
    if shell.as_json:
        shell.dump(asdict(report))
        return
    for policy, rows in report.policies.items():
        shell.line(f"{policy}: certificates of {rows:,} of {report.rows:,} questions", whole=True)
    if report.published is None:
        shell.line(f"wrote        {report.output}", whole=True)
    else:
        show_published(shell, report.published)
