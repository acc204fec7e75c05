"""`learnable view`: look at a store in a browser, while runs write it."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from learnable.cli.console import open_shell

VIEW_HELP = """
Look at a store in a browser: every set, every version, every completion, while runs write it.

Prints an address to open. It answers this machine alone, to those who have the token in the address, and writes \
nothing. Ctrl-C ends it.

\b
Examples:
  learnable view
  learnable view --store s3://bucket/store --port 8800
"""

Store = Annotated[str, typer.Option(help="Folder or URL of the store.")]
Runs = Annotated[Path, typer.Option(help="Folder of training runs, which are shown beside their sets.")]
Port = Annotated[int, typer.Option(help="Port of this machine; 0 for a free one.")]


def view(store: Store = "learnable-store", runs: Runs = Path("runs"), port: Port = 0) -> None:
    """Serve the store's page to this machine until Ctrl-C."""
    with open_shell(as_json=False, quiet=True) as shell:
        from learnable.data.store import Store as Home
        from learnable.viewing.serving import serve

        token = secrets.token_urlsafe(16)
        serve(Home(store).open(), runs, port, token, lambda address: shell.line(f"view         {address}", whole=True))
