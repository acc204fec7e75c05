"""`learnable compare`: what moved in and out of the band between two versions, policies or runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from learnable.cli import options
from learnable.cli.arguments import DEFAULTS
from learnable.cli.console import Shell, open_shell
from learnable.cli.display.fitted_table import Column, FittedTable, figure
from learnable.data.errors import LearnableError

if TYPE_CHECKING:
    from learnable.flows.comparing import SetComparison

COMPARE_HELP = """
Show what moved in and out of the band between two versions, policies or runs, and why.

A and B are curated sets, versions (NAME/v0002), or runs by their ids; sets of two policies are compared prompt by \
prompt where their pools meet. Without B, a version is compared with its parent.

\b
Examples:
  learnable compare learnable-store/curated/sonnet
  learnable compare sonnet/v0001 sonnet/v0003
  learnable compare base-sums tuned-sums --limit 50
  learnable compare 20261127T190000-cdc6e3 20261128T190000-9284af --store s --json
"""
COLUMNS = (
    Column("prompt", text=24, cut=True),
    Column("before", need=2),
    Column("mean"),
    Column("n", need=1),
    Column("after", need=2),
    Column("mean"),
    Column("n", need=1),
    Column("why", need=4),
)

First = Annotated[str, typer.Argument(metavar="A", help="A set, a version or a run: as it was.")]
Second = Annotated[
    str | None, typer.Argument(metavar="[B]", help="The same, as it is. (default: A, against its parent)")
]


def compare(
    before: First,
    after: Second = None,
    limit: Annotated[int, typer.Option(help="Most prompts to list; 0 for all.")] = 20,
    store: Annotated[str, typer.Option("--store", help="Folder or URL of the store.")] = DEFAULTS.store,
    as_json: options.AsJson = False,
) -> None:
    """Show what moved between two versions, policies or runs. Raises `LearnableError` for a limit that is none."""
    with open_shell(as_json=as_json, quiet=True) as shell:
        from learnable.flows.comparing import compare_sets

        if limit < 0:
            raise LearnableError(f"--limit {limit} is no number of prompts: give 0 for all, or more")
        show_set_comparison(shell, compare_sets(before, after, store), limit)


def show_set_comparison(shell: Shell, found: SetComparison, limit: int) -> None:
    """Show counts, reasons, drift, and the prompts that moved."""
    if shell.as_json:
        shell.dump(found.to_json())
        return
    changes = found.changes
    shell.line(f"{found.before} -> {found.after}: {changes.prompts:,} prompts in both")
    if found.alone_before or found.alone_after:
        shell.line(f"only before {found.alone_before:,}, only after {found.alone_after:,}")
    for difference in found.differs:
        shell.line(f"differs      {difference}")
    shell.line(
        f"kept         {found.kept_before:,} before, {found.kept_after:,} after; of those in both "
        f"{changes.keep_to_drop:,} left, {changes.drop_to_keep:,} joined, {changes.unchanged:,} are as they were"
    )
    for line in _explain(found):
        shell.line(line)
    if found.moves:
        shell.line("")
        shell.out.print(_tabulate(found, limit))
    if limit and len(found.moves) > limit:
        shell.line(f"{len(found.moves) - limit:,} more: --limit 0 lists all of them")


def _explain(found: SetComparison) -> Iterator[str]:
    """Yield why prompts moved, and how far the rates of each family did."""
    from learnable.filters.refresh.movement import CAUSES

    for move, causes in found.causes.items():
        for cause, count in causes.items():
            yield f"{move:<12} {count:,}: {CAUSES[cause]}"
    for drift in found.drift:
        if drift.fitted_to:
            yield f"drift        {drift.family}: {drift.shift:+.2f} in log-odds, over {drift.fitted_to:,} prompts"


def _tabulate(found: SetComparison, limit: int) -> FittedTable:
    table = FittedTable(COLUMNS)
    for move in found.moves[: limit or None]:
        table.add_row(
            " ".join(move.prompt.split()),
            move.decision or "-",
            figure(move.mean),
            "-" if move.n is None else f"{move.n:.0f}",
            move.decision_after or "-",
            figure(move.mean_after),
            "-" if move.n_after is None else f"{move.n_after:.0f}",
            move.cause,
        )
    return table
