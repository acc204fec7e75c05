r"""Do two answers say the same? Their parts are compared one by one; only whole expressions go to math-verify.

An answer with several values is right only where the gold one has them. What math-verify would read in part is compared
as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import accumulate

from learnable.verifiers.answers.expressions.latex import write_formula
from learnable.verifiers.answers.expressions.measures import Measure, read_unit_letter, unit_factor
from learnable.verifiers.answers.expressions.parts import (
    Leaf,
    Ordered,
    Part,
    Relation,
    Several,
    Union,
    is_name,
    read_answer,
)
from learnable.verifiers.answers.expressions.whole import is_numeral

MAX_BRACKETS = 12  # brackets in brackets: deeper ones are compared as text

_LOW, _HIGH = (Leaf(bound, Measure(bound)) for bound in (r"-\infty", r"\infty"))
Same = Callable[[str, str], bool]

_ALIASES = {
    **dict.fromkeys((r"(-\infty,\infty)", "allrealnumber", "allreal", "realnumber"), r"\mathbb{R}"),
    "dne": "doesnotexist", "undefined": "doesnotexist", "emptyset": r"\emptyset", "nosolution": r"\emptyset",
    "allinteger": r"\mathbb{Z}", "integer": r"\mathbb{Z}", "No": "no", "NO": "no",
}  # fmt: skip
_NO_VALUE = r"[+*/^=<>,;:!)\]}'_(]|-\s|\\(?:cdot|cup|cap|in|le|ge|ne|to|approx)(?![a-zA-Z])"  # behind a product's "(A)"
_OPTION = re.compile(
    r"(?:\\text\{(?:\((?P<a>[A-J])\)[.:]?|(?P<b>[A-J])[).:])(?P<words>[^{}]*)\}|\((?P<c>[A-J])\)|(?P<d>[A-J])[).:](?=\s))"
    rf"\s*(?!{_NO_VALUE})(?P<value>.*)",
    re.DOTALL,
)
_ABOUT = re.compile(r"\A\s*\\approx(?![a-zA-Z])")
_BETWEEN_LETTERS = re.compile(r"\\(?:text|mathrm|textbf|mathbf)(?=\s*\{)|\band\b|\\&|[\s,;{}]")
_OPERATOR = re.compile(r"\A\\(?:sum|prod|i{0,3}nt|oint|lim)(?![a-zA-Z])|\\ldots")  # what is asked for, written out
_OF_NUMBERS = re.compile(r"\\(?:frac|sqrt|pi|cdot)(?![a-zA-Z])")
_ANOTHER_OPTION = re.compile(r"\([A-J]\)|(?<![a-zA-Z\\])[A-J][).]")


def equals(gold: str, given: str, same: Same) -> bool:
    """Say whether a given answer is the gold one; `same` compares two expressions that it reads whole."""
    gold, given = (_ABOUT.sub("", write_formula(answer)) for answer in (gold, given))
    if _are_equal(gold, given, same) or ((letters := _read_letters(gold)) and letters == _read_letters(given)):
        return True
    (wanted, gold_value), (letter, value) = _split_option(gold), _split_option(given)
    if wanted and letter:
        return wanted == letter and _are_equal(gold_value, value, same)
    if wanted:
        return _key(given) == wanted or _are_equal(gold_value, given, same)
    if re.fullmatch("[A-J]", _key(gold)):
        return _key(gold) == letter
    return bool(letter) and _are_equal(gold, value, same)


def _read_letters(text: str) -> str:
    r"""Return the letters of several options that are right together, "" where a text is anything else.

    >>> _read_letters(r"A, \text{C} and D"), _read_letters("AB=C")
    ('ACD', '')
    """
    letters = _BETWEEN_LETTERS.sub("", text)
    return letters if re.fullmatch("[A-J]{2,}", letters) else ""


def _are_equal(gold: str, given: str, same: Same) -> bool:
    if _key(gold) == _key(given):
        return True
    if _depth(gold) > MAX_BRACKETS or _depth(given) > MAX_BRACKETS:
        return False
    return _Comparison(same).lists(read_answer(gold), read_answer(given))


def _split_option(text: str) -> tuple[str, str]:
    r"""Return the letter and the value of an option of a test, as in "(C) 12"; no letter where it is none.

    >>> _split_option(r"\text{(C)} 12"), _split_option("B. 7"), _split_option("(A)(B)"), _split_option("(A) 1 (B) 2")
    (('C', '12'), ('B', '7'), ('', '(A)(B)'), ('', '(A) 1 (B) 2'))
    """
    option = _OPTION.fullmatch(text)
    if option is None:
        return "", text
    words = (option["words"] or "").strip()
    value = (rf"\text{{{words}}} " if words else "") + option["value"]
    letter = next(filter(None, option.group(*"abcd")))
    return ("", text) if not value or _ANOTHER_OPTION.search(value) else (letter, value)


def _depth(text: str) -> int:
    return max(accumulate((sign in "({[") - (sign in ")}]") for sign in text), default=0)


def is_readable(text: str) -> bool:
    r"""Say whether there is anything to compare: a letter, a digit or a sign with a meaning, and brackets that close.

    >>> is_readable(r"\{1, 2\}"), is_readable("$$"), is_readable(r"\frac{1}{2")
    (True, False, False)
    """
    text = write_formula(text)
    plain = text.replace("\\\\", "").replace(r"\{", "").replace(r"\}", "")
    depth = 0
    for sign in plain:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth < 0:
            return False
    return not depth and (text == r"\{\}" or bool(_key(text).strip(".,;:!?$&^_-+*/\\(){}[]|")))


def _key(text: str) -> str:
    """Return what is compared as text: without spaces, font commands and brackets that mean nothing."""
    text = re.sub(r"\\text\{([^{}]*)\}", r"\1", text)
    is_words = bool(re.search(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}", text))
    text = re.sub(r"\s+", "", text).strip(".,;:?")
    text = re.sub(r"(?<!mathbb)\{([0-9a-zA-Z])\}", r"\1", text)
    while text.startswith("(") and text.endswith(")") and re.fullmatch(r"[^(),]*", text[1:-1]):
        text = text[1:-1]
    text = text.casefold().removesuffix("s") if is_words else text
    return _ALIASES.get(text, text)


class _Comparison:
    def __init__(self, same: Same) -> None:
        self._same = same

    def lists(self, gold: Several, given: Several) -> bool:
        """Compare values in any order; several that are all equal are one."""
        ones, others = gold.items, given.items
        if len(ones) == 1 and len(others) == 1:
            return self.parts(ones[0], others[0])
        if len(ones) == 1 or len(others) == 1:
            return self._one_for_many(gold, given)
        if any(_are_places(_names(one)) and not _names(other) for one, other in ((ones, others), (others, ones))):
            return self._in_order(ones, others)
        return self._in_any_order(ones, others)

    def _one_for_many(self, gold: Several, given: Several) -> bool:
        one, many = (gold.items[0], given) if len(gold.items) == 1 else (given.items[0], gold)
        if isinstance(one, Ordered) and one.kind == "()" and not many.braced:
            return (
                self._in_order(one.items, many.items) if one is gold.items[0] else self._in_order(many.items, one.items)
            )
        if isinstance(one, Union):
            sets = tuple(_as_set(part) or part for part in many.items)
            return self.parts(one, Union(many.text, sets))
        if isinstance(one, Several):
            return self.lists(one, many)
        return all(self.parts(one, part) for part in many.items)

    def _in_order(self, gold: Sequence[Part], given: Sequence[Part]) -> bool:
        return len(gold) == len(given) and all(self.parts(one, other) for one, other in zip(gold, given, strict=True))

    def _in_any_order(self, gold: Sequence[Part], given: Sequence[Part]) -> bool:
        if len(gold) != len(given):
            return False
        left = list(given)
        for one in gold:
            twin = next((other for other in left if _key(one.text) == _key(other.text)), None)
            twin = twin or next((other for other in left if self.parts(one, other)), None)
            if twin is None:
                return False
            left.remove(twin)
        return True

    def parts(self, gold: Part, given: Part) -> bool:
        """Compare two values."""
        if _key(gold.text) == _key(given.text):
            return True
        if isinstance(gold, Relation) or isinstance(given, Relation):
            return self._relations(gold, given)
        if isinstance(gold, Several) and isinstance(given, Several):
            return self.lists(gold, given)
        if isinstance(gold, Leaf) and isinstance(given, Leaf):
            return self._leaves(gold, given)
        if isinstance(gold, Ordered) and isinstance(given, Ordered):
            return _alike(gold.kind, given.kind, len(gold.items)) and self._in_order(gold.items, given.items)
        if isinstance(gold, Union) and isinstance(given, Union):
            return self._in_any_order(gold.items, given.items)
        ratio, other = _as_fraction(gold), _as_fraction(given)
        return ratio is not None and other is not None and self._values(ratio, other)

    def _leaves(self, gold: Leaf, given: Leaf) -> bool:
        one, other = gold.measure, given.measure
        if one.base or other.base:
            bases = {base for base in (one.base, other.base) if base}
            return len(bases) == 1 and one.value.upper() == other.value.upper()
        if one.unit or other.unit:
            one, other = read_unit_letter(one), read_unit_letter(other)
        factor = unit_factor(one.unit, other.unit)
        if factor is None:
            return False
        if self._values(one.value, other.value if factor == "1" else rf"({other.value})\cdot {factor}"):
            return True
        if "%" in (one.unit, other.unit) and one.unit != other.unit:
            hundred = [rf"\frac{{{value.value}}}{{100}}" if value.unit else value.value for value in (one, other)]
            return self._values(*hundred)
        if "\u00b0" in (one.unit, other.unit) and "" in (one.unit, other.unit):
            turned = [
                rf"({value.value})\cdot \frac{{\pi}}{{180}}" if value.unit else value.value for value in (one, other)
            ]
            return self._values(*turned)
        return False

    def _values(self, gold: str, given: str) -> bool:
        return _key(gold) == _key(given) or self._same(gold, given)

    def _relations(self, gold: Part, given: Part) -> bool:
        if isinstance(gold, Relation) and isinstance(given, Relation):
            return self._chains(gold, given)
        if isinstance(gold, Ordered | Union) or isinstance(given, Ordered | Union):
            ones, others = _as_set(gold), _as_set(given)
            if ones and others and not (isinstance(ones, Relation) or isinstance(others, Relation)):
                return self.parts(ones, others)
        if isinstance(given, Relation):
            return self._ends_in(given, gold)
        assert isinstance(gold, Relation)
        return gold.signs == ("=",) and is_name(gold.items[0].text) and self.parts(gold.items[1], given)

    def _ends_in(self, given: Relation, gold: Part) -> bool:
        """Say whether a chain such as "x = 4/2 = 2" comes to the gold value: all its sides do that are no names."""
        if set(given.signs) - {"=", r"\approx"}:
            return False
        first, *sides = given.items
        if isinstance(sides[-1], Leaf) and sides[-1].measure.base:
            return self.parts(gold, sides[-1]) and self._come_to(sides[-1], given.items[:-1])
        if not is_name(first.text) and not _asks_for(first.text, gold.text) and not _OPERATOR.search(first.text):
            sides = [first, *sides]
        if given.signs[-1] == r"\approx":
            exact, rounded = given.items[-2:]
            if _is_other_number(exact.text, rounded.text):
                return False
            if self.parts(gold, rounded) or self.parts(gold, exact):
                others = sides[:-2] if set(given.signs[:-1]) == {"="} else []
                is_decimal = "." in exact.text  # which 1/3 may have been rounded to
                return all(self.parts(exact, one) or (is_decimal and not is_numeral(one.text)) for one in others)
            sides = sides[:-1] if len(sides) > 1 else sides
        return all(self.parts(gold, side) for side in sides)

    def _come_to(self, last: Leaf, sides: Sequence[Part]) -> bool:
        """Say whether the sides before a number in another base, which are in base ten, come to it where they can."""
        value = _in_base_ten(last.measure)
        tens = [side.text for side in sides if isinstance(side, Leaf) and re.fullmatch(r"[-+0-9\s]+", side.text)]
        return value is None or all(self._values(value, text) for text in tens)

    def _chains(self, gold: Relation, given: Relation) -> bool:
        if gold.signs == given.signs and self._in_order(gold.items, given.items):
            return True
        if set(gold.signs) != {"="} or set(given.signs) != {"="}:
            return self._inequalities(gold, given)
        if len(given.items) > 2 and gold.signs == ("=",) and self._values(gold.items[0].text, given.items[0].text):
            return all(self.parts(gold.items[1], side) for side in given.items[1:])
        if len(gold.items) != 2 or len(given.items) != 2:
            return False
        if self._in_order(gold.items, given.items[::-1]):
            return True
        heads = ["" if re.fullmatch("[a-z]{2,}", head := _head(side.items[0].text)) else head for side in (gold, given)]
        if all(heads):
            alike = heads[0] == heads[1] or {"y", "f(x)"} == set(heads)
            return alike and self.parts(gold.items[1], given.items[1])
        has_letters = all(re.search(r"(?<![\\a-zA-Z])[a-zA-Z]", chain.text) for chain in (gold, given))
        return has_letters and self._same(_written(gold), _written(given))

    def _inequalities(self, gold: Relation, given: Relation) -> bool:
        if gold.signs == given.signs == (r"\ne",):
            return self._in_order(gold.items, given.items[::-1])
        if gold.signs == given.signs and gold.signs[0] in ("<", r"\le") and len(gold.signs) == 1:
            return self._same(_written(gold), _written(given))
        ones, others = _as_set(gold), _as_set(given)
        if ones is None or others is None or _variable(gold) != _variable(given):
            return False
        return self.parts(ones, others)


def _is_other_number(exact: str, rounded: str) -> bool:
    r"""Say whether of two plain numbers the second one is not the first one, rounded or cut off.

    >>> [_is_other_number(*pair) for pair in (("12", "5"), ("12.67", "12.7"), ("1234", "1200"), (r"\\pi", "3"))]
    [True, False, False, False]
    """
    if not (is_numeral(exact) and is_numeral(rounded)):
        return False
    one, other = (Decimal(text.replace(" ", "")) for text in (exact, rounded))
    zeros = len(rounded) - len(rounded.rstrip("0")) if other else 0
    step = Decimal(10) ** (int(other.as_tuple().exponent) or zeros)
    return abs(one - other) * (2 if step >= 1 else 1) > step


def _in_base_ten(measure: Measure) -> str | None:
    """Return a whole number in another base as one in base ten, None for what is none."""
    try:
        return str(int(measure.value, int(measure.base)))
    except ValueError:
        return None


def _asks_for(left: str, value: str) -> bool:
    """Say whether a left side such as `m+n` is what a number is asked of, and not that of a curve: `x^2+y^2=1`."""
    is_curve = _key(value) in ("0", "1") and re.search(r"[xy]\s*\}?\^|x.*y|y.*x", left) is not None
    is_number = not re.search("[a-zA-Z]", _OF_NUMBERS.sub("", value))
    return re.search("[a-zA-Z]", _OF_NUMBERS.sub("", left)) is not None and is_number and not is_curve


def _written(chain: Relation) -> str:
    return f" {chain.signs[0]} ".join(side.text for side in chain.items)


def _head(text: str) -> str:
    return re.sub(r"\s+", "", text) if is_name(text) else ""


def _names(items: Sequence[Part]) -> list[str]:
    """Return the names that these values have, where all have one."""
    named = [
        part for part in items if isinstance(part, Relation) and part.signs == ("=",) and is_name(part.items[0].text)
    ]
    return [_head(part.items[0].text) for part in named] if len(named) == len(items) else []


def _are_places(names: list[str]) -> bool:
    """Say whether names tell values apart: "x" and "y" do, the roots "x_{1}" and "x_{2}" of one unknown do not."""
    return len({re.sub(r"_\{[0-9]+\}", "", name) for name in names}) > 1


def _alike(gold: str, given: str, size: int) -> bool:
    """Say whether brackets mean the same: a column, a row and a tuple of round brackets may stand for each other."""
    shapes = {"()", f"{size}x1", f"1x{size}"}
    if gold == given:
        return True
    return "()" in (gold, given) and {gold, given} <= shapes


def _as_fraction(part: Part) -> str | None:
    """Return a ratio of two as a fraction, and an expression without a unit as it is; None for anything else."""
    if isinstance(part, Ordered) and part.kind == ":" and all(isinstance(one, Leaf) for one in part.items):
        return rf"\frac{{{part.items[0].text}}}{{{part.items[1].text}}}"
    return part.text if isinstance(part, Leaf) and part.measure.value == part.text else None


def _variable(chain: Relation) -> str:
    return next((_head(side.text) for side in chain.items if is_name(side.text)), "")


def _as_set(part: Part) -> Part | None:
    r"""Return the interval of an inequality in one variable: `x<2`, `1\le x<2`, `x\ne 1`; any other part as it is."""
    if not isinstance(part, Relation):
        return part
    sides, signs = part.items, part.signs
    names = [is_name(side.text) for side in sides]
    if signs == (r"\ne",) and names[0]:
        return Union(part.text, (_interval(_LOW, sides[1], "()"), _interval(sides[1], _HIGH, "()")))
    if not set(signs) <= {"<", r"\le"} or sum(names) != 1:
        return None
    marks = ["[" if sign == r"\le" else "(" for sign in signs]
    close = ["]" if sign == r"\le" else ")" for sign in signs]
    if len(sides) == 2:
        return _interval(_LOW, sides[1], "(" + close[0]) if names[0] else _interval(sides[0], _HIGH, marks[0] + ")")
    return _interval(sides[0], sides[2], marks[0] + close[1]) if len(sides) == 3 and names[1] else None


def _interval(low: Part, high: Part, kind: str) -> Ordered:
    return Ordered(f"{kind[0]}{low.text},{high.text}{kind[1]}", (low, high), kind)
