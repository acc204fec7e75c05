"""Units of measurement: their names, and how many of one make another."""

from __future__ import annotations

import re
from fractions import Fraction

_SCALES = {
    "length": "mm .001 millimeter millimetre|cm .01 centimeter centimetre|dm .1|m 1 meter metre|km 1000 kilometer "
    "kilometre|in .0254 inch inche|ft .3048 foot feet|yd .9144 yard|mi 1609.344 mile",
    "mass": "mg .000001 milligram|g .001 gram gramme|kg 1 kilogram kilo|t 1000 tonne|oz .028349523125 ounce|"
    "lb .45359237 pound",
    "time": "ms .001 millisecond|s 1 sec second|min 60 minute|h 3600 hr hour|d 86400 day|wk 604800 week",
    "volume": "ml .001 milliliter millilitre|cl .01|dl .1|l 1 liter litre|gal 3.785411784 gallon|qt .946352946 quart",
    "speed": "m/s 1|km/h 5/18 kph|mph .44704 mi/h",
    "dollars": "$ 1 usd dollar buck|\u00a2 .01 cent",
    "euros": "\u20ac 1 eur euro",
    "sterling": "\u00a3 1 gbp quid|pence .01",
    "yen": "\u00a5 1 jpy yen",
    "rupees": "\u20b9 1 inr rupee",
    "angle": "\u00b0 1 degree deg",
    "warmth C": "\u00b0c 1 celsius",
    "warmth F": "\u00b0f 1 fahrenheit",
    "power": "w 1 watt|kw 1000 kilowatt",
    "energy": "j 1 joule|kj 1000 kilojoule|cal 4.184 calorie|kcal 4184 kilocalorie",
    "data": "byte 1|kb 1000 kilobyte|mb 1000000 megabyte|gb 1000000000 gigabyte",
}
_PERCENT = ("%", "percent", "pct", "percentage", "percents")
_SQUARE = re.compile(r"(?:square|sq\.?)\s+(\S+)")
_CUBIC = re.compile(r"(?:cubic|cu\.?)\s+(\S+)")
_POWER = re.compile(r"(.+)\^([23])")


def _table() -> dict[str, tuple[str, Fraction]]:
    table: dict[str, tuple[str, Fraction]] = {name: ("percent", Fraction(1)) for name in _PERCENT}
    for dimension, units in _SCALES.items():
        for unit in units.split("|"):
            name, factor, *others = unit.split()
            for known in (name, *others):
                table[known] = (dimension, Fraction(factor))
    return table


_TABLE = _table()


def find_unit(name: str) -> tuple[str, Fraction] | None:
    """Return what a unit measures, and how many of that quantity's own unit it is; None for a word that is no unit.

    >>> find_unit("kilometres"), find_unit("cm^2"), find_unit("apples")
    (('length', Fraction(1000, 1)), ('length^2', Fraction(1, 10000)), None)
    """
    name = " ".join(name.casefold().split()).rstrip(".")
    for pattern, power in ((_SQUARE, 2), (_CUBIC, 3)):
        if match := pattern.fullmatch(name):
            return _raised(match[1], power)
    if match := _POWER.fullmatch(name):
        return _raised(match[1], int(match[2]))
    return _TABLE.get(name) or (_TABLE.get(name[:-1]) if name.endswith("s") and len(name) > 2 else None)


def _raised(name: str, power: int) -> tuple[str, Fraction] | None:
    unit = find_unit(name)
    return unit and (f"{unit[0]}^{power}", unit[1] ** power)


def convert(value: Fraction, unit: str, wanted: str) -> Fraction | None:
    """Return a value in another unit; None where the two do not measure the same.

    >>> convert(Fraction(3), "km", "m"), convert(Fraction(3), "km", "kg")
    (Fraction(3000, 1), None)
    """
    if unit.casefold() == wanted.casefold():
        return value
    one, other = find_unit(unit), find_unit(wanted)
    if one is None or other is None or one[0] != other[0]:
        return None
    return value * one[1] / other[1]
