r"""Which expression is meant: of what is stated in words, and of a completion that states no answer."""

from __future__ import annotations

import itertools
import re

from learnable.verifiers.answers.ends import stops_short, without_check
from learnable.verifiers.answers.values.units import find_unit

MAX_WORDS = 8  # of a completion that may end with a comma and be an answer

_MATHS = re.compile(
    r"(?<!\\)\$\$?(?!\$)([^$\n]{1,500}|[^$]{1,500}(?=\$\$))\$\$?|\\\((.{1,500}?)\\\)|\\\[(.{1,500}?)\\\]", re.DOTALL
)
_CONDITION = r"\b(?:where|when|whenever|with|given|provided|assuming|for\s+(?:all|any|every|each|some))\b"
_UNIT_POWER = re.compile(r"(?<=\$)\s*([a-z]{1,6})\s*\$\s*\^\s*\{?([23])\}?\s*\$")  # "$256$ cm$^2$"
_BETWEEN = re.compile(r"\s*(?:,|;|,?\s*(?:and|or))\s*", re.IGNORECASE)
_NUMBER = r"[-(]*(?:\\?\$)?[0-9](?:[0-9.,/^*+()-]*[0-9)])?%?"
_NUMBERS = re.compile(
    rf"(?<![\w.^_{{}}\\/+*-])(?<![-+*/^] )(?:{_NUMBER}\s*(?:,|;|\bor\b|\band\b)\s*)*+{_NUMBER}"
    r"(?![\w^{}\\]|\s*[-+*/^]\s*[\w\\(]|[.,][0-9])"
)
_RESULT = re.compile(r"=\s*([^=\n]+)\Z")
_BEHIND = re.compile(  # "The angle $AOB$ measures 90 degrees."
    rf"(?P<clause>[^.\n$;]{{0,60}}?)\b(?:is|are|was|were|equals?|measures?)\s+(?:exactly\s+)?"
    rf"(?P<value>{_NUMBER}(?:\s+[a-z]+(?:\s+[a-z]+)?)?)[\s.!*]*\Z"
)
_UNIT_BEHIND = re.compile(r"\s*([a-zA-Z]{2,}(?:\^[23])?)(?![\w])")
_NO_UNITS = {"in", "min", "sec", "second", "seconds"}  # also words of another meaning
_ROUNDED = re.compile(
    r"[\s,(]*(?:(?:i\.\s?e\.,?|that\s+is,?|or|which\s+is)\s*)?(?:about|approximately|roughly|around|nearly|\u2248)\s*",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    rf"(?<![\w$])(?:[a-z]\s*=\s*{_NUMBER})(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)[a-z]\s*=\s*{_NUMBER})+(?=[\s.!*]*\Z)"
)
_OF_CONDITION = re.compile(rf"[\s,;(]*{_CONDITION}\s*(?:[a-z]+\s+){{0,3}}", re.IGNORECASE)
_ROWS = re.compile(
    r"\\begin\{(?P<name>(?:align|gather|equation|multline)(?:ed)?\*?)\}(.*?)\\end\{(?P=name)\}", re.DOTALL
)
_NO_SOLUTION = re.compile(
    r"\b(?:has|have|is|are)\s+no\s+(?:(?:real|integer|such|possible)\s+)?(?:solutions?|values?)\b[^.\n\d$]{0,40}[\s.!*]*\Z",
    re.IGNORECASE,
)
_OF_ANOTHER = re.compile(  # "$x=7$, as the other factor has no solutions"
    r"(?:\b(?:other|factor|latter)|[\d$)],?\s+(?:since|as|because))\b[^.,\n]{0,80}\Z",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"(?<![\w)*])\*{1,2}(?=\S)|(?<=\S)\*{1,2}(?![\w(*])")
_VALUE = rf"(?:\$[^$\n]{{1,200}}\$|\\\(.{{1,200}}?\\\)|{_NUMBER}(?![\w^]))"
_STATED = re.compile(rf"(?P<values>{_VALUE}(?:{_BETWEEN.pattern}{_VALUE})*)(?P<rest>.*)", re.DOTALL)
_SAYS = re.compile(r"\A[^$\\\d]*\b(?:is|are|equals?)\s+(?=\$|\\\()")  # "The product is $84$"
_REASON = re.compile(
    rf"[\s,;(]*(?:(?:{_CONDITION}|(?:since|because|as(?!\s+well)|by|which|i\.?\s?e|that\s+is|namely|not|achieved|attained|obtained|"
    r"reached|and\s+(?:the\s+)?equality)\b).*|(?:as\s+desired|so|thus|hence|therefore|only|indeed|exactly)\b[^$\d]*)",
    re.IGNORECASE | re.DOTALL,
)
_OPEN = re.compile(
    rf"\b(?:or|maybe|perhaps|possibly|alternatively|otherwise|may|might|could|either|also|but|if)\b|{_CONDITION}.*{_CONDITION}",
    re.IGNORECASE | re.DOTALL,
)
_WORDS = re.compile(r"(?<![\\a-zA-Z])(?!(?:and|or|sqrt|sin|cos|tan|log|ln|exp|pi)\b)[a-zA-Z]{2,}(?![a-zA-Z])")


def without_reason(text: str) -> str:
    r"""Return what is stated in words without the reason behind it; all of it where that leaves more open.

    >>> without_reason("$x+1$, which holds for all $x$."), without_reason("$5$ when $x>0$, $6$ when $x<0$")
    ('$x+1$', '$5$ when $x>0$, $6$ when $x<0$')
    """
    stated = _STATED.fullmatch(_SAYS.sub("", text))
    if stated is None or not _REASON.fullmatch(stated["rest"]) or _OPEN.search(stated["rest"]):
        return text
    return stated["values"]


def find_last_expression(text: str) -> str | None:
    r"""Return the last expression of a text, with those before it that are listed with it; None without any.

    >>> find_last_expression("It is $2$, so $x = 3$ or $x = 4$."), find_last_expression("So it is 905. Or 7 or 8")
    ('x = 3 or x = 4', '7 or 8')
    >>> find_last_expression("Thus z = 4-i."), find_last_expression("We are left with 3x + 4")
    ('4-i', None)
    """
    if stops_short(text) and len(text.split()) > MAX_WORDS:
        return None
    text = without_check(text)
    if (none := _NO_SOLUTION.search(text)) and not _OF_ANOTHER.search(text, 0, none.start()):
        return r"\text{no solution}"
    text = _UNIT_POWER.sub(r" \1^\2", text)
    text = _ROWS.sub(lambda rows: f" $${_last_chain(rows[2])}$$ ", text)
    matches = list(_MATHS.finditer(text))
    return _find_last_formula(text, matches) if matches else _find_last_plain(text)


def _find_last_formula(text: str, matches: list[re.Match[str]]) -> str:
    """Return the last of the formulas that LaTeX marks, or the number that it is said to be."""
    is_number = re.fullmatch(_NUMBER, _inside(matches[-1])) is not None
    behind = _BEHIND.fullmatch(text, matches[-1].end())
    if behind and not (is_number and "," in behind["clause"]):  # "The sum is $52$, and the first is 40"
        return behind["value"]
    while (
        len(matches) > 1
        and not is_number  # "$n=2$ with remainder $3$"
        and _OF_CONDITION.fullmatch(text, matches[-2].end(), matches[-1].start())
    ):
        matches = matches[:-1]  # "$n+1$ for all $n$"
    first = len(matches) - 1
    while first and _BETWEEN.fullmatch(text, matches[first - 1].end(), matches[first].start()):
        first -= 1
    listed = [_inside(matches[first])]
    for before, match in itertools.pairwise(matches[first:]):
        listed += [text[before.end() : match.start()].strip(), _inside(match)]
    if first and len(listed) == 1 and _ROUNDED.fullmatch(text, matches[first - 1].end(), matches[first].start()):
        return rf"{_inside(matches[first - 1])} \approx {listed[0]}"
    return " ".join(listed) + _find_unit_behind(text, matches[-1].end(), listed[-1])


def _last_chain(rows: str) -> str:
    r"""Return the last row of a display with those before it that it goes on from.

    >>> _last_chain(r"a &= 1 \\ b &= 2 + 3 \\ &= 5")
    'b = 2 + 3 = 5'
    """
    chain: list[str] = []
    for row in filter(str.strip, re.split(r"\\\\(?:\[[^\]]*\])?", rows.replace("&", ""))):
        chain = [*chain, row] if chain and re.match(r"\s*(?:=|\\(?:approx|le|ge|equiv)\b)", row) else [row]
    return " ".join(" ".join(chain).split())


def _inside(match: re.Match[str]) -> str:
    return next(filter(None, match.groups()), "").strip()


def _find_last_plain(text: str) -> str | None:
    """Return the last expression of a text in which LaTeX marks none."""
    text = _EMPHASIS.sub(" ", text)
    line = next((one for one in reversed(text.splitlines()) if one.strip()), "").strip("_ .")
    if assigned := _ASSIGNED.search(line):
        return assigned[0]
    if (result := _RESULT.search(line)) and _WORDS.search(line[: result.start()]) and _is_answer(result[1]):
        return result[1].strip()
    # A longer completion is no expression by itself.
    if "\n" not in text.strip() and len(line) <= 120 and _is_answer(line):
        return line
    numbers = list(_NUMBERS.finditer(text))
    return numbers[-1][0].strip() + _find_unit_behind(text, numbers[-1].end(), numbers[-1][0]) if numbers else None


def _find_unit_behind(text: str, end: int, value: str) -> str:
    """Return the unit of measurement that stands behind a number, as LaTeX; "" for any other word."""
    unit = _UNIT_BEHIND.match(text, end)
    if unit is None or not value[-1:].isdigit() or unit[1].casefold() in _NO_UNITS or find_unit(unit[1]) is None:
        return ""
    return rf"\text{{ {unit[1]}}}"


def _is_answer(text: str) -> bool:
    """Say whether a text is an expression with at most a unit, or a few words, rather than a sentence."""
    text = re.sub(r"\b(?:square|cubic)\s+(?=[a-z])", "", text)
    words = len(_WORDS.findall(text))
    if any(sign.isdigit() for sign in text):
        return not words or (words == 1 and not text.lstrip("$\\-+(.")[:1].isalpha())
    # More words are no answer in words.
    return any(sign.isalnum() for sign in text) and words <= 3
