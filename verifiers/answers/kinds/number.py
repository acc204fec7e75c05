"""Is the number that a completion settles on the answer, exactly or nearly, whatever its writing?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from learnable.data.records import Score, Spec
from learnable.verifiers.answers.kinds.number_reading import find_number, parse_gold, write_number
from learnable.verifiers.answers.rewards.shapes import JudgedAnswer, check_shape, give_score, is_finite
from learnable.verifiers.answers.rules import ExtractedAnswer, check_rule, rule_of
from learnable.verifiers.answers.values.quantities import Quantity
from learnable.verifiers.answers.values.units import find_unit
from learnable.verifiers.completions import take_turn
from learnable.verifiers.protocol import check_keys, fault

NUMBER_KEYS = ("tolerance", "relative", "unit", "unit_needed", "decimal", "extract", "reward")


@dataclass(frozen=True, slots=True)
class NumberVerifier:
    r"""Is the number that the completion settles on the answer?

    Spec: `{"answer": number or text}`, where text may be all that an answer may be: "3/4", "1,234", "50%", "12 km",
    "#### 72". Optionally:

    - `extract`: the rule by which the answer is found (see `rules`). `auto`, the default, takes the first that holds: a
      number alone on the first line where the next line asks the next question (`first`); the last statement that holds
      a number (`boxed`, `hashes`, `tag`, `words`; without any, `emphasis` at the very end); the number that the
      completion opens with (`first`); the last result in the last line with a number (`last`); a number in a name such
      as "Room 12" (`whole`).
    - `tolerance`, how far it may be off, or `relative`, by which share of the answer. Without them it must be exact.
    - `unit`, or a unit in the answer itself: numbers in other units of the same kind are converted, those of another
      kind are wrong; a number without a unit counts as in this one, unless `unit_needed`.
    - `decimal`: "," where a comma is the decimal mark, "." where a point is. Without it a point is, but for texts in
      other languages that write commas.
    - `reward`: a shape (see `rewards.shapes`).

    Where no unit is asked for, any is passed over, and 50% is 50 or 1/2. Where percent is asked for, 1/2 and 50 are
    50%. "5 hours and 30 minutes" is one number. Where there are no digits, words count: "two hundred", "a half".
    "7 or 8", "7 apples and 8 pears" and "5 to 7" are no answers (see `values.alternatives`); nor is a formula such as
    "3x". What cannot be read is `extraction_failed`.
    """

    name: str = "number"
    version: str = "5"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless the answer is a number and the options fit."""
        check_keys(spec, ["answer"], NUMBER_KEYS)
        if spec.get("decimal", ".") not in (".", ","):
            raise fault("decimal", spec["decimal"], 'give "." or ","')
        if _gold(spec["answer"], spec.get("decimal", ".")) is None:
            raise fault("answer", spec["answer"], 'give one number, as in 23, 2.5, "3/4", "1,234" or "12 km"')
        for key in ("tolerance", "relative"):
            if key in spec and (not is_finite(spec[key]) or spec[key] < 0):
                raise fault(key, spec[key], "give a number, 0 or more")
        if "unit" in spec and (not isinstance(spec["unit"], str) or find_unit(spec["unit"]) is None):
            raise fault("unit", spec["unit"], "give a unit of measurement, as in km, kg, min, $ or %")
        if not isinstance(spec.get("unit_needed", False), bool):
            raise fault("unit_needed", spec["unit_needed"], "give true or false")
        check_rule(spec)
        if rule_of(spec).name == "letter":
            raise fault("extract", spec["extract"], "a letter is no number; use the verifier choice")
        check_shape(spec, numbers=True)

    def read(self, completion: str, *, spec: Spec) -> ExtractedAnswer:
        """Return the number that counts, as `write_number` writes it, with the rule that found it."""
        return self._read(completion, spec)[0]

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the number that counts, equal numbers as equal text, or None."""
        return self.read(completion, spec=spec).answer

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion. Raises `SpecError` for an answer that `check_spec` has not passed."""
        reading, quantity = self._read(completion, spec)
        gold = _gold(spec["answer"], spec.get("decimal", "."))
        if gold is None:
            raise fault("answer", spec["answer"], "no number")
        unit = spec.get("unit") or gold.unit
        wanted = gold.value
        if gold.unit and unit != gold.unit:
            wanted = next(iter(gold.values(unit)), gold.value)
        values = _values(quantity, unit, spec) if quantity else ()
        allowed = max(_exact(spec.get("tolerance", 0)), abs(wanted) * _exact(spec.get("relative", 0)))
        passed = any(abs(value - wanted) <= allowed for value in values)
        nearest = min(values, key=lambda value: abs(value - wanted), default=None)
        why = f"answered {quantity.unit or 'no unit'}, not {unit}" if quantity and not values else ""
        judgement = JudgedAnswer(completion, prompt, reading, passed, float(passed), nearest, wanted, why)
        return give_score(judgement, spec)

    def _read(self, completion: str, spec: Spec) -> tuple[ExtractedAnswer, Quantity | None]:
        quantity, rule, why = find_number(take_turn(completion), rule_of(spec), spec.get("decimal"))
        if quantity is None:
            return ExtractedAnswer(None, rule, why), None
        unit = (
            "%"
            if quantity.unit in ("%", "percent")
            else f" {quantity.unit}"
            if quantity.unit and spec.get("unit")
            else ""
        )
        return ExtractedAnswer(write_number(quantity.value) + unit, rule), quantity


def _values(quantity: Quantity, unit: str, spec: Spec) -> tuple[Fraction, ...]:
    if spec.get("unit_needed") and not quantity.unit:
        return ()
    return quantity.values(unit)


def _exact(value: float) -> Fraction:
    return Fraction(str(value))


def _gold(answer: Any, decimal: str) -> Quantity | None:
    return _cached_gold(answer, type(answer).__name__, decimal) if isinstance(answer, int | float | str) else None


@lru_cache(maxsize=4096)
def _cached_gold(answer: Any, kind: str, decimal: str) -> Quantity | None:
    """Return a reference number; `kind` tells 1 from True, which are equal."""
    return parse_gold(answer, decimal)
