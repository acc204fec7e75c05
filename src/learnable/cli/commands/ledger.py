"""`learnable ledger`: what a store holds, whether it is sound, and fewer files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from learnable.cli import options
from learnable.cli.arguments import DEFAULTS
from learnable.cli.console import Shell, open_shell
from learnable.cli.display.report_tables import tabulate_ledger
from learnable.cli.flags import FlagApp, learn_flags

if TYPE_CHECKING:
    from learnable.data.ledger.upkeep import Damage, LedgerSummary

LEDGER_HELP = """
Show what a store holds; check it; merge its small files.

\b
Examples:
  learnable ledger --store learnable-store
  learnable ledger --store s3://bucket/store --json
  learnable ledger check --store learnable-store
  learnable ledger compact --store learnable-store
"""

ledger_app = FlagApp(help=LEDGER_HELP, invoke_without_command=True)

DAMAGE_FOUND = 1
MANY_FILES = 1000  # beyond this, looking things up takes seconds

Store = Annotated[str, typer.Option("--store", help="Folder or URL of the store.")]


@ledger_app.callback()
def ledger(context: typer.Context, store: Store = DEFAULTS.store, as_json: options.AsJson = False) -> None:
    """Show what a store holds."""
    if context.invoked_subcommand is not None:
        return
    learn_flags(context.command, context.find_root().command)
    with open_shell(as_json=as_json, quiet=True) as shell:
        from learnable.data.ledger.upkeep import summarise_ledger
        from learnable.data.store import Store

        show_ledger(shell, summarise_ledger(Store(store).open().ledger), store)


@ledger_app.command()
def check(store: Store = DEFAULTS.store, wait: options.Wait = DEFAULTS.wait, as_json: options.AsJson = False) -> None:
    """Verify every file against its checksum; set damaged ones aside. Exit status 1 when there was one."""
    with open_shell(as_json=as_json, quiet=False) as shell:
        from learnable.data.ledger.upkeep import find_damage
        from learnable.data.store import Store

        opened = Store(store).open()
        with opened.hold(wait=None if wait else 0, on_wait=shell.progress.note):
            damaged = list(find_damage(opened.ledger))
        show_damage(shell, damaged)
    if damaged:
        raise typer.Exit(DAMAGE_FOUND)


@ledger_app.command()
def compact(store: Store = DEFAULTS.store, wait: options.Wait = DEFAULTS.wait, as_json: options.AsJson = False) -> None:
    """Merge small files. May be interrupted at any time: nothing is lost, and no row is seen twice."""
    with open_shell(as_json=as_json, quiet=False) as shell:
        from learnable.data.ledger.upkeep import compact as merge
        from learnable.data.store import Store

        opened = Store(store).open()
        with opened.hold(wait=None if wait else 0, on_wait=shell.progress.note):
            before, after = merge(opened.ledger)
        show_compacted(shell, before, after)


def show_ledger(shell: Shell, summary: LedgerSummary, store: str) -> None:
    """Show what the ledger of `store` has."""
    if shell.as_json:
        shell.dump(asdict(summary) | {"store": store})
        return
    shell.out.print(tabulate_ledger(summary))
    shell.line(
        f"\n{summary.rollouts:,} rollouts of {summary.prompts:,} prompts, {summary.tokens:,} tokens; "
        f"{summary.bytes:,} bytes in {summary.files:,} files"
    )
    shell.line(f"scored by    {', '.join(summary.verifiers) or 'nothing yet'}")
    if summary.files > MANY_FILES:
        shell.line(f"next         learnable ledger compact --store {quote(store)}", whole=True)


def show_damage(shell: Shell, damaged: Sequence[Damage]) -> None:
    """Show which files were set aside."""
    if shell.as_json:
        shell.dump({"damaged": [asdict(file) for file in damaged]})
        return
    for file in damaged:
        shell.line(f"damaged      {file.file}: {file.why}\n             set aside as {file.moved_to}", whole=True)
    if damaged:
        shell.line("What they held counts as missing: the command that made it makes it again, and nothing else.")
    else:
        shell.line("every file is as it was written")


def show_compacted(shell: Shell, before: int, after: int) -> None:
    """Show how many files there were and are."""
    if shell.as_json:
        shell.dump({"files_before": before, "files_after": after})
    else:
        shell.line(f"{before:,} files before, {after:,} now")
