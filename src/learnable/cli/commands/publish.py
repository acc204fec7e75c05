"""`learnable publish`: a curated set on the hub, in a folder or in an object store, where others read it."""

from __future__ import annotations

from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from learnable.cli import options
from learnable.cli.console import Shell, open_shell
from learnable.cli.display.fitted_table import Column, FittedTable
from learnable.cli.flags import Given, flags_of, with_flags
from learnable.flows.settings.publishing import PUBLISHED, PublishSettings

if TYPE_CHECKING:
    from learnable.flows.publishing import PublishReport

PUBLISH_HELP = """
Publish a curated set: its parts, its manifest, and a card that the Hugging Face hub and its viewer read.

Paths of this machine are taken out of what we write, and a row that names one is refused. What is there already is \
not sent again. The hub's token comes from `hf auth login` or HF_TOKEN.

\b
Examples:
  learnable publish sonnet --to hub:user/sonnets --dry-run
  learnable publish sonnet --to hub:user/sonnets --license cc-by-4.0 --private
  learnable publish learnable-store/curated/sonnet/v0002 --to for-others
  learnable publish sonnet --to s3://bucket/sonnets --drop-column notes
"""


@with_flags(PUBLISHED)
def publish(
    curated: Annotated[
        str, typer.Argument(metavar="SET", help="A curated set: its folder, a version's, or its name in --store.")
    ],
    how: Annotated[Given, flags_of(PublishSettings, PUBLISHED)],
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Publish a curated set."""
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        from learnable.flows.publishing import run_publish

        show_published(shell, run_publish(PublishSettings(curated=curated, **how.read())))


def show_published(shell: Shell, report: PublishReport) -> None:
    """Show what went up, or would, and what nobody knows of its licence."""
    if shell.as_json:
        shell.dump(asdict(report))
        return
    shell.line(f"{report.curated} to {report.to}\n", whole=True)
    table = FittedTable([Column("file", text=20), Column("bytes"), Column("SHA-256", text=12, need=1), Column("there")])
    for file in report.files:
        table.add_row(file.name, f"{file.bytes:,}", file.sha256[:16], file.change)
    shell.out.print(table)
    for name in report.removed:
        shell.line(f"{'would go' if report.dry_run else 'removed':<12} {name}", whole=True)
    if not report.licenses:
        unknown = ", ".join(source.name for source in report.sources if not source.license)
        shell.line(f"licence      not known of {unknown}: give `license`")
    if report.dry_run:
        shell.line(f"would send   {report.sent} files, {report.bytes:,} bytes\n\nREADME.md, byte for byte:\n")
        shell.out.file.write(report.card)
        return
    if not report.sent and not report.removed:
        shell.line(f"all there    {report.address}", whole=True)
        return
    shell.line(f"sent         {report.sent} files, {report.bytes:,} bytes", whole=True)
    shell.line(f"published    {report.address}", whole=True)
    shell.line(f"next         {say_next(report)}", whole=True)


def say_next(report: PublishReport) -> str:
    """Return what reads the published set."""
    if report.to.startswith("hub:"):
        return f"datasets.load_dataset({report.to.removeprefix('hub:')!r})"
    return f"learnable train --curated {quote(report.to)}"
