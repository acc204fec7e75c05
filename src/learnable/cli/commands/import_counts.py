"""`learnable import`: pass counts of other models, from which rates are predicted."""

from __future__ import annotations

from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from learnable.cli import options
from learnable.cli.arguments import DEFAULTS
from learnable.cli.console import Shell, open_shell

if TYPE_CHECKING:
    from learnable.data.ledger.counts import ImportSummary

IMPORT_HELP = """
Bring in what other models made of prompts: pass rates are then predicted from it.

Reads a table (.parquet, .csv, .jsonl) of one row a prompt and a model with the columns prompt (its text) or \
prompt_id (as in a set of ours), model, k (completions) and passes (how many of them were right). A count of the \
same prompt and model replaces the one before. Nothing is taken for a rollout of the policy's.

\b
Examples:
  learnable import counts.parquet
  learnable import counts.csv --store s3://bucket/store
  find-learnable --prompts questions.jsonl --want 2000
"""


def import_counts(
    counts: Annotated[str, typer.Argument(metavar="COUNTS", help="The table: .parquet, .csv or .jsonl, or packed.")],
    store: Annotated[str, typer.Option("--store", help="Folder or URL of the store.")] = DEFAULTS.store,
    wait: options.Wait = DEFAULTS.wait,
    as_json: options.AsJson = False,
) -> None:
    """Bring in what other models made of prompts."""
    with open_shell(as_json=as_json, quiet=False) as shell:
        from learnable.data.ledger.counts import store_counts
        from learnable.data.sources.files.pass_counts import read_pass_counts
        from learnable.data.store import Store

        found = list(read_pass_counts(counts))
        opened = Store(store)
        with opened.hold(wait=None if wait else 0, on_wait=shell.progress.note):
            summary = store_counts(opened.root, found)
        show_imported(shell, summary, store)


def show_imported(shell: Shell, summary: ImportSummary, store: str) -> None:
    """Show what came in."""
    if shell.as_json:
        shell.dump(asdict(summary) | {"store": store})
        return
    same = summary.counts - summary.new - summary.changed
    models = f"{len(summary.models)} model{'' if len(summary.models) == 1 else 's'}"
    shell.line(
        f"{summary.counts:,} counts of {summary.prompts:,} prompts by {models}: {summary.new:,} new, "
        f"{summary.changed:,} changed, {same:,} as they were"
    )
    shell.line(f"models       {', '.join(summary.models)}", whole=True)
    shell.line(f"next         find-learnable --prompts FILE --store {quote(store)}", whole=True)
