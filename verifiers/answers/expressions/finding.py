r"""Which expression is meant: of what is stated in words, and of a completion that states no answer."""

from __future__ import annotations

import re

_MATHS = re.compile(
    r"(?<!\\)\$\$?(?!\$)([^$\n]{1,500}|[^$]{1,500}(?=\$\$))\$\$?|\\\((.{1,500}?)\\\)|\\\[(.{1,500}?)\\\]", re.DOTALL
)
_BETWEEN = re.compile(r"\s*(?:,|;|,?\s*(?:and|or))\s*", re.IGNORECASE)
_NUMBER = r"[-(]*(?:\\?\$)?[0-9](?:[0-9.,/^*+()-]*[0-9)])?%?"
_NUMBERS = re.compile(
    rf"(?<![\w.^_{{}}\\/+*-])(?<![-+*/^] )(?:{_NUMBER}\s*(?:,|;|\bor\b|\band\b)\s*)*+{_NUMBER}"
    r"(?![\w^{}\\]|\s*[-+*/^]\s*[\w\\(]|[.,][0-9])"
)
_RESULT = re.compile(r"=\s*([^=\n]+)\Z")
_EMPHASIS = re.compile(r"(?<![\w)*])\*{1,2}(?=\S)|(?<=\S)\*{1,2}(?![\w(*])")
_VALUE = rf"(?:\$[^$\n]{{1,200}}\$|\\\(.{{1,200}}?\\\)|{_NUMBER}(?![\w^]))"
_STATED = re.compile(rf"(?P<values>{_VALUE}(?:{_BETWEEN.pattern}{_VALUE})*)(?P<rest>.*)", re.DOTALL)
_CONDITION = r"\b(?:where|when|whenever|with|given|provided|assuming|for\s+(?:all|any|every|each|some))\b"
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
    stated = _STATED.fullmatch(text)
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
    matches = list(_MATHS.finditer(text))
    if matches:
        first = len(matches) - 1
        while first and _BETWEEN.fullmatch(text, matches[first - 1].end(), matches[first].start()):
            first -= 1
        listed = [next(filter(None, matches[first].groups()), "").strip()]
        for before, match in zip(matches[first:], matches[first + 1 :], strict=False):
            between = text[before.end() : match.start()].strip()
            listed += [between, next(filter(None, match.groups()), "").strip()]
        return " ".join(listed)
    text = _EMPHASIS.sub(" ", text)
    line = next((one for one in reversed(text.splitlines()) if one.strip()), "").strip("_ .")
    if (result := _RESULT.search(line)) and _WORDS.search(line[: result.start()]) and _is_answer(result[1]):
        return result[1].strip()
    # A longer completion is no expression by itself.
    if "\n" not in text.strip() and len(line) <= 120 and _is_answer(line):
        return line
    numbers = [match[0] for match in _NUMBERS.finditer(text)]
    return numbers[-1].strip() if numbers else None


def _is_answer(text: str) -> bool:
    """Say whether a text is an expression with at most a unit, or a few words, rather than a sentence."""
    words = len(_WORDS.findall(text))
    if any(sign.isdigit() for sign in text):
        return not words or (words == 1 and not text.lstrip("$\\-+(.")[:1].isalpha())
    # More words are no answer in words.
    return any(sign.isalnum() for sign in text) and words <= 3
