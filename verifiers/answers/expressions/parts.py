r"""What an answer consists of: values of a list, elements of a tuple or matrix, sides of an equation, number and unit.

Every part keeps its text, so that what is not understood is compared as text and nothing of an answer is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from learnable.verifiers.answers.expressions.latex import join_thousands
from learnable.verifiers.answers.expressions.measures import Measure, read_measure

MAX_PARTS = 100  # of one answer: more are compared as text

_TOKEN = re.compile(r"\\(?:begin|end)\{[a-z*]+\}|\\[a-zA-Z]+|\\.|.", re.DOTALL)
_OPENING = {"(", "[", "{", r"\{", r"\langle", r"\lfloor", r"\lceil"}
_CLOSING = {")", "]", "}", r"\}", r"\rangle", r"\rfloor", r"\rceil"}
_RELATIONS = {"=", "<", ">", r"\le", r"\ge", r"\ne", r"\approx", r"\in", r"\equiv", r"\sim", r"\to", r"\Rightarrow"}
_MIRRORED = {">": "<", r"\ge": r"\le"}
_LIST_WORD = re.compile(r"\\text\{[^{}]*\}|(?<![a-zA-Z\\])(and|or)(?![a-zA-Z])")
_MATRIX = re.compile(r"\\begin\{(p|b|B|small|)matrix\}|\\begin\{array\}")
_MEMBERSHIP = re.compile(
    r"[a-z](?:_\{[^{}]*\})?\s*\\in\s*\\mathbb\{[A-Z]\}(?:[\^_]\{?[+*]\}?)*|"
    r"\(?[a-z]\s*\\text\{[^{}]*integer[^{}]*\}\)?"
)
_NAME = re.compile(
    r"(?!\\(?:infty|pi)(?![a-zA-Z]))"
    r"(?:\\?[a-zA-Z]+|\\text\{[^{}]*\})'*(?:[_^]\{[^{}]*\})*'*\s*(?:\([a-zA-Z0-9,; ]*\))?|"
    r"\\frac\{(?:d|\\partial )\s*(?:\^\{\d\})?\s*[a-zA-Z]?\}\{(?:d|\\partial )\s*[a-zA-Z](?:\^\{\d\})?\}[a-zA-Z]?|"
    r"\|?[a-zA-Z]{1,3}\|?|\\(?:overline|bar)\{[a-zA-Z]+\}|[fghA-Z]'*\([^()]*\)|\\(?:angle|triangle)\s*[A-Z]{1,3}|[A-Z]_\{[^{}]*\}"
)
_POINT = re.compile(r"\(\s*[a-zA-Z](?:\s*,\s*[a-zA-Z])+\s*\)")
_POLAR = re.compile(r"\(\s*(?:r|\\rho)\s*,\s*\\theta\s*(?:,\s*(?:z|\\(?:var)?phi)\s*)?\)")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One expression, with the unit or the base that stands behind it."""

    text: str
    measure: Measure


@dataclass(frozen=True, slots=True)
class Several:
    """Values in any order: a list, or a set where it is `braced`."""

    text: str
    items: tuple[Part, ...]
    braced: bool = False


@dataclass(frozen=True, slots=True)
class Ordered:
    """Values in order: `kind` holds the brackets of a tuple or an interval, or the shape of a matrix as in "2x1"."""

    text: str
    items: tuple[Part, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Union:
    """Sets that are joined, in any order."""

    text: str
    items: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """A chain of sides with the signs between them; where all would point to the left, it is written from its end."""

    text: str
    items: tuple[Part, ...]
    signs: tuple[str, ...]


Part = Leaf | Several | Ordered | Union | Relation


def read_answer(text: str) -> Several:
    r"""Return the values of an answer that `write_formula` has written; one value is a list of one.

    >>> [part.text for part in read_answer(r"2, (-\infty,4)\cup(5,6) and x=7").items]
    ['2', '(-\\infty,4)\\cup(5,6)', 'x=7']
    """
    pieces = [piece for piece in _split_list(join_thousands(text)) if piece]
    stated = [piece for piece in pieces if not _MEMBERSHIP.fullmatch(piece)]
    items = [one for piece in (stated or pieces)[:MAX_PARTS] for one in _read_each(piece)]
    if len(pieces) > MAX_PARTS:
        return Several(text, (Leaf(text, Measure(text)),))
    if len(items) == 1 and isinstance(items[0], Several):
        return items[0]
    return Several(text, tuple(items))


def is_name(text: str) -> bool:
    r"""Say whether a side of an equation only names the value: a letter, a function of letters, a derivative, words.

    >>> [is_name(text) for text in ("x", "f(x)", r"\frac{dy}{dx}", "x+y", "3")]
    [True, True, True, False, False]
    """
    return bool(_NAME.fullmatch(text.strip()))


def split_top(text: str, marks: set[str]) -> tuple[list[str], list[str]]:
    """Return what stands between these marks outside of all brackets, and the marks."""
    pieces, signs, depth, start, bars = [], [], 0, 0, 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in _OPENING or sign.startswith(r"\begin{"):
            depth += 1
        elif sign in _CLOSING or sign.startswith(r"\end{"):
            depth -= 1
        elif sign in marks and depth <= 0:
            pieces.append(text[start : token.start()].strip())
            signs.append(sign)
            start = token.end()
        bars += sign == "|"
    return [*pieces, text[start:].strip()], signs


def _split_list(text: str) -> list[str]:
    text = _LIST_WORD.sub(lambda word: "," if word[1] else word[0], text)
    if re.fullmatch(r"(?:\s*\\textcircled\{[0-9]+\}\s*,?)+", text):
        text = text.replace(",", " ").replace(r"\textcircled", r",\textcircled")
    return split_top(text, {",", ";"})[0]


def _read_each(text: str) -> Iterator[Part]:
    r"""Yield the values of one piece: two where it has one sign `\pm`."""
    if r"\pm" not in text:
        yield _read(text)
        return
    for plus, minus in (("+", "-"), ("-", "+")):
        signed = re.sub(r"\\mp(?![a-zA-Z])", minus, re.sub(r"\\pm(?![a-zA-Z])", plus, text))
        yield _read(re.sub(r"(\A|[(=,{])\s*\+", r"\1", signed))


def _read(text: str) -> Part:
    text = _unwrap(text)
    sides, signs = split_top(text, _RELATIONS)
    if signs and all(sides):
        return _read_relation(text, sides, signs)
    joined, unions = split_top(text, {r"\cup"})
    if unions and all(joined):
        return Union(text, tuple(_read(one) for one in joined))
    if bracketed := _read_brackets(text):
        return bracketed
    if (ratio := split_top(text, {":"})[0]) and len(ratio) > 1 and all(ratio):
        return Ordered(text, tuple(_read(one) for one in ratio), ":" * (len(ratio) - 1))
    return Leaf(text, read_measure(text))


def _unwrap(text: str) -> str:
    """Return the text without parentheses or braces around all of it that mean nothing."""
    text = text.strip().rstrip(".").strip()
    while (
        len(text) > 2
        and text[0] + text[-1] in ("()", "{}")
        and _is_closed(text)
        and len(split_top(text[1:-1], {",", ";"})[0]) == 1
    ):
        text = text[1:-1].strip()
    return text


def _is_closed(text: str) -> bool:
    """Say whether the bracket that opens the text is closed at its end."""
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += token[0] in _OPENING
        depth -= token[0] in _CLOSING
        if not depth:
            return token.end() == len(text)
    return False


def _read_relation(text: str, sides: list[str], signs: list[str]) -> Part:
    if (signs == [r"\in"] and is_name(sides[0])) or (signs == ["="] and _is_point(sides[0])):
        return _read(sides[1])
    if all(sign in (">", r"\ge") for sign in signs):
        sides, signs = sides[::-1], [_MIRRORED[sign] for sign in signs[::-1]]
    values = [read_answer(side) for side in sides]
    return Relation(text, tuple(one.items[0] if len(one.items) == 1 else one for one in values), tuple(signs))


def _is_point(text: str) -> bool:
    """Say whether a side of an equation names the values of a tuple in their usual order, as in "(x, y)"."""
    letters = re.findall("[a-zA-Z]", text)
    return bool(_POLAR.fullmatch(text)) or (bool(_POINT.fullmatch(text)) and letters == sorted(letters))


def _read_brackets(text: str) -> Part | None:
    if (match := _MATRIX.match(text)) and re.search(r"\\end\{[a-zA-Z]+\}\Z", text):
        return _read_matrix(text, match.end())
    opening, closing = (
        (r"\{", r"\}")
        if text.startswith(r"\{")
        else (r"\langle", r"\rangle")
        if text.startswith(r"\langle")
        else (text[:1], text[-1:])
    )
    if opening not in _OPENING or closing not in _CLOSING or not text.endswith(closing) or not _is_closed(text):
        return None
    inside = text[len(opening) : -len(closing)].strip()
    if opening == r"\{":
        return _read_set(text, inside)
    items = split_top(inside, {",", ";"})[0]
    if _MATRIX.match(inside) and len(items) == 1:
        return _read_brackets(inside)
    if len(items) < 2 or not all(items):
        return None
    return Ordered(text, tuple(_read(one) for one in items), "()" if opening == r"\langle" else opening + closing)


def _read_set(text: str, inside: str) -> Part:
    if not inside:
        return Leaf(r"\emptyset", Measure(r"\emptyset"))
    parts, marks = split_top(inside, {"|", ":"})
    if len(marks) == 1 and re.fullmatch(r"[a-zA-Z](?:\s*\\in\s*\\mathbb\{[A-Z]\})?", parts[0]):
        condition = read_answer(parts[1])
        return condition.items[0] if len(condition.items) == 1 else Several(text, condition.items, braced=True)
    if marks:
        return Leaf(text, Measure(text))
    return Several(text, read_answer(inside).items, braced=True)


def _read_matrix(text: str, start: int) -> Part:
    inside = re.sub(r"\\hline", " ", text[start : text.rindex(r"\end{")])
    rows = [row for row in split_top(inside, {r"\\"})[0] if row]
    cells = [[_read(cell) for cell in split_top(row, {"&"})[0]] for row in rows]
    shape = f"{len(rows)}x{max(map(len, cells), default=0)}"
    return Ordered(text, tuple(cell for row in cells for cell in row), shape)
