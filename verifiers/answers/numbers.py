"""The number that a completion gives as its answer."""

from __future__ import annotations

import re
from fractions import Fraction

from learnable.data.errors import LearnableError
from learnable.verifiers.answers.extraction import (
    MAX_STATED,
    Statement,
    find_statements,
    fold_signs,
    split_first_line,
    strip_latex_text,
)
from learnable.verifiers.answers.values.alternatives import names_another
from learnable.verifiers.answers.values.quantities import MAX_DIGITS, Quantity
from learnable.verifiers.answers.values.spelled import write_digits

_DIGITS = r"(?>(?:[0-9]{1,3}(?:[,\u202f\u2009\u00a0][0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?)"
NUMBER = rf"(?<!\.)([-+\u2212]?{_DIGITS})(?![eE][-+]?[0-9])"
_ANYWHERE = re.compile(rf"(?<![\w.]){NUMBER}")
_LEADING = re.compile(rf"[\s*_`()\[\]{{}}<>\"'\u2018\u201c=:;,.!?#\u2248]*+{NUMBER}")
_BARE = re.compile(r"[-+*/^=().,;:!_`$%\[\]{}\u2212\u00d7\u00f7\u00b7\u2248\s0-9]+")  # numbers and signs alone
_OPERATOR = r"(?:[+*/\u00d7\u00f7\u00b7^]|\*\*|[-\u2212]|[xX](?=\s*[0-9]))"
_GOES_ON = re.compile(rf"[)\s]*{_OPERATOR}\s*[(-]?[0-9]")
_CAME_FROM = re.compile(rf"[0-9)]\s*{_OPERATOR}\s*[(]*\Z")
_RESULT = re.compile(
    r"(?:=|\u2248|:|['\u2019]s\b|\b(?:is|are|be|was|gets?|gives?|makes?|equals?|has|have|leaves?|"
    rf"totals?|total of|comes to|left with|becomes?|obtain|find|yields?)\b)"
    rf"(?:(?!\bnot\b)[^\d\n=]){{0,40}}?(?<![\w.]){NUMBER}",
    re.IGNORECASE,
)
_LIST_LABEL = re.compile(r"^[ \t]*\(?([0-9]{1,3})[.):](?=\s)", re.MULTILINE)
_TALLY = re.compile(r"\(([0-9]{1,3})\)")
_MONEY = (
    (re.compile(r"([-+\u2212])\s?[$\u20ac\u00a3\u00a5]\s?"), r"\1"),
    (re.compile(r"[$\u20ac\u00a3\u00a5]"), " "),
)
_LATEX = (
    (re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), r"\1/\2"),
    (re.compile(r"\{,\}|\\[,!;](?=[0-9]{3})"), ","),
    (re.compile(r"\\(?:times|cdot)\b"), "*"),
    (re.compile(r"\\[()\[\],!; ]|\\(?=[$%])"), " "),
    *_MONEY,
)


class SeveralNumbersError(LearnableError):
    """The completion leaves open which of its numbers is the answer."""


def find_answer(text: str) -> tuple[str, str] | None:
    """Return the number that is the answer to a computation, as `normalize_number` writes it, and the rule, or None.

    See `ArithmeticVerifier` for the rules. Raises `SeveralNumbersError`.
    """
    text = _plain(text)
    if (answer := _by_first_rules(text)) is not None:
        return answer
    last = _last_result(text)
    return None if last is None else (last, "last")


def find_count(text: str) -> tuple[str, str] | None:
    """Return the number that is a count, in digits or spelled out, as `normalize_number` writes it, and the rule.

    See `CountingVerifier` for the rules. Raises `SeveralNumbersError`.
    """
    text = _plain(write_digits(text))
    if (answer := _by_first_rules(text)) is not None:
        return answer
    if _counts_up(text):
        last = _last_result(text)
        return None if last is None else (last, "last")
    numbers = (_value(text, match) for match in _ANYWHERE.finditer(text))
    number = next((number for number in numbers if number), None)
    return None if number is None else (number, "first")


def find_at(text: str, end: str) -> str | None:
    """Return the number that a text opens with (`end` is "first"), or the last result in it ("last"), or None.

    Numbers are those in digits. Raises `SeveralNumbersError`.
    """
    text = _plain(text)
    return _leading(text) if end == "first" else _last_result(text)


def _by_first_rules(text: str) -> tuple[str, str] | None:
    if number := _alone_before_a_question(text):
        return number, "first"
    for stated in reversed(find_statements(text)):
        if number := _read_statement(stated):
            return number, stated.form
    number = _leading(text)
    return None if number is None else (number, "first")


def normalize_number(text: str) -> str:
    """Write a matched number so that equal numbers are equal text.

    Text, because a policy may print more digits than `int` is willing to read.

    >>> normalize_number("+1,024"), normalize_number("-007"), normalize_number("-0.0"), normalize_number("2.50")
    ('1024', '-7', '0', '2.5')
    """
    sign = "-" if text[0] in "-\u2212" else ""
    whole, _, fraction = re.sub(r"[^0-9.]", "", text).partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    value = f"{whole}.{fraction}" if fraction else whole
    return value if value == "0" else sign + value


def _plain(text: str) -> str:
    """Return the text without the marks of LaTeX and money, so that a number stands by itself."""
    text = strip_latex_text(fold_signs(text))
    for pattern, by in _LATEX if "\\" in text else _MONEY:
        text = pattern.sub(by, text)
    return text


def _value(text: str, match: re.Match[str]) -> str | None:
    """Return a matched number, or the result of the calculation that it begins; None for any other operand."""
    if _CAME_FROM.search(text, max(0, match.start(1) - 10), match.start(1)):
        return None
    if not _GOES_ON.match(text, match.end()):
        if _names_another(text, match):
            raise SeveralNumbersError
        return normalize_number(match[1])
    line = text[match.end() : match.end() + MAX_STATED].split("\n", 1)[0]
    result = _LEADING.match(line.rpartition("=")[2]) if "=" in line else None
    if result is None or _GOES_ON.match(result.string, result.end()):
        return None
    return normalize_number(result[1])


def _names_another(text: str, match: re.Match[str]) -> bool:
    value = normalize_number(match[1])
    if len(value) > MAX_DIGITS:
        return False
    return names_another(text, Quantity(Fraction(value), "", match.start(1), match.end(1)))


def _alone_before_a_question(text: str) -> str | None:
    """Return the number of a first line behind which the next problem begins."""
    line, goes_on = split_first_line(text)
    return _leading(line) or _last_result(line) if goes_on and _BARE.fullmatch(line) else None


def _read_statement(stated: Statement) -> str | None:
    text = stated.text
    if stated.closed:
        tail = text.rpartition("=")[2]
        values = {normalize_number(match[1]) for match in _ANYWHERE.finditer(tail)}
        first = _ANYWHERE.search(tail)
        if len(values) > 1 or (first and _names_another(tail, first)):
            raise SeveralNumbersError
        return next(iter(values), None)
    first = _ANYWHERE.search(text)
    if first is None or _LIST_LABEL.match(text) or (stated.form == "hashes" and not _LEADING.match(text)):
        return None  # four hashes may also be a heading
    return _value(text, first)


def _leading(text: str) -> str | None:
    """Return the number that the text opens with, unless it is the first of a list's labels or a mere operand."""
    match = _LEADING.match(text)
    if match is None or _is_calculation(text, match) or (_LIST_LABEL.match(text.lstrip()) and _counts_up(text)):
        return None
    return _value(text, match)


def _is_calculation(text: str, match: re.Match[str]) -> bool:
    return _GOES_ON.match(text, match.end()) is not None


def _counts_up(text: str) -> bool:
    """Whether the text has the labels 1 and 2, of a list or of a tally: those are no answers."""
    return any({"1", "2"} <= set(labels.findall(text)) for labels in (_LIST_LABEL, _TALLY))


def _last_result(text: str) -> str | None:
    """Return the last result in the last line with a number: by itself, or behind "=", "is", "makes" and the like."""
    line = next((line for line in reversed(text.split("\n")) if _ANYWHERE.search(line)), "")
    if line.rstrip().endswith("?"):
        return None
    line = _LIST_LABEL.sub("", line)
    alone = _LEADING.match(line)
    if alone and len(line[alone.end() :].split()) <= 2 and not _is_calculation(line, alone):
        return _value(line, alone)
    result = None
    for match in _RESULT.finditer(line):
        result = _value(line, match) or result
    return result
