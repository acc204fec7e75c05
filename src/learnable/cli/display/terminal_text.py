"""Text of others on a terminal: behind a label, wrapped, and unable to steer it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from learnable.data.plain_text import escape_controls

INDENT = 4
MAX_SHOWN = 400  # characters of a spec
LABEL = 13  # columns of what stands before a fact


class SafeConsole(Console):
    """A console that no text can steer: controls are shown as escapes. Its own colours and moves go through."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return what a text looks like, escaped while it can still be measured. Names of emoji are not replaced."""
        return super().render_str(escape_controls(text), **options | {"emoji": False})

    def plain(self, text: str, style: str = "") -> Text:
        """Return a text as it is: what looks like markup in it is none."""
        return self.render_str(text, style=style, markup=False, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the pieces of whatever is printed: none of them holds a control that its text brought along."""
        for piece in super().render(renderable, options):
            is_safe = piece.control or piece.text.isprintable()  # all but a few are, at every depth of a table
            yield piece if is_safe else piece._replace(text=escape_controls(piece.text))


def shorten(text: str) -> str:
    """Return text that is not longer than `MAX_SHOWN`, saying how much is cut.

    >>> shorten("1" * 500)[-31:]
    '... and 100 characters (--json)'
    """
    return (
        text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} ... and {len(text) - MAX_SHOWN:,} characters (--json)"
    )


def read_columns() -> int | None:
    """Return the width that COLUMNS asks for, None where it says nothing."""
    wanted = os.environ.get("COLUMNS", "")
    return int(wanted) if wanted.isdecimal() and int(wanted) else None


def has_width(out: Console) -> bool:
    """Whether lines are to end somewhere: on a terminal, and in a file or a pipe where COLUMNS says so."""
    return out.is_terminal or read_columns() is not None


def print_text(out: SafeConsole, text: str, label: str = "", style: str = "") -> None:
    """Print text behind a label, or indented; wrapped at words where the output has a width (see `has_width`)."""
    start = f"{label:<{LABEL - 1}} " if label else " " * INDENT
    lines: list[Text] = list(out.plain(text.expandtabs()).split("\n", allow_blank=True))
    if has_width(out):
        room = max(out.width - len(start), 8)
        lines = [part for line in lines for part in line.wrap(out, room, overflow="fold")]
    for number, line in enumerate(lines):
        before = " " * len(start) if number else start
        out.print(Text.assemble(before, (line.plain.rstrip(), style)), soft_wrap=True)
