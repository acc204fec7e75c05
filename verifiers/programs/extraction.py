"""Where in a completion the program is.

Rules, in this order: thinking blocks go; the last complete fenced block wins, of those that define the function asked
for where any does; without one, what follows an opening fence that never closes; without any fence, what stands between
marks such as `[BEGIN]` and `[DONE]` or `<code>` and `</code>`, likewise; without those, everything from the first line
that can open a module to the last before prose begins again, and where the function asked for is not there yet, on from
the next such line.

Where the prompt gave a stub, a policy may continue it instead, as base models do. A fenced block that defines the
function still wins; then a completion that opens with an indented line continues the stub; then comes a function
without a fence; and a fence, or a text, that holds a body alone is put below the stub. The stub's imports and helpers
are there in any case.
"""

from __future__ import annotations

import keyword
import re
import textwrap

from learnable.data.sources.test_code.stubs import TRIPLE_QUOTES, Stub, fenced_blocks, read_stub
from learnable.verifiers.completions import strip_thinking
from learnable.verifiers.programs.continuation import add_prelude, continue_stub, rebuild_body

MAX_COMPLETION = 256 * 1024

_OPENED = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n`]*\n", re.MULTILINE)
_OPENING = re.compile(
    r"(?:async\s+)?def\s+\w+\s*\(|class\s+\w+\s*[:(]|import\s+\w|from\s+[\w.]+\s+import\b|@\w|\w+(?::[^=\n]+)?\s*=(?!=)"
)
# Pairs of marks; the first of MBPP's may stand in the prompt.
_MARKED = (
    re.compile(r"(?:\A|^[ \t]*\[BEGIN\])((?:(?!\[BEGIN\]).)*?)^[ \t]*\[DONE\]", re.DOTALL | re.MULTILINE),
    re.compile(r"\[PYTHON\]((?:(?!\[PYTHON\]).)*?)\[/PYTHON\]", re.DOTALL),
    re.compile(r"\[CODE\]((?:(?!\[CODE\]).)*?)\[/CODE\]", re.DOTALL),
    re.compile(r"<code>((?:(?!<code>).)*?)</code>", re.DOTALL),
    re.compile(r"<python>((?:(?!<python>).)*?)</python>", re.DOTALL),
    re.compile(r"<answer>((?:(?!<answer>).)*?)</answer>", re.DOTALL),
)
# What no statement at the margin looks like: lists, headings, rules, tags, a word by itself, the end of a sentence.
_NO_CODE = re.compile(
    r"(?:[-*+]\s+[^\W\d_]|\*\*|[>|$\\\u2022]|\d+[.)]\s|-{2}|={2}|`|~{2}|</?\w+>|\[/?[A-Z]+\]\s*$|[^\x00-\x7f])"
    r"|\w+[:.!]?\s*$|.*(?:[^\W\d_]\.|[)\]]\.|[!?]:?)\s*$"
)
_STRINGS = re.compile(r"'''.*|\"\"\".*|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|#.*")
_PAIR = re.compile(r"([\w)\]']+)[ \t]+(?=([A-Za-z_][\w']*))")
_PYTHON_WORDS = frozenset((*keyword.kwlist, *keyword.softkwlist))
MAX_TEXT_LINE = 500  # characters of a line that are looked at


def extract_program(completion: str, entry: str | None = None, stub: str | None = None) -> str:
    r"""Return the program in a completion, or an empty string where there is none.

    >>> extract_program("First:\n```python\nx = 1\n```\nBetter:\n```\nx = 2\n```")
    'x = 2\n'
    >>> extract_program("Sure! Here it is.\ndef one():\n    return 1\nThis returns one.")
    'def one():\n    return 1\n'
    >>> extract_program("    return 1\n", "one", "def one():\n    'One.'\n")
    'def one():\n    return 1\n'
    """
    text = strip_thinking(completion)
    if len(text) > MAX_COMPLETION:
        return ""
    given = read_stub(stub, entry) if stub and entry else None
    if given is None or entry is None:
        return _with_method(_whole_program(text, entry), entry)
    return _completed(text, entry, given)


def _completed(text: str, entry: str, stub: Stub) -> str:
    blocks = _blocks(text)
    if any(_defines(textwrap.dedent(block), entry) for block in blocks):
        return add_prelude(stub, _whole_program(text, entry), entry)
    if program := continue_stub(stub, text, entry):
        return program
    program = _whole_program(text, entry)
    if _defines(program, entry):
        return add_prelude(stub, program, entry)
    before = text.split("```", 1)[0]
    return next((made for part in [*blocks[::-1], before] if (made := rebuild_body(stub, part, entry))), "") or program


def _whole_program(text: str, entry: str | None) -> str:
    """Return a program that needs no stub."""
    if blocks := [textwrap.dedent(block) for block in _blocks(text)]:
        return next((block for block in reversed(blocks) if entry and _defines(block, entry)), blocks[-1])
    return _between_prose(text, entry)


def _blocks(text: str) -> list[str]:
    """Return the fenced blocks; what follows the last opening fence where none of them ever closes; marked blocks."""
    if blocks := fenced_blocks(text):
        return blocks
    if opened := list(_OPENED.finditer(text)):
        return [text[opened[-1].end() :]]
    marked = (block.strip("\r\n") for marks in _MARKED for block in marks.findall(text))
    return [block + "\n" for block in marked if any(_opens(line) for line in block.splitlines())]


def _defines(block: str, entry: str) -> bool:
    name = re.escape(entry)
    defined = rf"^(?:async\s+)?def\s+{name}\b|^{name}\s*="
    return re.search(defined, block, re.MULTILINE) is not None or _is_method(block, entry)


def _is_method(block: str, entry: str) -> bool:
    """Whether a class `Solution` has it, as answers in the manner of LeetCode do."""
    method = rf"^[ \t]+def\s+{re.escape(entry)}\s*\(\s*self\b"
    return bool(re.search(r"^class\s+Solution\b", block, re.MULTILINE) and re.search(method, block, re.MULTILINE))


def _with_method(program: str, entry: str | None) -> str:
    """Return the program with the method of its class `Solution` under the name that is called."""
    if entry is None or not _is_method(program, entry):
        return program
    return f"{program.rstrip()}\n\n{entry} = Solution().{entry}\n"


def _between_prose(text: str, entry: str | None) -> str:
    """Return the code of a text without fences: up to the prose behind it, or behind the function asked for."""
    program, taken, indent, quoted = "", False, "", False
    for line in text.splitlines(keepends=True):
        if not taken and _opens(line):
            taken, indent = True, line[: len(line) - len(line.lstrip(" \t"))]
        inner = line.removeprefix(indent)
        if taken and not quoted and _is_prose(inner):
            if entry is None or _defines(program, entry):
                break
            taken = False
        elif taken:
            quoted ^= len(TRIPLE_QUOTES.findall(inner)) % 2 == 1
            program += inner
    return program


def _opens(line: str) -> bool:
    """Whether a module may begin with the line."""
    bare = line.strip()[:MAX_TEXT_LINE]
    return _OPENING.match(bare) is not None and not _is_prose(bare)


def _is_prose(line: str) -> bool:
    """Whether a line at the margin reads as a sentence: two words in a row, and neither is one of Python's."""
    if not line.strip() or line[0] in " \t)]}#":
        return False
    bare = _STRINGS.sub("_", line[:MAX_TEXT_LINE]).rstrip()
    if _NO_CODE.match(bare) and bare.rstrip(":") not in _PYTHON_WORDS:
        return True
    return any(not {pair[1], pair[2]} & _PYTHON_WORDS for pair in _PAIR.finditer(bare))
