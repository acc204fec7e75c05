"""The stub in a prompt: the imports, the helpers and the head of the function that a policy is to write.

A policy may continue the stub, or write the function anew without its imports; whoever runs either needs the stub.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from learnable.data.sources.test_code.tests_to_cases import parse

BODY = "\n    pass\n"
_FENCED = re.compile(r"^[ \t]*(`{3,9}|~{3,9})[^\n`]*\n(.*?)^[ \t]*\1", re.DOTALL | re.MULTILINE)
_OPENS_FENCE = re.compile(r"\s*(?:```|~~~)")
_OPENING = re.compile(r"^(?:async\s|def\s|class\s|import\s|from\s|@|\w+\s*=)", re.MULTILINE)
TRIPLE_QUOTES = re.compile(r"'''|\"\"\"")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


@dataclass(frozen=True, slots=True)
class Stub:
    """A stub as code: `prelude` stands beside the function, `head` is its signature, `indent` the body's spaces."""

    prelude: str
    head: str
    indent: int


def find_stub(prompt: str, entry: str) -> str | None:
    r"""Return the stub of the function `entry` in a prompt, or None where it has none.

    Looked through are fenced blocks, the whole prompt, and code that stands in prose without a fence. A function that
    has more than imports, a docstring and a placeholder is not a stub: a prompt may show one to be corrected.

    >>> find_stub("Complete it.\n```python\nimport math\ndef area(r):\n    '''Of a circle.'''\n```", "area")
    "import math\ndef area(r):\n    '''Of a circle.'''\n"
    >>> find_stub("def area(r):\n    return 3 * r * r\n", "area") is None
    True
    """
    if not re.search(rf"\bdef\s+{re.escape(entry)}\b", prompt):
        return None
    return next((code for code in _candidates(prompt, entry) if read_stub(code, entry)), None)


@lru_cache(maxsize=1024)
def read_stub(code: str, entry: str) -> Stub | None:
    r"""Return the parts of a stub, or None where the code is not a stub of `entry`.

    >>> read_stub("import math\ndef area(r: float) -> float:\n  '''Of a circle.'''\n", "area")
    Stub(prelude='import math\n', head='def area(r: float) -> float:\n', indent=2)
    """
    body = parse(code) or parse(code.rstrip() + BODY)
    functions = [node for node in body if isinstance(node, FunctionNode) and node.name == entry]
    if not functions or not all(map(_is_empty, functions[-1].body)):
        return None
    function = functions[-1]
    nodes = [node for node in [*body, *function.body] if isinstance(node, Kept) and node not in functions]
    one_line = function.body[0].lineno == function.lineno
    return Stub(
        prelude="".join(f"{ast.unparse(node)}\n" for node in nodes),
        head=_head(function),
        indent=4 if one_line else function.body[0].col_offset,
    )


def fenced_blocks(text: str) -> list[str]:
    r"""Return what stands in fences that close, of backticks or of tildes.

    >>> fenced_blocks("~~~python\na\n~~~\n```\nb\n```")
    ['a\n', 'b\n']
    """
    blocks = [block for _, block in _FENCED.findall(text)]
    return [one for block in blocks for one in (fenced_blocks(block) if _OPENS_FENCE.match(block) else [block])]


def margin_lines(lines: list[str]) -> list[int]:
    """Return the places of the lines that begin at the margin with code or words, outside of triple quotes.

    Closing brackets and comments are passed over: a function may go on behind them.
    """
    places, quoted = [], False
    for place, line in enumerate(lines):
        if not quoted and line.strip() and line[0] not in " \t)]}#":
            places.append(place)
        quoted ^= len(TRIPLE_QUOTES.findall(line)) % 2 == 1
    return places


def _candidates(prompt: str, entry: str) -> Iterator[str]:
    yield from fenced_blocks(prompt)
    yield prompt
    head = re.search(rf"^(?:async\s+)?def\s+{re.escape(entry)}\b", prompt, re.MULTILINE)
    if head is None:
        return
    rest = prompt[head.start() :].splitlines(keepends=True)
    ends = [place for place in margin_lines(rest) if place > 0]
    end = head.start() + len("".join(rest[: ends[0]] if ends else rest))
    openings = [match.start() for match in _OPENING.finditer(prompt, 0, head.end())]
    for start in openings[-20:]:  # the last of many lines that a stub may begin at
        yield prompt[start:end]


def _is_empty(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
            return True
        case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name == "NotImplementedError"
    return False


def _head(function: FunctionNode) -> str:
    bare = ast.copy_location(type(function)(**{**dict(ast.iter_fields(function)), "body": [ast.Pass()]}), function)
    return ast.unparse(bare).removesuffix("pass").rstrip() + "\n"
