"""Which number of a completion is its answer, with units, fractions and all that `quantities` reads."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from fractions import Fraction

from learnable.data.errors import LearnableError
from learnable.verifiers.answers.ends import stops_short, without_check
from learnable.verifiers.answers.extraction import LABEL, Statement, find_statements, split_first_line
from learnable.verifiers.answers.rules import NO_NUMBER, SEVERAL_NUMBERS, ExtractionRule, missing, narrow
from learnable.verifiers.answers.sentences import MAX_SENTENCE
from learnable.verifiers.answers.values.alternatives import is_same, names_another
from learnable.verifiers.answers.values.quantities import Quantity, blank_dates, find_quantities
from learnable.verifiers.answers.values.spelled import read_spelled, write_numbers
from learnable.verifiers.answers.values.writing import write_plainly

_SPACED = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?: [0-9]{3})+(?![0-9])")
_WRAPPING = r"[\s*_`()\[\]{}<>\"'\u2018\u201c=:;,!?#\u2248~]*"
_OPENING = re.compile(_WRAPPING + r"(?:(?:about|approximately|exactly|roughly|around)\s+)?")
_OPERATION = re.compile(
    r"\s*(?:%|percent)?\s+of\s+(?:the\s+)?[$]?[0-9][^\n]{0,20}?\s(?:is|=|equals)\s+(?![a-z]+(?:[,.!]|\s*\Z))|"
    r"[)\s]*(?:\*\*|[+*/^\u00f7]|-(?=\s*[0-9(])|[xX](?=\s*[0-9]))\s*[(]*[-+$]?[0-9.]"
)
_COMPARED = re.compile(r"\s*(?:[<>\u2264\u2265]=?|\\(?:leq?|geq?)(?![a-z]))\s*[a-zA-Z](?![a-zA-Z]|>)")
_EQUALS = re.compile(r"[\s)*_`$]*[=\u2248][\s(*_`$]*")
_COMMAS = re.compile(
    r"(?<![0-9.,])[0-9]+,[0-9]{1,2}(?![0-9]|[.,][0-9])|(?<![0-9.,])[1-9][0-9]{0,2}\.[0-9]{3}(?![0-9]|[.][0-9])"
)
_POINTS = re.compile(
    r"(?<![0-9.,])[0-9]+\.[0-9]{1,2}(?![0-9]|[.,][0-9])|(?<![0-9.,])[1-9][0-9]{0,2},[0-9]{3}(?![0-9]|,[0-9])"
)
_ABROAD = re.compile(  # words of German, Spanish, French, Italian, Portuguese, Russian
    r"\b(?:der|die|das|und|ist|el|los|las|una|por|les|des|est|sont|il|che|uma|os|\u0438|\u043d\u0430|\u0432)\b",
    re.IGNORECASE,
)
_ENGLISH = re.compile(r"\b(?:the|is|are|of|and|has|so)\b", re.IGNORECASE)
_TWINS = re.compile(
    r"[\s)*_`$,(]*(?:[=\u2248~]|"
    r"(?:i\.\s?e\.,?|or|which\s+is|that\s+is,?)?\s*(?:about|approximately|roughly|around)\b)[\s(*_`$]*",
    re.IGNORECASE,
)
_OPERAND = re.compile(
    r"(?:[0-9)\u03c0]\s*(?:\*\*|[+*/^\u00f7-]|[xX])|(?:\\pi|(?<![a-zA-Z])[a-zA-Z])\s*(?:\*\*|[*/^\u00f7]))\s*[(]*\Z"
)
_ARGUMENT = re.compile(r"(?:\\(?!f?box|text|math|left|bf)[a-z]+\s*\{|\u221a\s*\(?)\s*\Z")  # the 49 of "\sqrt{49}"
_LIST_LABEL = re.compile(r"^[ \t]*\(?([0-9]{1,3})[.):](?=\s)", re.MULTILINE)
_RESULT_WORDS = (
    r"is|are|be|was|were|gets?|gives?|makes?|made|equals?|has|have|had|leaves?|left|cost|costs|"
    r"earns?|needs?|pays?|spends?|takes?|totals?|total of|becomes?|obtain|find|yields?|about|approximately|"
    r"sold|bought|ate|won|read|saw|ran|drove|spent|paid|(?<![\\a-z])[a-z]{2,}ed|altogether|in total|in all|measures?|"
    r"comes? (?:out (?:as|to|at)|to)|lasts?|amounts? to|weighs?|results? in|adds? up to|sums? to|"
    r"evaluates? to|simplifies to|"
    r"so|thus|therefore|hence|leaving|giving|making|not\s+[\d.,]+(?:\s+[a-z]+)?,?\s+but|"
    r"est|sont|restent?|vaut|ist|sind|haben|betr\u00e4gt|ergibt|bleiben|kostet|tiene[ns]?|hay|quedan?|cuestan?|"
    r"\u0440\u0430\u0432\u0435?\u043d[\u043e\u0430]?|\u0431\u0443\u0434\u0435\u0442|"
    r"\u043e\u0441\u0442\u0430\u043b\u043e\u0441\u044c"
)
_BEHIND_RESULT = re.compile(
    rf"(?:=|\u2248|:|['\u2019]s\b|\b(?:{_RESULT_WORDS})\b|"
    r"\b(?:he|she|it|they|we|you|i)\s+[a-z]+(?=\s+(?:(?:a\s+total\s+of|exactly|only)\s+)?\Z)|"
    r"[\u662f\u4e3a\u70ba\u6709\u5f97\u5171\u5269\u306f])"
    r"(?:(?!\bnot\b)[^\d\n=]){0,40}?\Z",
    re.IGNORECASE,
)
_AMONG = re.compile(
    r"\b(?:(?:in|after|within|during|every|per)|(?:from|on|into|among|inside|through|of)\s+"
    r"(?:the|each|all|every|these|those|his|her|their|its|my|our))\s+(?:(?:the|each|all|these|those|original|first)\s+)?\Z",
    re.IGNORECASE,
)
_AIM = re.compile(r"\bmore\b[^.\n\d]{0,40}\bto\s+(?:have|reach|get|make|be|fill|complete)\b[^\d\n]{0,20}\Z", re.I)
_ASIDE = re.compile(  # "6 apples left, having started with 10"
    r"[\w*_)](?:\s*+,)?\s++(?:having|because|given\s+that|considering|which\s+(?:is|was|are|were))\b"
    r"(?:(?!\b(?:so|thus|therefore|hence)\b)[^.;!?\n])*\Z",
    re.IGNORECASE,
)
_REJECTED = re.compile(
    r"[\s)\]$*]*(?:\w+\s+)?(?:is|are|was|were|being)\s+(?:rejected|discarded|extraneous|invalid|(?:the\s+)?wrong|incorrect|"
    r"impossible|excluded|ruled out|not\s+(?:valid|possible|allowed|a\s+solution|in\b))",
    re.IGNORECASE,
)
_DENIED = re.compile(r"(?:\b(?:not|neither|nor)\b|n['\u2019]t\b)[^.;]{0,40}\Z", re.IGNORECASE)
_IN_TOTAL = re.compile(r"\s*(?:[^\W\d_]+\s+)?(?:in total|altogether|in all|overall)\b", re.IGNORECASE)
_REMAINS = re.compile(r"\s*(?:[^\W\d_]+\s+)?(?:remain(?:s|ed)?|(?:are|were|is|was|will be)\s+left)\b", re.IGNORECASE)
_MATHS = re.compile(r"\\[a-zA-Z]+|[\^*/+\u221a\u03c0<>{}]|(?<![^\W\d_])[a-zA-Z](?![^\W\d_])")
_MENTION = 48  # characters before a number that may say it is a result


class SeveralError(LearnableError):
    """The completion leaves open which of its numbers is the answer."""


def find_number(completion: str, rule: ExtractionRule, decimal: str | None = None) -> tuple[Quantity | None, str, str]:
    """Return the number that a rule finds, the name of the rule that fired, and why there is none.

    `completion` is without its thinking. See `NumberVerifier` for what `auto` does.
    """
    text = write_plainly(completion)
    decimal = decimal or ("," if _writes_decimal_commas(text) else ".")
    try:
        if rule.name == "auto":
            return _find_by_itself(text, completion, decimal)
        if rule.name == "first":
            quantity = _opening(text, decimal)
        elif rule.name == "last":
            quantity = _last(text, decimal)
        elif (part := narrow(completion, rule)) is None:
            return None, rule.name, missing(rule)
        else:
            quantity = read_statement(Statement(write_plainly(part.text), 0, part.form), decimal)
    except SeveralError:
        return None, rule.name, SEVERAL_NUMBERS
    return quantity, rule.name, "" if quantity else NO_NUMBER


def _writes_decimal_commas(text: str) -> bool:
    """Say whether a text that is not in English has "8,5" or "1.080", and nothing that speaks against it."""
    return bool(
        _COMMAS.search(text) and not _POINTS.search(text) and _ABROAD.search(text) and not _ENGLISH.search(text)
    )


def read_statement(stated: Statement, decimal: str = ".") -> Quantity | None:
    """Return the number that a statement gives, None where it gives none, or a formula. Raises `SeveralError`.

    >>> str(read_statement(Statement("3 + 4 = 7 apples", 0, "tag")).value), read_statement(Statement("3x", 0, "boxed"))
    ('7', None)
    """
    text = _join_groups(stated.text)
    if stated.closed:
        return _read_closed(text, decimal)
    if stated.form == "hashes" and not _OPENING.match(text):
        return None
    if _LIST_LABEL.match(text):
        return None
    for quantity in find_quantities(text, decimal):
        before = text[: quantity.start]
        if stated.form == "hashes" and re.search(r"[^\W\d_]{2,}", before):
            return None  # four hashes may also be a heading
        return _settled(text, quantity, decimal)
    return None


def parse_gold(answer: object, decimal: str = ".") -> Quantity | None:
    """Return the number that a reference answer is, None where it is none, or more than one.

    >>> str(parse_gold("#### 1,234").value), str(parse_gold(2.5).value), parse_gold("3 or 4")
    ('1234', '5/2', None)
    """
    if isinstance(answer, bool):
        return None
    if isinstance(answer, int):
        return Quantity(Fraction(answer), "", 0, 0)
    if isinstance(answer, float):
        return Quantity(Fraction(str(answer)), "", 0, 0)
    if not isinstance(answer, str):
        return None
    text = answer.rpartition("####")[2] if "####" in answer else answer
    try:
        return _read_closed(_join_groups(write_plainly(text)), decimal)
    except SeveralError:
        return None


def write_number(value: Fraction) -> str:
    """Write a number so that equal numbers are equal text.

    >>> write_number(Fraction(5, 2)), write_number(Fraction(1, 3)), write_number(Fraction(-4))
    ('2.5', '1/3', '-4')
    """
    under, twos, fives = value.denominator, 0, 0
    while under % 2 == 0:
        under, twos = under // 2, twos + 1
    while under % 5 == 0:
        under, fives = under // 5, fives + 1
    places = max(twos, fives)
    # With more places behind the point, a fraction is shorter.
    if under != 1 or not 0 < places <= 18:
        return str(value)
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}d}"
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def _find_by_itself(text: str, completion: str, decimal: str) -> tuple[Quantity | None, str, str]:
    if _SPACED.fullmatch(text.strip()):
        text = text.replace(" ", "")
    line, goes_on = split_first_line(text)
    if goes_on and (quantity := _alone(line, decimal)):
        return quantity, "first", ""
    statements = find_statements(completion)
    try:
        for stated in reversed(statements):
            if quantity := read_statement(Statement(write_plainly(stated.text), 0, stated.form), decimal):
                return quantity, stated.form, ""
            if stated.closed and stated.text:  # a formula, or words: what stands elsewhere was not meant
                return _find_spelled([stated], text)
        return _find_unstated(statements, text, decimal)
    except SeveralError:
        return None, "auto", SEVERAL_NUMBERS


def _find_unstated(statements: list[Statement], text: str, decimal: str) -> tuple[Quantity | None, str, str]:
    try:
        if quantity := _opening(text, decimal):
            return quantity, "first", ""
    except SeveralError:
        if "\n" in text.strip() or not (quantity := _find_result(text, decimal)):  # "5 apples and 3 pears are 8 in all"
            raise
        return quantity, "last", ""
    whole, text = text, without_check(text)
    is_cut = "\n" in whole[len(text) :].rstrip() and len(list(find_quantities(text, decimal))) > 1
    for part in map(_first_turn, [text, whole] if is_cut else [text]):  # the check may be all the calculation
        if not stops_short(part) and (quantity := _spelled_result(part, decimal) or _last_result(part, decimal)):
            return quantity, "last", ""
    text = _first_turn(text)
    # A completion of more words is no name with a number.
    if len(text.split()) <= 3 and not text.rstrip().endswith("?") and (quantity := _read_closed(text, decimal)):
        return quantity, "whole", ""  # "Room 12"
    return _find_spelled(statements, text)


def _first_turn(text: str) -> str:
    """Return the text before the next question, which a base model asks itself."""
    label = next((one for one in LABEL.finditer(text) if re.search(r"[0-9]", text[: one.start()])), None)
    return text[: label.start()] if label else text


def _find_spelled(statements: list[Statement], text: str) -> tuple[Quantity | None, str, str]:
    """Look for a number in words where no digits were found: stated, or alone."""
    value = read_spelled(statements[-1].text if statements else text)
    if value is None:
        return None, "auto", NO_NUMBER
    return Quantity(value, "", 0, 0), statements[-1].form if statements else "first", ""


def _read_closed(text: str, decimal: str) -> Quantity | None:
    """Return the only number of a part that holds the answer and nothing else."""
    tail = re.sub(r"\A\s*[-\u2212]\s+(?=[0-9$.])", "-", text.rpartition("=")[2])
    quantities = list(find_quantities(tail, decimal))
    if not quantities or _MATHS.search(_around(tail, quantities)):
        return None
    first = quantities[0]
    if not all(is_same(first, one) for one in quantities) or names_another(tail, first, decimal):
        raise SeveralError
    return first


def _around(text: str, quantities: list[Quantity]) -> str:
    """Return what a text has beside its numbers; the names of units and currencies are no formula."""
    for quantity in reversed(quantities):
        text = text[: quantity.start] + " " + text[quantity.end :]
    return re.sub(r"\b(?:a|per|A)\b|[*_`]+(?=\s|\Z)|(?<!\S)[*_`]+", " ", text)


def _join_groups(text: str) -> str:
    """Return the text without plain spaces between groups of three digits, where that is all the number there is."""
    return _SPACED.sub(lambda match: match[0].replace(" ", ""), text)


def _alone(line: str, decimal: str) -> Quantity | None:
    """Return the number that a line holds and nothing else."""
    quantities = list(find_quantities(line, decimal))
    if len(quantities) != 1 or re.search(r"\w", line[: quantities[0].start] + line[quantities[0].end :]):
        return None
    return quantities[0]


def _opening(text: str, decimal: str) -> Quantity | None:
    """Return the number that a text opens with, unless it labels a list or begins a formula."""
    start = _OPENING.match(text)
    begin = start.end() if start else 0
    quantity = next(find_quantities(text[: begin + 400], decimal), None)
    if quantity is None or quantity.start > begin:
        return None
    if _LIST_LABEL.match(text.lstrip()) and {"1", "2"} <= set(_LIST_LABEL.findall(text)):
        return None
    if _OPERATION.match(text, quantity.end) or _COMPARED.match(text, quantity.end):
        return None
    return _settled(text, quantity, decimal)


def _last(text: str, decimal: str) -> Quantity | None:
    last = None
    for last in find_quantities(text, decimal):  # noqa: B007 (only the last is wanted)
        pass
    if last is None or _OPERAND.search(text, max(0, last.start - 12), last.start):
        return None
    if _is_one_of_two(text, last, decimal):
        raise SeveralError
    return last


def _is_one_of_two(text: str, last: Quantity, decimal: str) -> bool:
    """Whether the last number is the second half of "7 or 8"."""
    near = text[max(0, last.start - _MENTION) : last.end]
    return any(names_another(near, one, decimal) for one in list(find_quantities(near, decimal))[-2:-1])


def _settled(text: str, quantity: Quantity, decimal: str) -> Quantity | None:
    """Return a number, or the result of the calculation that it begins. Raises `SeveralError` for a hedge."""
    if _OPERATION.match(text, quantity.end):
        line = text[quantity.end : quantity.end + 500].split("\n", 1)[0]
        result = re.split(r"[.;](?=\s|$)", line.rpartition("=")[2])[0] if "=" in line else ""
        return None if _REJECTED.search(result) else _read_closed(result, decimal)
    if _OPERAND.search(text, max(0, quantity.start - 12), quantity.start) or _ARGUMENT.search(
        text, max(0, quantity.start - 24), quantity.start
    ):
        return None
    if names_another(text, quantity, decimal):
        raise SeveralError
    return replace(quantity, twin=_find_twin(text, quantity, decimal))


def _find_twin(text: str, quantity: Quantity, decimal: str) -> Fraction | None:
    """Return the same value in the writing right beside it: of "1/6 = 0.1667" both may be meant."""
    start = max(0, quantity.start - _MENTION)
    near = text[start : quantity.end + _MENTION]
    numbers = list(find_quantities(near, decimal))
    for one, other in itertools.pairwise(numbers):
        twin = {one.start: other, other.start: one}.get(quantity.start - start)
        if twin and _TWINS.fullmatch(near, one.end, other.start) and is_same(one, other):
            return twin.value if twin.unit == quantity.unit else None
    return None


def _last_result(text: str, decimal: str) -> Quantity | None:
    """Return the last result in the last line with a number: by itself, or behind "=", "is" and the like."""
    blank = blank_dates(text)
    line = next((line for line in reversed(blank.split("\n")) if next(find_quantities(line, decimal), None)), "")
    if line.rstrip().endswith("?"):
        return None
    line = _LIST_LABEL.sub("", line)
    if bold := _only_bold(line, decimal):
        return bold
    opening = _opening(line, decimal)
    if opening and len(line[opening.end :].split()) <= 2:
        return opening
    return _find_result(line, decimal)


def _only_bold(line: str, decimal: str) -> Quantity | None:
    """Return the only bold number of a sentence, if a result: "It takes **8 days** to read the 240 pages."."""
    bold = list(re.finditer(r"\*\*([^*]+)\*\*", line))
    if len(bold) != 1 or "=" in line or _MATHS.search(bold[0][1]):
        return None
    start, end = bold[0].span(1)
    numbers = [one for one in find_quantities(line, decimal) if start <= one.start < end]
    if len(numbers) != 1 or _AMONG.search(line, 0, start):
        return None
    return numbers[0] if _is_result(line, numbers[0]) else None


def _spelled_result(text: str, decimal: str) -> Quantity | None:
    """Return the result that the last sentence has in words, where it has no digits: "So she has twelve pencils."."""
    sentence = re.split(r"(?<=[.!?])\s+|\n", text.strip())[-1]
    if len(sentence) > MAX_SENTENCE or re.search(r"[0-9?]|\btimes\s+(?:as|more|the)\b", sentence):
        return None
    return _find_result(write_numbers(sentence), decimal)


def _find_result(line: str, decimal: str) -> Quantity | None:
    """Return the last number in a line that its words, or "=", say is a result. Raises `SeveralError`."""
    numbers = list(find_quantities(line, decimal))
    results = [(place, one) for place, one in enumerate(numbers) if _is_result(line, one)]
    # "in the 5 boxes", "12 more to have 20"
    beside = {
        place
        for place, one in results
        if any(aside.search(line, max(0, one.start - MAX_SENTENCE), one.start) for aside in (_AMONG, _AIM, _ASIDE))
    }
    for place, one in sorted(results, key=lambda result: (result[0] in beside, -result[0])):
        apart = (
            place
            and not _IN_TOTAL.match(line, one.end)
            and not _EQUALS.fullmatch(line, numbers[place - 1].end, one.start)
        )
        if apart and _leads_on(line, numbers[place - 1], decimal):
            raise SeveralError
        if result := _settled(line, one, decimal):
            return result
    return None


def _is_result(line: str, one: Quantity) -> bool:
    """Whether the words around a number say that it is what comes out."""
    if _REJECTED.match(line, one.end):
        return False
    behind = _BEHIND_RESULT.search(line, max(0, one.start - _MENTION), one.start)
    return bool(behind or _IN_TOTAL.match(line, one.end) or _REMAINS.match(line, one.end))


def _leads_on(line: str, one: Quantity, decimal: str) -> bool:
    """Whether a number and the next one are two answers: "x = 5 or x = 6"."""
    before = line[: one.start]
    if _OPERAND.search(before[-12:]) or _DENIED.search(before) or _AMONG.search(before):
        return False
    return names_another(line, one, decimal)
