"""Text of others on a terminal: behind a label, wrapped, and unable to steer it."""

from __future__ import annotations

import os
import re

from rich.console import Console
from rich.text import Text

INDENT = 4
MAX_SHOWN = 400  # characters of a spec
LABEL = 13  # columns of what stands before a fact
# Would move the cursor, change colours or turn the direction of text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def escape_controls(text: str) -> str:
    r"""Write control characters as escapes, so that what a policy wrote cannot steer the terminal.

    >>> escape_controls("a\x1b[31m\nb")
    'a\\x1b[31m\nb'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


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


def print_text(out: Console, text: str, label: str = "", style: str = "") -> None:
    """Print text behind a label, or indented; wrapped at words where the output has a width (see `has_width`)."""
    start = f"{label:<{LABEL - 1}} " if label else " " * INDENT
    lines: list[Text] = list(Text(escape_controls(text).expandtabs()).split("\n", allow_blank=True))
    if has_width(out):
        room = max(out.width - len(start), 8)
        lines = [part for line in lines for part in line.wrap(out, room, overflow="fold")]
    for number, line in enumerate(lines):
        before = " " * len(start) if number else start
        out.print(Text.assemble(before, (line.plain.rstrip(), style)), soft_wrap=True)
