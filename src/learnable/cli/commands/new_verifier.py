"""`learnable new-verifier`: a judge of one's own to begin with, with its tests."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from learnable.cli import options
from learnable.cli.console import open_shell

NEW_VERIFIER_HELP = """
Write a verifier of your own to begin with, and its tests.

NAME.py holds a reward function as TRL's trainers call it, NAME_golden.jsonl completions with the rewards they \
deserve, and test_NAME.py holds the one to the other. Nothing is overwritten.

\b
Examples:
  learnable new-verifier my_judge
  learnable new-verifier my_judge --folder judges
"""


def new_verifier(
    name: Annotated[str, typer.Argument(help="What to call it: letters, digits and '_'.")],
    folder: Annotated[Path, typer.Option(help="Where to write the three files.")] = Path(),
    as_json: options.AsJson = False,
) -> None:
    """Write a verifier of your own to begin with, and its tests."""
    with open_shell(as_json=as_json, quiet=True) as shell:
        from learnable.verifiers.own.template import write_verifier

        judge, golden, test = write_verifier(name, folder)
        commands = (
            f"pytest {quote(str(test))}",
            f"find-learnable --prompts questions.jsonl --verifier {quote(f'{judge}:score')}",
        )
        if shell.as_json:
            shell.dump({"files": [str(judge), str(golden), str(test)], "next": list(commands)})
            return
        shell.line(f"verifier     {judge}", whole=True)
        shell.line(f"golden       {golden}", whole=True)
        shell.line(f"test         {test}", whole=True)
        for label, command in zip(("next", "then"), commands, strict=True):
            shell.line(f"{label:<12} {command}", whole=True)
