"""Where in a completion the program is.

Rules, in this order: thinking blocks go; the last complete fenced block wins, of those that define the function asked
for where any does; without one, what follows an opening fence that never closes; without any fence, everything from the
first line that can open a module to the last before prose begins again.

Where the prompt gave a stub, a policy may continue it instead, as base models do. A fenced block that defines the function
still wins; then a completion that opens with an indented line continues the stub; then comes a function without a fence; and
a fence, or a text, that holds a body alone is put below the stub. The stub's imports and helpers are there in any case.
"""

from __future__ import annotations

import keyword
import re
import textwrap

from learnable.data.sources.test_code.stubs import FENCED, QUOTES, Stub, read_stub
from learnable.verifiers.completions import strip_thinking
from learnable.verifiers.programs.continuation import continued, from_body, with_prelude

MAX_CHARACTERS = 256 * 1024

_OPENED = re.compile(r"^[ \t]*```[^\n`]*\n", re.MULTILINE)
_OPENING = re.compile(r"^[ \t]*(?:(?:async\s+)?def\s|class\s|import\s|from\s|@|\w+\s*=)", re.MULTILINE)
_WORDS = re.compile(r"([A-Za-z']+)[,:]?\s+[A-Za-z]")  # two words in a row: no statement starts so without a keyword


def program_text(completion: str, entry: str | None = None, stub: str | None = None) -> str:
    r"""Return the program in a completion, or an empty string where there is none.

    >>> program_text("First:\n```python\nx = 1\n```\nBetter:\n```\nx = 2\n```")
    'x = 2\n'
    >>> program_text("Sure! Here it is.\ndef one():\n    return 1\nThis returns one.")
    'def one():\n    return 1\n'
    >>> program_text("    return 1\n", "one", "def one():\n    'One.'\n")
    'def one():\n    return 1\n'
    """
    text = strip_thinking(completion)
    if len(text) > MAX_CHARACTERS:
        return ""
    given = read_stub(stub, entry) if stub and entry else None
    if given is None or entry is None:
        return _whole_program(text, entry)
    return _completed(text, entry, given)


def _completed(text: str, entry: str, stub: Stub) -> str:
    blocks = _blocks(text)
    if any(_defines(textwrap.dedent(block), entry) for block in blocks):
        return with_prelude(stub, _whole_program(text, entry), entry)
    if program := continued(stub, text, entry):
        return program
    program = _whole_program(text, entry)
    if _defines(program, entry):
        return with_prelude(stub, program, entry)
    before = text.split("```", 1)[0]
    return next((made for part in [*blocks[::-1], before] if (made := from_body(stub, part, entry))), "") or program


def _whole_program(text: str, entry: str | None) -> str:
    """Return a program that needs no stub."""
    if blocks := [textwrap.dedent(block) for block in _blocks(text)]:
        return next((block for block in reversed(blocks) if entry and _defines(block, entry)), blocks[-1])
    start = _OPENING.search(text)
    return _without_prose(textwrap.dedent(text[start.start() :])) if start else ""


def _blocks(text: str) -> list[str]:
    """Return the fenced blocks; what follows the last opening fence where none of them ever closes."""
    blocks: list[str] = FENCED.findall(text)
    if blocks:
        return blocks
    opened = list(_OPENED.finditer(text))
    return [text[opened[-1].end() :]] if opened else []


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
        quoted ^= len(QUOTES.findall(line)) % 2 == 1
    return text
