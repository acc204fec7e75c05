"""`learnable export`: a curated set as another trainer reads it."""

from __future__ import annotations

from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from learnable.cli import options
from learnable.cli.console import Shell, open_shell
from learnable.cli.flags import Given, flags_of, with_flags
from learnable.flows.settings.exporting import EXPORTED, ExportSettings

if TYPE_CHECKING:
    from learnable.flows.exporting import ExportReport

EXPORT_HELP = """
Write a curated set as another trainer reads it: rows, certificates, order, and the judge.

Targets: verl, open-instruct, openrlhf, nemo-rl, nemo-gym, slime, skyrl, areal, rllm, verifiers, axolotl, jsonl, trl. \
Where a trainer takes a reward function, a file that calls this set's own verifiers stands beside the rows. \
README.md there says what to type.

\b
Examples:
  learnable export sonnet --to verl --output for-verl
  learnable export learnable-store/curated/sonnet/v0002 --to slime --output for-slime --order curriculum
  learnable export set --to verifiers --output environment
  learnable export set --to openrlhf --output out --verifier my_rewards.py:score
  learnable export set --to jsonl --output out --part train --part rejects
"""


@with_flags(EXPORTED)
def export(
    curated: Annotated[
        str, typer.Argument(metavar="SET", help="A curated set: its folder, a version's, or its name in --store.")
    ],
    how: Annotated[Given, flags_of(ExportSettings, EXPORTED)],
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a curated set as another trainer reads it."""
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        from learnable.flows.exporting import run_export

        show_export(shell, run_export(ExportSettings(curated=curated, **how.read())))


def show_export(shell: Shell, report: ExportReport) -> None:
    """Show what was written, and what to type in the trainer."""
    if shell.as_json:
        shell.dump(asdict(report))
        return
    rows = ", ".join(f"{count:,} in {part}" for part, count in report.rows.items())
    shell.line(f"{report.curated} for {report.target}: {rows}")
    for file in report.files:
        shell.line(f"{'wrote' if file in report.changed else 'as it was':<12} {quote(file)}", whole=True)
    shell.line(f"\nin {report.target}:\n{report.use}", whole=True)
