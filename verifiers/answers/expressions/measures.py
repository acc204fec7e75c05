r"""A value, and the unit, percent sign, currency or base that stands at it, and how two of them are converted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from learnable.verifiers.answers.values.units import find_unit

_SUFFIX = re.compile(
    r"\s*((?:\\text\{[^{}]+\}|\\%|%|\^\{\\circ\}\s*(?:[CF](?![a-zA-Z]))?|\\\$)"
    r"(?>\s*\\text\{[^{}]+\}|\^\{-?[0-9]+\}|\s*/\s*(?:[a-zA-Z]{1,3}(?![a-zA-Z]))?|\s*\\cdot|\s*[a-zA-Z](?=\^\{-)|\s|\.)*+)\Z"
)
_PLAIN_SUFFIX = re.compile(r"(?<=[0-9}])(\s*)([a-zA-Z]{2,}(?:[ /][a-zA-Z]+)*(?:\^\{[0-9]\})?)\Z")
_LETTER_SUFFIX = re.compile(r"(?<=[0-9}])\s+([a-zA-Z])\Z")
_LETTERS = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]")
_IN_PARENTHESES = re.compile(r"(?<=[0-9}])\s+\(\s*([a-zA-Z][a-zA-Z ]{2,})\)\Z")
_MONEY = re.compile(r"\A(-?)\s*(?:\\\$|\u20ac|\u00a3|\\pounds|\\euro)\s*(?=[0-9(.\\-])")
_CURRENCY_WORD = re.compile(r"\A\\text\{(Rs\.?|USD|EUR|\u20ac|\u00a3)\}\s*(?=[0-9])")
_BASE = re.compile(r"\(?(-?[0-9A-Fa-f]+(?:\.[0-9A-Fa-f]+)?)\)?_\{(?:\\text\{)?([a-z]+|[0-9]{1,2})\}?\}")
_BASES = dict(
    zip("two three four five six seven eight nine ten eleven twelve sixteen".split(), [*range(2, 13), 16], strict=True)
)
_ANY = {"unit", "square unit", "sq unit", "cubic unit", "unit^2", "unit^3", "units"}
WORD = 3  # letters of a word behind a number that is no product
_RADIANS = {"rad", "radian"}


@dataclass(frozen=True, slots=True)
class Measure:
    """A value with its unit, or with its base; either is "" where it has none."""

    value: str
    unit: str = ""
    base: str = ""


def read_measure(text: str) -> Measure:
    r"""Return what an expression has of a unit or a base.

    >>> read_measure(r"15\text{ cm}^{2}"), read_measure("101_{2}")
    (Measure(value='15', unit='cm^2', base=''), Measure(value='101', unit='', base='2'))
    """
    if match := _BASE.fullmatch(text.replace(" ", "")):
        base = str(_BASES.get(match[2], match[2]))
        if base.isdigit():
            return Measure(match[1].upper(), base=base)
    if match := _MONEY.match(text) or _CURRENCY_WORD.match(text):
        money = match[1] if match.re is _CURRENCY_WORD else "$" if "$" in match[0] else match[0].strip(" -")
        sign = "-" if match[1] == "-" else ""
        return Measure(sign + read_measure(text[match.end() :]).value, _plain_unit(money))
    for pattern in (_SUFFIX, _IN_PARENTHESES):
        match = pattern.search(text)
        if match and (value := text[: match.start()].strip()) and re.search(r"[0-9a-zA-Z]", value):
            return Measure(value, _plain_unit(match[1]))
    match = _PLAIN_SUFFIX.search(text)
    if match and (value := text[: match.start()]) and not _LETTERS.search(value):
        unit = _plain_unit(match[2])
        if _find(unit) or unit in _RADIANS or (match[1] and len(match[2]) >= WORD):
            return Measure(value, unit)
    return Measure(text)


def read_unit_letter(measure: Measure) -> Measure:
    """Return a measure with the letter behind its number as the unit, where the letter is one: "3000 m"."""
    match = _LETTER_SUFFIX.search(measure.value)
    if measure.unit or match is None or _find(match[1]) is None or _LETTERS.search(measure.value[: match.start()]):
        return measure
    return Measure(measure.value[: match.start()], match[1])


def unit_factor(gold: str, given: str) -> str | None:
    r"""Return the formula by which a value of the given unit is one of the gold unit; None where they differ in kind.

    A missing unit is taken as the other one.

    >>> unit_factor("m", "km"), unit_factor("m", ""), unit_factor("m", "kg"), unit_factor("apple", "pear")
    ('1000', '1', None, None)
    """
    if not gold or not given or gold == given or gold in _ANY or given in _ANY:
        return "1"
    one, other = _find(gold), _find(given)
    if gold in _RADIANS and other and other[0] == "angle":
        return r"\frac{\pi}{180}"
    if given in _RADIANS and one and one[0] == "angle":
        return r"\frac{180}{\pi}"
    if one and other:
        factor = other[1] / one[1]
        return _written(factor) if one[0] == other[0] else None
    if one or other:
        return None
    few, many = sorted((set(gold.split()), set(given.split())), key=len)
    return "1" if few <= many else None


def _find(unit: str) -> tuple[str, Fraction] | None:
    return find_unit(unit) or find_unit(unit.replace(" ", ""))


def _written(factor: Fraction) -> str:
    return str(factor) if factor.denominator == 1 else rf"\frac{{{factor.numerator}}}{{{factor.denominator}}}"


def _plain_unit(text: str) -> str:
    text = re.sub(r"\\text\{([^{}]*)\}", r"\1 ", text).replace(r"\%", "%").replace(r"\$", "$").replace(r"\cdot", " ")
    text = text.replace(r"^{\circ}", "\u00b0")
    text = re.sub(r"\s*\^\s*\{(-?[0-9]+)\}", r"^\1", text)
    text = re.sub(r"\s*/\s*", "/", " ".join(text.replace("{", "").replace("}", "").split())).rstrip(". ")
    text = re.sub(r"\u00b0\s*([CF])", "\u00b0\\1", text)
    known = text.casefold()
    if known in ("percent", "per cent", "pct", "percentage"):
        return "%"
    if known in ("degree", "degrees", "deg"):
        return "\u00b0"
    words = [word if find_unit(word) or len(word) < 4 else word.removesuffix("s") for word in known.split()]
    return " ".join(words)
