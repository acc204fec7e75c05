"""Where in a completion the program is.

Rules, in this order: thinking blocks go; the last complete fenced block wins; without one, what follows an
opening fence that never closes; without any fence, everything from the first line that can open a module.
"""

from __future__ import annotations

import re
import textwrap

from learnable.verifiers.completions import without_thinking

MAX_CHARACTERS = 256 * 1024

_FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_OPENED = re.compile(r"^[ \t]*```[^\n`]*\n", re.MULTILINE)
_OPENING = re.compile(r"^[ \t]*(?:(?:async\s+)?def\s|class\s|import\s|from\s|@|\w+\s*=)", re.MULTILINE)


def program_text(completion: str) -> str:
    r"""Return the program in a completion, or an empty string where there is none.

    >>> program_text("First:\n```python\nx = 1\n```\nBetter:\n```\nx = 2\n```")
    'x = 2\n'
    >>> program_text("Sure! Here it is.\ndef one():\n    return 1")
    'def one():\n    return 1'
    """
    text = without_thinking(completion)
    if len(text) > MAX_CHARACTERS:
        return ""
    if blocks := _FENCED.findall(text):
        return textwrap.dedent(blocks[-1])
    if opened := list(_OPENED.finditer(text)):
        return textwrap.dedent(text[opened[-1].end() :])
    start = _OPENING.search(text)
    return textwrap.dedent(text[start.start() :]) if start else ""
