"""Where in a completion the program is.

Rules, in this order: thinking blocks go; the last complete fenced block wins, of those that define the function asked
for where any does; without one, what follows an opening fence that never closes; without any fence, everything from the
first line that can open a module to the last before prose begins again.
"""

from __future__ import annotations

import keyword
import re
import textwrap

from learnable.verifiers.completions import without_thinking

MAX_CHARACTERS = 256 * 1024

_FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_OPENED = re.compile(r"^[ \t]*```[^\n`]*\n", re.MULTILINE)
_OPENING = re.compile(r"^[ \t]*(?:(?:async\s+)?def\s|class\s|import\s|from\s|@|\w+\s*=)", re.MULTILINE)
_WORDS = re.compile(r"([A-Za-z']+)[,:]?\s+[A-Za-z]")  # two words in a row: no statement starts so without a keyword
_QUOTES = re.compile(r"'''|\"\"\"")


def program_text(completion: str, entry: str | None = None) -> str:
    r"""Return the program in a completion, or an empty string where there is none.

    >>> program_text("First:\n```python\nx = 1\n```\nBetter:\n```\nx = 2\n```")
    'x = 2\n'
    >>> program_text("Sure! Here it is.\ndef one():\n    return 1\nThis returns one.")
    'def one():\n    return 1\n'
    """
    text = without_thinking(completion)
    if len(text) > MAX_CHARACTERS:
        return ""
    if blocks := [textwrap.dedent(block) for block in _FENCED.findall(text)]:
        return next((block for block in reversed(blocks) if entry and _defines(block, entry)), blocks[-1])
    if opened := list(_OPENED.finditer(text)):
        return textwrap.dedent(text[opened[-1].end() :])
    start = _OPENING.search(text)
    return _without_prose(textwrap.dedent(text[start.start() :])) if start else ""


def _defines(block: str, entry: str) -> bool:
    return (
        re.search(rf"^(?:async\s+)?def\s+{re.escape(entry)}\b|^{re.escape(entry)}\s*=", block, re.MULTILINE) is not None
    )


def _without_prose(text: str) -> str:
    """Return the text up to the first line at the margin, outside quotes, that starts like a sentence."""
    quoted = False
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        words = _WORDS.match(line)
        if not quoted and words and not keyword.iskeyword(words[1]) and words[1] not in keyword.softkwlist:
            return "".join(lines[:index])
        quoted ^= len(_QUOTES.findall(line)) % 2 == 1
    return text
