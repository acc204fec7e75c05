r"""Numbers as people write them, with their units, and what they are worth: exactly, as fractions.

Read are thousands separators (comma, thin space, apostrophe, underscore, and the Indian grouping), decimal points,
fractions, mixed numbers, "and a half", scientific notation, words such as "million", currencies before and behind,
percent and units.
The text is to be written plainly first (`writing`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from learnable.verifiers.answers.values.dates import find_dates
from learnable.verifiers.answers.values.units import convert, find_unit

MAX_DIGITS = 1000  # of one number: more are no answer that anybody reads
MAX_EXPONENT = 400

_WHOLE = (
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?![0-9])|"
    r"[0-9]{1,3}(?:[\u202f'_][0-9]{3})+(?![0-9])|[0-9]+)"
)
_COMMA_WHOLE = r"(?:[0-9]{1,3}(?:[.\u202f'][0-9]{3})+(?![0-9])|[0-9]+)"
_POINT = rf"(?:{_WHOLE}(?:\.[0-9]+)?|\.[0-9]+)"
_COMMA = rf"(?:{_COMMA_WHOLE}(?:,[0-9]+)?)"
_EXPONENT = r"(?:[eE][-+]?[0-9]{1,9}(?![\w.])|\s*[*xX]\s*10\s*(?:\^|\*\*)\s*[({]?[-+]?[0-9]{1,9}[)}]?)"
_WORDS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_SCALES = _WORDS | {"k": 3, "m": 6, "b": 9}
_PARTS = {"half": 2, "third": 3, "quarter": 4}
NO_SPACES = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # letters of Thai, Chinese, Japanese and Korean
_CURRENCIES = "$\u20ac\u00a3\u00a5\u20b9"


def _pattern(number: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![.\\^])(?<![^\W{NO_SPACES}])(?P<sign>(?:(?<![\w)\]])[-+]|\b(?:minus|negative)\s+)?)"
        rf"(?P<money>[{_CURRENCIES}]\s?)?(?P<inner>-)?"
        rf"(?:(?P<power>10\s*(?:\^|\*\*)\s*[({{]?(?P<ten>[-+]?[0-9]{{1,9}})[)}}]?)|"
        rf"(?:(?P<mixed>[0-9]+)(?:\s+|\s+and\s+|-)(?=[0-9]+\s?/\s?[0-9]))?"
        rf"(?P<number>(?>{number}))(?P<exponent>{_EXPONENT})?(?:\s?/\s?(?P<under>[0-9]+(?:\.[0-9]+)?)(?![\w/]))?)"
        rf"(?:\s+and\s+(?:a|one)\s+(?P<part>{'|'.join(_PARTS)})\b)?"
        rf"(?:\s+(?P<word>{'|'.join(_WORDS)})\b|(?P<letter>(?(money)[kmb]|(?-i:k)))(?![\w/^]))?",  # "1.5k", "$2M"
        re.IGNORECASE,
    )


_WITH_POINT, _WITH_COMMA = _pattern(_POINT), _pattern(rf"(?:{_COMMA})")
_BOTH_MARKS = re.compile(r"(?<![\w.,])[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+(?![\w,])")  # 1.234,56: the last is the mark
_UNIT = re.compile(
    r"(?P<space>\s*)(?P<unit>%|per\s?cent\b|\u00b0(?:\s?[CF]\b)?|[$\u20ac\u00a3\u00a5\u20b9\u00a2]|"
    r"(?:(?:square|cubic|sq\.?|cu\.?)\s+)?[a-zA-Z\u00b5]+(?:/[a-zA-Z]+)?(?:\^[23])?)"
)
_BETWEEN_PARTS = re.compile(r"\s*(?:,?\s*\band\b|,)?\s*")
_IN_WORDS = re.compile(r"\s*in\s+[a-z0-9]", re.IGNORECASE)  # "42 in total" are no inches
_CLOCK = re.compile(r"(?<![\w:])[0-9]+:[0-9]+(?::[0-9]+)?(?![\w:])")  # a ratio too


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number where a text has it.

    `value` is the number as it is written, `unit` the word or sign behind or before it that `units` knows, "" for none.
    `start` and `end` are places in the text; `end` is behind the unit. `least` is the unit of the last part of a number
    in parts, such as minutes in "5 hours and 30 minutes", whose value is 5.5 and whose unit is hours. `twin` is the
    same value as the text rounds it, or has it exactly.
    """

    value: Fraction
    unit: str
    start: int
    end: int
    least: str = ""
    twin: Fraction | None = None

    def matches(self, wanted: Fraction, unit: str = "", tolerance: Fraction = Fraction(0)) -> bool:
        """Say whether this is the wanted number: see `NumberVerifier` for what percent and units do."""
        return any(abs(value - wanted) <= tolerance for value in self.values(unit))

    def values(self, wanted: str = "") -> tuple[Fraction, ...]:
        """Return what the number may stand for, in the `wanted` unit; without one, a percentage is two numbers."""
        twin = replace(self, value=self.twin, twin=None).values(wanted) if self.twin is not None else ()
        return (*self._values(wanted), *twin)

    def _values(self, wanted: str) -> tuple[Fraction, ...]:
        percent = bool(self.unit) and _is_percent(self.unit)
        if not wanted:
            in_least = convert(self.value, self.unit, self.least) if self.least else None
            others = [self.value / 100] if percent else [] if in_least is None else [in_least]
            return (self.value, *others)
        if not self.unit:
            return (self.value, self.value * 100) if _is_percent(wanted) and abs(self.value) <= 1 else (self.value,)
        converted = convert(self.value, self.unit, wanted)
        return () if converted is None else (converted,)


def find_quantities(text: str, decimal: str = ".") -> Iterator[Quantity]:
    """Yield the numbers of a plainly written text, in order; dates, times of day and ratios are none.

    What goes on in a smaller unit is one number.

    >>> [str(one.value) for one in find_quantities("1,024 and 2 1/2, -3.5e2 or 50%, 5 hours and 30 minutes")]
    ['1024', '5/2', '-350', '50', '11/2']
    """
    whole: Quantity | None = None
    for part in _find_parts(text, decimal):
        if whole is not None and (sum_of_both := _add_part(text, whole, part)) is not None:
            whole = sum_of_both
        else:
            if whole is not None:
                yield whole
            whole = part
    if whole is not None:
        yield whole


def _add_part(text: str, whole: Quantity, part: Quantity) -> Quantity | None:
    """Return a number with the part of it in a smaller unit right behind it, None where that is another number."""
    if not (whole.unit and part.unit and _BETWEEN_PARTS.fullmatch(text, whole.end, part.start)):
        return None
    one = convert(Fraction(1), whole.least or whole.unit, part.unit)
    if one is None or one <= 1 or not 0 <= part.value < one:
        return None
    added = convert(part.value, part.unit, whole.unit) or Fraction(0)
    value = whole.value - added if whole.value < 0 else whole.value + added
    return Quantity(value, whole.unit, whole.start, part.end, part.unit)


def _find_parts(text: str, decimal: str) -> Iterator[Quantity]:
    text = blank_dates(text)
    pattern = _WITH_COMMA if decimal == "," else _WITH_POINT
    european = {match.start(): match for match in _BOTH_MARKS.finditer(text)} if decimal == "." else {}
    end = 0
    for match in pattern.finditer(text):
        if match.start() < end:
            continue
        if other := european.get(match.start("number")):
            match = _WITH_COMMA.match(text, match.start()) or match
            end = max(match.end(), other.end())
        if (quantity := _quantity(text, match, "," if other else decimal)) is not None:
            yield quantity


def blank_dates(text: str) -> str:
    """Return the text with blanks where it has dates and times of day, whose digits are no numbers."""
    if not re.search(r"[0-9][/.:-][0-9]|[0-9]{4}", text):
        return text
    spans = [(start, end) for _, start, end in find_dates(text)] + [one.span() for one in _CLOCK.finditer(text)]
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _is_percent(unit: str) -> bool:
    return (find_unit(unit) or ("",))[0] == "percent"


def _quantity(text: str, match: re.Match[str], decimal: str) -> Quantity | None:
    value = _value(match, decimal)
    if value is None:
        return None
    end, unit = match.end(), (match["money"] or "").strip()
    behind = _UNIT.match(text, end)
    if behind is not None and not _IN_WORDS.match(text, end):
        known = find_unit(behind["unit"].replace(" ", "") if behind["unit"].startswith("\u00b0") else behind["unit"])
        if known is not None or behind["unit"].replace(" ", "").casefold() == "percent":
            unit, end = _unit_name(unit, behind["unit"]), behind.end()
        elif not behind["space"]:
            return None  # a name or an ordinal begins right here: "3x", "42nd"
    return Quantity(value, unit, match.start(), end)


def _unit_name(money: str, unit: str) -> str:
    """Return the unit behind a number, unless the money before it says it: "$5 USD"."""
    unit = "percent" if unit.replace(" ", "").casefold() == "percent" else " ".join(unit.split())
    return money or (unit.replace(" ", "") if unit.startswith("\u00b0") else unit)


def _value(match: re.Match[str], decimal: str) -> Fraction | None:
    negative = (match["sign"] or "").strip().casefold() in ("-", "minus", "negative") or bool(match["inner"])
    if match["power"]:
        ten = int(match["ten"])
        value = Fraction(10) ** ten if abs(ten) <= MAX_EXPONENT else None
    else:
        value = _number(match, decimal)
    if value is None:
        return None
    if match["part"]:
        value += Fraction(1, _PARTS[match["part"].casefold()])
    value *= Fraction(10) ** _SCALES.get((match["word"] or match["letter"] or "").casefold(), 0)
    return -value if negative else value


def _number(match: re.Match[str], decimal: str) -> Fraction | None:
    text = match["number"]
    if len(text) > MAX_DIGITS:
        return None
    whole, _, part = text.partition(decimal)
    value = Fraction(re.sub(r"[^0-9]", "", whole) or "0") + (Fraction(int(part), 10 ** len(part)) if part else 0)
    if match["exponent"]:
        exponent = int(re.sub(r".*[eE^*]\s*[({]?", "", match["exponent"]).strip("(){} "))
        if abs(exponent) > MAX_EXPONENT:
            return None
        value *= Fraction(10) ** exponent
    if match["under"]:
        if not (under := Fraction(match["under"])):
            return None
        value /= under
    return value + int(match["mixed"]) if match["mixed"] and len(match["mixed"]) <= MAX_DIGITS else value
