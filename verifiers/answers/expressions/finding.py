r"""Where a completion that states no answer has its last expression."""

from __future__ import annotations

import re

SHORT = 120  # characters of a completion that may be an expression by itself

_MATHS = re.compile(
    r"(?<!\\)\$\$?(?!\$)([^$\n]{1,500}|[^$]{1,500}(?=\$\$))\$\$?|\\\((.{1,500}?)\\\)|\\\[(.{1,500}?)\\\]", re.DOTALL
)
_BETWEEN = re.compile(r"\s*(?:,|;|,?\s*(?:and|or))?\s*", re.IGNORECASE)
_NUMBERS = re.compile(
    r"(?<![\w.])[-(]*(?:\\?\$)?[0-9](?:[0-9.,/^*+()\s-]*[0-9)])?%?"
    r"(?:\s*(?:,|;|or|and)\s+[-(]*(?:\\?\$)?[0-9](?:[0-9.,/^*+()-]*[0-9)])?%?)*"
)
_WORDS = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}(?:\s+[a-zA-Z]{2,})+")


def find_last_expression(text: str) -> str | None:
    r"""Return the last expression of a text, with those before it that are listed with it; None without any.

    >>> find_last_expression("It is $2$, so $x = 3$ or $x = 4$."), find_last_expression("So it is 905. Or 7 or 8")
    ('x = 3 or x = 4', '7 or 8')
    """
    found = list(_MATHS.finditer(text))
    if found:
        first = len(found) - 1
        while first and _BETWEEN.fullmatch(text, found[first - 1].end(), found[first].start()):
            first -= 1
        held = [next(filter(None, match.groups()), "").strip() for match in found[first:]]
        between = [
            text[one.end() : other.start()] for one, other in zip(found[first:], found[first + 1 :], strict=False)
        ]
        return held[0] + "".join(
            (between + " " if between.strip() else ", ") + part for between, part in zip(between, held[1:], strict=True)
        )
    whole = text.strip().strip("*_").strip()
    if (
        whole
        and "\n" not in whole
        and len(whole) <= SHORT
        and not _WORDS.search(whole)
        and re.search(r"[0-9a-zA-Z]", whole)
    ):
        return whole
    numbers = [match[0] for match in _NUMBERS.finditer(text)]
    return numbers[-1].strip() if numbers else None
