"""Whether the words behind a number name another one that the answer might be just as well."""

from __future__ import annotations

import re
from fractions import Fraction

from learnable.verifiers.answers.extraction import OR_ABROAD
from learnable.verifiers.answers.values.quantities import Quantity, find_quantities
from learnable.verifiers.answers.values.spelled import SPELLED_NUMBER, open_spelled
from learnable.verifiers.answers.values.units import convert

MAX_LOOKED_AT = 160  # characters behind a number

_AND_ABROAD = "y|e|et|und|\u0438"
_STOP = (
    "or and to but though although because since as so if when where which that who for from by in on at of with per "
    "each every after before than then until is are was were be has have had not no yes left plus minus times more "
    "less out into otherwise alternatively unless vs versus through maybe perhaps possibly either also hence thus "
    "therefore while between rather instead aka alias along together"
).split()
_MARKS = r"[*_`\s)\]}$%\"'\u2019]*"
_WORD = rf"(?!(?:{'|'.join(_STOP)}|{OR_ABROAD}|{_AND_ABROAD})\b)[^\W\d_][\w'\u2019-]*"
_NOUN = rf"(?:(?:\s+|\s*-\s*){_WORD}){{0,3}}(?:\s+of(?:\s+the)?\s+{_WORD})?(?:\s*\(\s*{_WORD}(?:\s+{_WORD})?\s*\))?"
_HEDGE = r"(?:maybe|perhaps|possibly|probably|likely|also|even|either|else|about|around|approximately|roughly|nearly)"
_OPENS = r"(?:[\s*_`(\[{$\u2248~=]|\\?f?box(?:ed)?\{|\\\()*"
_NAMED = r"(?:[a-zA-Z]\s*=|it\s+(?:is|was)|it['\u2019]s|the\s+answer\s+is)"
_UNREADABLE = (
    r"(?:(?:none|nothing|no\s+(?:solutions?|answer)|infinit\w*|undefined|unknown|does\s+not\s+exist|DNE|"
    r"(?:more|less|fewer|higher|lower|greater|above|below)(?!\s+\w+ly\b))\b|[\u221e\u221a\u03c0\u2205]|"
    r"\\(?:infty|sqrt|pi|emptyset|varnothing|text\s*\{\s*(?:none|no\b|DNE|undefined)))"
)
_VALUE = rf"[-+]?[$\u20ac\u00a3\u00a5\u20b9]?\s?\.?[0-9]|(?:minus|negative)\b|{SPELLED_NUMBER}|{_UNREADABLE}"
_OR = (  # in the languages of MGSM too
    rf"(?:\b(?:or|{OR_ABROAD})\b|\u6216\u8005?|\u307e\u305f\u306f|\ub610\ub294|"
    r"\u0e2b\u0e23\u0e37\u0e2d|\u0985\u09a5\u09ac\u09be)"
)
_LINK = re.compile(
    rf"(?P<noun>{_NOUN}){_MARKS}(?:"
    rf"(?P<or>[,.;(\[]*\s*(?:and\s*/\s*)?{_OR}(?!\s+so\b)(?:\s+(?!because\b)[^\W\d_][\w'\u2019]*){{0,5}}?)|"
    rf"(?P<else>[,.;(]*\s*(?:(?:but|though|although|otherwise|alternatively|if\s+not|unless)\b"
    rf"(?:\s+[^\W\d_][\w'\u2019]*){{0,5}}?|(?:it|this|that)\s+(?:may|might|could)(?:\s+(?:also|well|even))?\s+be))|"
    rf"(?P<list>[,;/|&\u3001\u222a\u2228]+\s*(?:and\b)?|\s*(?:\b(?:and|{_AND_ABROAD}|plus|vs\.?|versus|"
    rf"as\s+well\s+as|along\s+with|together\s+with|but\s+also|aka|alias)(?!\w)|[\u548c\u4e0e\u8207\u3068]))(?:\s*(?:{_HEDGE}|{_NAMED}))*|"
    rf"(?P<aside>\s*\(\s*(?:{_HEDGE}\s+)*)|"
    rf"(?P<range>\s*(?:\bto\b|\bthrough\b|[-\u2010-\u2015\u00b1~]|\\pm(?![a-z]))\s*(?:{_HEDGE}\s+)?)|"
    rf"(?P<row>\s+))"
    rf"(?:\s*{_NAMED})?{_OPENS}(?={_VALUE})",
    re.IGNORECASE,
)
_SIGN = r"(?:[\u00b1\u2264\u2265]|\\(?:pm|leq?|geq?)(?![a-z]))\s*"  # of a bound, or of two values
_BOUND = re.compile(
    rf"(?:\b(?:between|(?:more|less|fewer|greater|smaller|larger|higher|lower)\s+than)\s*|{_SIGN})\Z", re.IGNORECASE
)
_BOUNDS = re.compile(rf"\s*(?!\\?pm|\u00b1){_SIGN}")
_SHARED_OUT = re.compile(  # "18 for boys, 19 for girls"
    rf"\s+(?P<by>for|in|on|at)\s+(?:the\s+)?{_WORD}(?:\s+{_WORD})?\s*(?:,|;|,?\s*\band\b)\s*(?P<other>[-+$]?[0-9.,]+)\s+(?:{_WORD}\s+)?"
    rf"(?P=by)\s+(?!each\b|every\b)",
    re.IGNORECASE,
)
_OTHER_CASE = re.compile(  # "18; if they share, it is 19"
    r"[^;\n]{0,40}(?:;|,\s*(?:and|but))\s*(?:if|when|otherwise)\b[^.;\n\d]{0,60}?(?:\b(?:is|then)|[,=])\s*(?:it\s+is\s+)?[*$`]*"
    r"(?P<other>[-+$]?[0-9][0-9.,]*+)(?!\s*[*+/^=x\u00d7-])",
    re.IGNORECASE,
)
_UNSURE = re.compile(r"\b(?:could|might|may|maybe|perhaps|possibly|otherwise|alternatively|if\s+not|unless)\b", re.I)
_CALCULATION = re.compile(
    r"[)\s]*(?:\*\*|[+*/^\u00f7\u00d7=]|[-\u2212](?=\s*[0-9(])|[xX](?=\s*[0-9]))\s*[(]*[-+$]?[0-9.]"
)
_APPOSITION = re.compile(
    r"\s*(?:[^\W\d_]+\s+)?(?:more|less|fewer|times|per|each|apiece|of\s+(?:them|which|these|the))\b|"
    r"\s*(?:of\s+(?:them|which|these)\s+)?(?:is|are|was|were|has|have|left|remain)\b",
    re.IGNORECASE,
)
_UNREAD = re.compile(_UNREADABLE, re.IGNORECASE)
_LABEL = re.compile(r"[.):](?=\s)")
_ENDS_ASIDE = re.compile(r"[\s*_`$%]*\)")
_ENDS_LINE = re.compile(r"[\s*_`.,$]*(?:\n|\Z)")


def names_another(text: str, quantity: Quantity, decimal: str = ".") -> bool:
    """Say whether a text goes on from a number to another value, in a list or as an alternative, or has a mere bound.

    The same value in another writing is none, and neither is a number that says something about the first.

    >>> texts = ("8 jars or 9", "8; 5:45", "8 (or 8.0)", "8, 6 per box")
    >>> [names_another(text, next(find_quantities(text))) for text in texts]
    [True, True, False, False]
    """
    if _BOUND.search(text, max(0, quantity.start - MAX_LOOKED_AT), quantity.start) or _BOUNDS.match(text, quantity.end):
        return True
    if shared := _SHARED_OUT.match(text, quantity.end) or _OTHER_CASE.match(text, quantity.end):
        return not any(is_same(quantity, other) for other in find_quantities(shared["other"], decimal))
    start = quantity.end
    while (link := _LINK.match(text, start, start + MAX_LOOKED_AT)) is not None:
        behind = text[link.end() : link.end() + MAX_LOOKED_AT]
        if _UNREAD.match(behind):
            return link["row"] is None and link["aside"] is None and _is_alternative(link, behind)
        other = _value_at(behind, link, decimal)
        if other is None:  # digits that are no number, as in a time of day, are another value
            return behind[:1].isdigit() and _is_alternative(link, "")
        if not _is_alternative(link, behind[other.end :]):
            return False
        if not is_same(quantity, other):
            return True
        start = link.end() + other.end
    return False


def _value_at(behind: str, link: re.Match[str], decimal: str) -> Quantity | None:
    """Return the number, in digits or words, that a text opens with."""
    number = next(find_quantities(behind, decimal), None)
    if number is not None and not number.start:
        return number
    spelled = open_spelled(behind)
    if spelled is None or (spelled[0] == 1 and link["list"] is not None):  # "18, one for each"
        return None
    return Quantity(spelled[0], "", 0, spelled[1])


def is_same(one: Quantity, other: Quantity) -> bool:
    """Say whether two numbers are one value: equal, in another unit, as a percentage, or rounded.

    >>> third, rounded, half = (Quantity(Fraction(text), "", 0, 0) for text in ("1/3", "0.333", "0.5"))
    >>> is_same(third, rounded), is_same(third, half)
    (True, False)
    """
    if one.unit and other.unit and not {"percent", "%"} & {one.unit, other.unit}:
        converted = convert(other.value, other.unit, one.unit)
        return converted is not None and _is_rounded(one.value, converted)
    return any(_is_rounded(a, b) for a in one.values() for b in other.values())


def _is_rounded(one: Fraction, other: Fraction) -> bool:
    """Say whether one is the other, to as many decimal places as it has: two or more, for 2.5 and 2.54 are two."""
    if one == other:
        return True
    least = min(filter(None, (_places(one), _places(other))), default=0)
    is_fraction = _places(one) is None or _places(other) is None
    return least >= (1 if is_fraction else 2) and abs(one - other) * 2 * 10**least <= 1


def _places(value: Fraction) -> int | None:
    """Return how many decimal places a number has, None for one that never ends."""
    return next((places for places in range(16) if (value * 10**places).denominator == 1), None)


def _is_alternative(link: re.Match[str], behind: str) -> bool:
    """Say whether a value that a link leads to is another one, where `behind` is what comes after it."""
    if link["or"] is not None:
        return _CALCULATION.match(behind) is None
    if link["else"] is not None:
        return _UNSURE.search(link["else"]) is not None
    if link["aside"] is not None:
        return _ENDS_ASIDE.match(behind) is not None
    if link["row"] is not None and (link["noun"] or _LABEL.match(behind)):
        return False
    if link["row"] is not None and "\n" in link["row"]:
        return _ENDS_LINE.match(behind) is not None
    if link["range"] is not None:
        return not link["noun"] or link["range"].strip().casefold() in ("to", "through")
    return not (_CALCULATION.match(behind) or _APPOSITION.match(behind))
