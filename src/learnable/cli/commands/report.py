"""`learnable report`: one HTML file that shows a curated set to whoever opens it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learnable.cli.console import open_shell

REPORT_HELP = """
Write a report of a curated set: one HTML file that opens by a double click and needs no network.

What was kept and at what cost, then every prompt with its completions, to search, filter and sort. Every curation \
writes one beside its manifest. Of a large set the file holds the figures of all prompts and the completions of a \
random sample; `learnable view` shows all.

\b
Examples:
  learnable report sonnet --output sonnet.html
  learnable report learnable-store/curated/sonnet/v0002 --run runs/sonnet-1 --output sonnet.html
"""

Set = Annotated[
    str, typer.Argument(metavar="SET", help="A curated set: its folder, a version's, or its name in --store.")
]
Output = Annotated[Path, typer.Option(help="The file to write.")]
Runs = Annotated[
    list[Path] | None, typer.Option("--run", help="Folder of a training run whose curves are shown; repeatable.")
]
Store = Annotated[
    str | None, typer.Option(help="Folder or URL of the store. (default: the one the set lies in, or learnable-store)")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def report(
    curated: Set, output: Output = Path("report.html"), run: Runs = None, store: Store = None, as_json: AsJson = False
) -> None:
    """Write the report of a curated set."""
    with open_shell(as_json=as_json, quiet=True) as shell:
        from learnable.data.storage.places import find_place
        from learnable.data.store import Store as Home
        from learnable.flows.showing import find_set
        from learnable.viewing.report import write_report

        found = find_set(curated, store or "learnable-store")
        written = write_report(found, find_place(output), Home(store).open() if store else None, run or ())
        if as_json:
            shell.dump(
                {
                    "report": str(output),
                    "bytes": written.size,
                    "prompts": written.prompts,
                    "with_completions": written.with_completions,
                }
            )
            return
        shell.line(
            f"{written.prompts:,} prompts, {written.with_completions:,} of them with their completions, "
            f"{written.size / 1e6:.1f} MB"
        )
        shell.line(f"\nreport       {output}", whole=True)
