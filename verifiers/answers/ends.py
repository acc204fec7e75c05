"""What stands at a completion's end and is no answer: a check of the result, a remark, words that were cut off."""

from __future__ import annotations

import re

_CHECKS = (
    r"(?:(?:(?:sanity|double)[ -])?(?:check(?:ing)?|verification|verify|verifying)[ \t]*[*_]*[ \t]*:|"
    r"(?:just[ \t]+to|to|we[ \t]+can|let(?:['\u2019]s|[ \t]+us|[ \t]+me))[ \t]+(?:double[ -]?)?(?:check|verify)\b)"
)
_FAILS = r"\b(?:not|no|wrong|incorrect|wait|oops|mistake|error|so|thus|therefore|hence|answer)\b|[\u2260]|\\ne"
_CHECK = re.compile(rf"\n[ \t#>*_]*{_CHECKS}(?!.*(?:{_FAILS})).*\Z", re.IGNORECASE | re.DOTALL)
_EXPLAINED = re.compile(
    r"\n[ \t#*_]*(?:breakdown|explanation|details|reasoning|justification|here['\u2019]s\s+(?:how|why|the\s+breakdown))"
    r"[ \t]*[*_]*:?[*_]*[ \t]*\n(?!.*(?:so|thus|therefore|hence)\b).*\Z",
    re.IGNORECASE | re.DOTALL,
)
MAX_BEFORE = 2  # paragraphs of an answer that come before its explanation
_REMARK = re.compile(
    r"(?<!\s)\s*\((?:including|excluding|counting|since|because|as|note|rounded|not|where|which|for|from|i\.\s?e\.|that\s+is)\b"
    r"[^()\n]{0,160}\)[\s.!*_]*\Z",
    re.IGNORECASE,
)
_CUT_OFF = re.compile(
    r"(?:[,:;=+/(\u2013-]|\b(?:and|or|the|an?|of|to|is|are|we|by|with|in|which|that|then))\s*\Z", re.I
)
_GIVES_UP = re.compile(
    r"(?:\b(?:can(?:not|['\u2019]t|\s+not)|unable\s+to|impossible\s+to|not\s+able\s+to)\s+(?:be\s+)?"
    r"(?:determin|answer|solv|say|tell|find|found|help|comput|calculat|assist|provide|know|see)|"
    r"\b(?:don['\u2019]t|do\s+not)\s+know\b|\b(?:not\s+enough|insufficient)\s+information\b)"
    r"(?:(?!\b(?:so|thus|therefore|hence|but)\b|:)[^\n])*\Z",
    re.IGNORECASE,
)


def without_check(text: str) -> str:
    r"""Return the text up to a check of its result, and without a remark in parentheses behind it.

    >>> without_check("7 x 8 = 56\nCheck: 56 / 8 = 7"), without_check("It has 24 divisors (including 1).")
    ('7 x 8 = 56', 'It has 24 divisors')
    """
    text = text.rstrip()
    if (check := _CHECK.search(text)) and re.search(r"\w", text[: check.start()]):
        text = text[: check.start()].rstrip()
    explained = _EXPLAINED.search(text)
    if explained and explained.start() and text.count("\n\n", 0, explained.start()) < MAX_BEFORE:
        text = text[: explained.start()].rstrip()
    remark = _REMARK.search(text)
    return text[: remark.start()] if remark and re.search(r"\w", text[: remark.start()]) else text


def stops_short(text: str) -> bool:
    """Say whether a text was cut off within a sentence, or gives up in its last line.

    >>> [stops_short(text) for text in ("Next, we add 5 and", "I can't say how many of the 17.", "So it is 17")]
    [True, True, False]
    """
    return bool(_CUT_OFF.search(text) or _GIVES_UP.search(text))
