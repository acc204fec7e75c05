"""A stub and what a policy wrote for it: one program. Read line by line, since hostile text is never parsed here.

The prompt wants one function, so asserts, prints and unfinished functions that a policy runs on to are left out.
"""

from __future__ import annotations

import re
import textwrap

from learnable.data.sources.test_code.stubs import Stub, margin_lines

MAX_CODE_LINE = 500  # characters of a line that are looked at to tell what it is: hostile ones are long
_ASSIGNS = r"(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=(?!=)"
_CODE = re.compile(
    r"(?:return|if|for|while|with|try|yield|raise|assert|pass|import|from|def|class|async|await|global|nonlocal|del)\b"
    rf"|match\s.*:$|[@#\"'(\[{{]|\.\.\.|[\w.]+\(|[\w.,* ]++(?:\[[^\n]*\])?(?::[^=\n]+)?\s*+{_ASSIGNS}"
)
_RETURN = re.compile(r"^(?:return|yield)\b", re.MULTILINE)
_DEFINITION = re.compile(r"(?:async\s+)?(?:def|class)\s+(\w+)")
_IMPORT = re.compile(r"(?:from|import)\s")
_FUTURE = re.compile(r"^from[ \t]+__future__[ \t]+import[ \t][^\n]*\n?", re.MULTILINE)
_ASSIGNED = re.compile(rf"(\w+)(?:\.[\w.]*+)?\s*+(?:\[[^\n]*\]\s*+)?(?::[^=\n]+)?{_ASSIGNS}")
_JOINED = re.compile(r"^(?:else|elif|except|finally)\b", re.MULTILINE)
_WORD = re.compile(r"\w+")
_TEXTS = re.compile(r"'''.*?(?:'''|\Z)|\"\"\".*?(?:\"\"\"|\Z)", re.DOTALL)
_IDLE = re.compile(r"(?:pass|\.\.\.|[rRuU]?'[^'\n]*'|[rRuU]?\"[^\"\n]*\"|;|\s)*(?:#.*)?")
_OPENERS, _CLOSERS = "([{", ")]}"


def add_prelude(stub: Stub, program: str, entry: str) -> str:
    """Return a program that defines `entry`, behind what the stub gives beside it; "" where it adds nothing.

    What the program itself defines comes later and so wins.
    """
    if not _does_something(_body_of(program, entry)):
        return ""
    future = "".join(_FUTURE.findall(program))
    return future + stub.prelude + _without_run_on(_FUTURE.sub("", program), entry)


def continue_stub(stub: Stub, text: str, entry: str) -> str:
    """Return the stub's function with the indented body that opens `text`, or "" where it opens with anything else."""
    lines = _from_first_line(text)
    if not lines or lines[0][0] not in " \t":
        return ""
    opening = lines[0].strip()
    if not _CODE.match(opening[:MAX_CODE_LINE]) or re.match(rf"(?:async\s+)?def\s+{re.escape(entry)}\b", opening):
        return ""
    return _joined(stub, lines, entry)


def rebuild_body(stub: Stub, text: str, entry: str) -> str:
    """Return the stub's function with a body from anywhere in `text`, which may have lost its indentation, or ""."""
    lines = _from_first_line(text)
    while lines and lines[0][0] not in " \t" and not _CODE.match(lines[0][:MAX_CODE_LINE]):
        lines = _from_first_line("".join(lines[1:]))  # prose
    if not lines:
        return ""
    if lines[0][0] in " \t":
        return _joined(stub, lines, entry)
    depths = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip() and line[0] in " \t"]
    rest = "".join(lines[1:])
    opens_block = lines[0].rstrip().endswith(":") and depths and depths[0] <= stub.indent and min(depths) == depths[0]
    flat = _RETURN.search(rest) or (not _DEFINITION.match(lines[0]) and (opens_block or _JOINED.search(rest)))
    if flat:  # every line has lost its indentation
        return _joined(stub, textwrap.indent("".join(lines), " " * stub.indent).splitlines(keepends=True), entry)
    nested = bool(depths) and min(depths) < depths[0]  # the first line alone has
    if any(_DEFINITION.match(line) for line in lines[nested:]):
        return ""  # a program, but of something else
    return _joined(stub, [" " * min([stub.indent, *depths]) + lines[0], *lines[1:]], entry)


def _from_first_line(text: str) -> list[str]:
    """Return the lines from the first that is not blank on."""
    lines = text.splitlines(keepends=True)
    first = next((place for place, line in enumerate(lines) if line.strip()), len(lines))
    return lines[first:]


def _joined(stub: Stub, lines: list[str], entry: str) -> str:
    ends = margin_lines(lines)
    end = ends[0] if ends else len(lines)
    body = "".join(lines[:end])
    if not _does_something(body):
        return ""
    body = body if body.endswith("\n") else body + "\n"
    after = [chunk for chunk in _chunks(lines[end:]) if _name_of(chunk) != entry]
    return stub.prelude + stub.head + body + "".join(_used(after, stub.prelude + body))


def _without_run_on(program: str, entry: str) -> str:
    """Return the program with only those statements behind the function that it uses."""
    chunks = _chunks(program.splitlines(keepends=True))
    places = [place for place, chunk in enumerate(chunks) if _name_of(chunk) == entry]
    if not places:
        return program
    kept = "".join(chunks[: places[0] + 1])
    return kept + "".join(_used(chunks[places[0] + 1 :], f"{kept} {entry}"))


def _used(chunks: list[str], text: str) -> list[str]:
    """Return the chunks that give a value to a word of `text`, or of another such chunk."""
    places: dict[str, list[int]] = {}
    for place, chunk in enumerate(chunks):
        for name in _bound(chunk):
            places.setdefault(name, []).append(place)
    used: set[int] = set()
    waiting = [text]
    while waiting:
        for word in set(_WORD.findall(waiting.pop())):
            again = places.pop(word, [])
            waiting += [chunks[place] for place in again if place not in used]
            used.update(again)
    return [chunks[place] for place in sorted(used)]


def _chunks(lines: list[str]) -> list[str]:
    """Return the statements at the margin, each with the lines that belong to it."""
    starts = [place for place in margin_lines(lines) if not _JOINED.match(lines[place])]
    starts = [place for number, place in enumerate(starts) if not number or lines[starts[number - 1]][0] != "@"]
    ends = [*starts[1:], len(lines)][: len(starts)]
    return ["".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]


def _name_of(chunk: str) -> str:
    """Return the name that a statement at the margin defines or assigns, or ""."""
    decorated = re.sub(r"\A(?:@[^\n]*\n)+", "", chunk)
    match = _DEFINITION.match(decorated) or _ASSIGNED.match(chunk[:MAX_CODE_LINE])
    return match[1] if match else ""


def _bound(chunk: str) -> set[str]:
    first = chunk[:MAX_CODE_LINE].split("\n", 1)[0]
    if _IMPORT.match(first):
        return set(_WORD.findall(first.split("#")[0])) - {"from", "import", "as"}
    if first.startswith("sys.setrecursionlimit("):
        return {"sys"}
    return {_name_of(chunk)} - {""}


def _body_of(program: str, entry: str) -> str:
    """Return what stands behind the colon of the last definition of `entry`; all of it where there is none."""
    heads = list(re.finditer(rf"^(?:async\s+)?def\s+{re.escape(entry)}\b", program, re.MULTILINE))
    if not heads:
        return program
    depth = 0
    for place in range(heads[-1].end(), len(program)):
        letter = program[place]
        depth += (letter in _OPENERS) - (letter in _CLOSERS)
        if letter == ":" and depth == 0:
            lines = program[place + 1 :].splitlines(keepends=True)
            ends = [end for end in margin_lines(lines) if end > 0]
            return "".join(lines[: ends[0]] if ends else lines)
    return ""


def _does_something(body: str) -> bool:
    """Whether a body holds more than texts, comments and placeholders: silence must not pass where None is right."""
    return any(not _IDLE.fullmatch(line.strip()) for line in _TEXTS.sub("", body).splitlines())
