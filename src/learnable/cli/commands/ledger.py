"""`learnable ledger`: what a store holds, whether it is sound, and fewer files."""

from __future__ import annotations

from dataclasses import asdict

import typer

from learnable.cli import options
from learnable.cli.console import open_shell

LEDGER_HELP = """
Show what a store holds; check it; merge its small files.

\b
Examples:
  learnable ledger --store learnable-store
  learnable ledger --store s3://bucket/store --json
  learnable ledger check --store learnable-store
  learnable ledger compact --store learnable-store
"""

ledger_app = typer.Typer(help=LEDGER_HELP, invoke_without_command=True)

DAMAGE_FOUND = 1


@ledger_app.callback()
def ledger(
    context: typer.Context, store: options.LedgerStore = "learnable-store", as_json: options.AsJson = False
) -> None:
    """Show what a store holds."""
    if context.invoked_subcommand is not None:
        return
    with open_shell(as_json=as_json, quiet=True) as shell:
        from learnable.data.ledger.upkeep import summarise_ledger
        from learnable.data.store import Store

        shell.show_ledger(asdict(summarise_ledger(Store(store).open().ledger)) | {"store": store})


@ledger_app.command()
def check(
    store: options.LedgerStore = "learnable-store", wait: options.Wait = True, as_json: options.AsJson = False
) -> None:
    """Verify every file against its checksum; set damaged ones aside. Exit status 1 when there was one."""
    with open_shell(as_json=as_json, quiet=False) as shell:
        from learnable.data.ledger.upkeep import find_damage
        from learnable.data.store import Store

        opened = Store(store).open()
        with opened.hold(wait=None if wait else 0, on_wait=shell.progress.note):
            damaged = [asdict(damage) for damage in find_damage(opened.ledger)]
        shell.show_damage(damaged)
    if damaged:
        raise typer.Exit(DAMAGE_FOUND)


@ledger_app.command()
def compact(
    store: options.LedgerStore = "learnable-store", wait: options.Wait = True, as_json: options.AsJson = False
) -> None:
    """Merge small files. May be interrupted at any time: nothing is lost, and no row is seen twice."""
    with open_shell(as_json=as_json, quiet=False) as shell:
        from learnable.data.ledger.upkeep import compact as merge
        from learnable.data.store import Store

        opened = Store(store).open()
        with opened.hold(wait=None if wait else 0, on_wait=shell.progress.note):
            before, after = merge(opened.ledger)
        shell.show_compacted({"files_before": before, "files_after": after})
