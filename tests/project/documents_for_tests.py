"""The code blocks of README and docs, and a process that runs them as they are typed.

    python -m tests.project.documents_for_tests DOCUMENT

Shell lines that begin with our commands run in this process, so that they share one engine; the other ones run in bash.
Python blocks run in a process each, warm where this one is. `<!-- not run: REASON -->` before a block says
why it cannot be run here; a block of the language `text` is output, not input.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.warm_twins import all_warm

COMMANDS = ("find-learnable", "learnable")
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
SHOWN = ("text", "json", "toml")  # looked at, not executed


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, its language, its lines, and why it is not run, if it is not."""

    document: Path
    line: int
    language: str
    text: str
    reason: str = ""

    @property
    def place(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


def list_documents() -> list[Path]:
    """Return README and everything in docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read_blocks(document: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a document."""
    reason, language, begun, inside = "", "", 0, None
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1):
        if inside is None and (found := NOT_RUN.fullmatch(line.strip())):
            reason = found[1]
        elif line.startswith("```") and inside is None:
            language, begun, inside = line.strip("` "), number, []
        elif line.startswith("```") and inside is not None:
            yield Block(document, begun, language, "\n".join(inside), reason)
            reason, inside = "", None
        elif inside is not None:
            inside.append(line)
        elif line.strip():
            reason = ""


def split_commands(text: str) -> Iterator[str]:
    """Yield the commands of a shell block: each line of ours, joined where it goes on, and the runs of other lines."""
    other: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        ours = line.split(" ", 1)[0] in COMMANDS
        if ours and other:
            yield "\n".join(other)
            other = []
        if ours:
            yield line
        else:
            other.append(line)
    if any(line.strip() and not line.startswith("#") for line in other):
        yield "\n".join(other)


def run_block(block: Block) -> None:
    """Run a block in the working directory. Raises `SystemExit` where a command fails."""
    if block.language == "python":
        with all_warm():
            process = subprocess.Popen([sys.executable, "-c", block.text])
        if status := process.wait():
            raise SystemExit(f"{block.place} ended with status {status}")
        return
    for command in split_commands(block.text):
        print(f"$ {command}", flush=True)
        if command.split(" ", 1)[0] in COMMANDS:
            run_ours(shlex.split(command, comments=True))
        else:
            subprocess.run(["bash", "-euo", "pipefail", "-c", command], check=True)


def run_ours(words: list[str]) -> None:
    """Run `find-learnable` or `learnable` in this process."""
    from learnable.cli.app import app, find_app

    try:
        (app if words[0] == "learnable" else find_app)(words[1:])
    except SystemExit as end:
        if end.code:
            raise SystemExit(f"{shlex.join(words)} ended with status {end.code}") from None


def main(document: Path) -> None:
    """Run every block of a document that can be run."""
    for block in read_blocks(document):
        if not block.reason and block.language not in SHOWN:
            print(f"== {block.place}", flush=True)
            run_block(block)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
