"""Judges of short answers: a computed number, a choice, a count."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from learnable.data.records import Score, Spec
from learnable.verifiers.completions import without_thinking
from learnable.verifiers.specs import check_int, check_keys, check_text, fault

_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?"
_LEADING = re.compile(rf"\s*([-+\u2212]?{_DIGITS})")
_ANYWHERE = re.compile(rf"(?<![\w.])([-+\u2212]?{_DIGITS})")
_WRAPPING = "*_`$()[]{}<>\"'=:;,.!?"

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
_UNITS += "sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SPELLED = re.compile(
    rf"\b(?:({'|'.join(_TENS)})(?:[\s-]+({'|'.join(_UNITS[1:10])})\b)?|({'|'.join(_UNITS)})\b)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ArithmeticVerifier:
    """Is the first number after the prompt the answer?

    The completion is read as it stands right after the prompt: a number at its start, else its first
    word freed of wrapping such as `**7**`. Spec: `{"answer": int}`. Reward 1 only for the answer itself;
    `format` says whether a number stood where it belongs.
    """

    name: str = "arithmetic"
    version: str = "1"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless `answer` is a whole number."""
        check_keys(spec, ["answer"])
        check_int(spec, "answer")

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the number that counts as the answer, as `plain_number` writes it, or None."""
        answer = without_thinking(completion)
        leading = _LEADING.match(answer)
        if leading is None:
            first = (answer.split(maxsplit=1) or [""])[0].strip(_WRAPPING)
            leading = _LEADING.match(first)
        return leading and plain_number(leading[1])

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion."""
        return _judged(self.extract(completion, spec=spec), str(spec["answer"]), "no number found")


@dataclass(frozen=True, slots=True)
class CountingVerifier:
    """Is the first number in the completion, in digits or spelled out up to ninety-nine, the count?

    Spec: `{"answer": int}`.
    """

    name: str = "counting"
    version: str = "1"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless `answer` is a whole number."""
        check_keys(spec, ["answer"])
        check_int(spec, "answer")

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the first number, in digits as `plain_number` writes them, or None."""
        answer = without_thinking(completion)
        digits, spelled = _ANYWHERE.search(answer), _SPELLED.search(answer)
        if spelled is not None and (digits is None or spelled.start() < digits.start()):
            return str(_spelled_value(spelled))
        return digits and plain_number(digits[1])

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion."""
        return _judged(self.extract(completion, spec=spec), str(spec["answer"]), "no number found")


@dataclass(frozen=True, slots=True)
class ChoiceVerifier:
    """Is the choice that the completion names the right one?

    Spec: `{"answer": str, "choices": [str, ...]}`; without `choices` only the answer can be named. A choice
    counts as a whole word, case ignored. Where several are named, the first one counts if it opens the
    completion; otherwise the completion has not chosen and is wrong.
    """

    name: str = "choice"
    version: str = "1"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless `answer` is text and one of `choices`."""
        check_keys(spec, ["answer"], ["choices"])
        check_text(spec, "answer")
        choices = spec.get("choices", [spec["answer"]])
        if not isinstance(choices, list | tuple) or not all(isinstance(c, str) and c.strip() for c in choices):
            raise fault("choices", choices, "give a list of non-empty strings")
        if spec["answer"].casefold() not in [choice.casefold() for choice in choices]:
            raise fault("answer", spec["answer"], f"give one of the choices {list(choices)}")

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the choice that the completion makes, case folded, or None."""
        return self._read(completion, spec)[0]

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion."""
        found, missing = self._read(completion, spec)
        return _judged(found, spec["answer"].casefold(), missing)

    def _read(self, completion: str, spec: Spec) -> tuple[str | None, str]:
        """Return the choice, or None and why there is none."""
        answer = without_thinking(completion)
        pattern = _choice_pattern(tuple(spec.get("choices", [spec["answer"]])))
        named = list(pattern.finditer(answer))
        if not named:
            return None, "no choice found"
        several = len({match[0].casefold() for match in named}) > 1
        if several and re.search(r"\w", answer[: named[0].start()]):
            return None, "names several choices"
        return named[0][0].casefold(), ""


def plain_number(text: str) -> str:
    """Write a matched number so that equal numbers are equal text.

    Text, because a policy may print more digits than `int` is willing to read.

    >>> plain_number("+1,024"), plain_number("-007"), plain_number("-0.0"), plain_number("2.50")
    ('1024', '-7', '0', '2.5')
    """
    sign = "-" if text[0] in "-\u2212" else ""
    whole, _, fraction = text.lstrip("+-\u2212").replace(",", "").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    value = f"{whole}.{fraction}" if fraction else whole
    return value if value == "0" else sign + value


def _spelled_value(match: re.Match[str]) -> int:
    tens, unit, small = (part and part.lower() for part in match.groups())
    if small:
        return _UNITS.index(small)
    return 10 * (_TENS.index(tens) + 2) + (_UNITS.index(unit) if unit else 0)


@lru_cache(maxsize=1024)
def _choice_pattern(choices: tuple[str, ...]) -> re.Pattern[str]:
    # The longest first, so that "<=" is not read as "<" nor "New York" as "New".
    longest_first = sorted(choices, key=len, reverse=True)
    return re.compile("|".join(_whole_word(choice.strip()) for choice in longest_first), re.IGNORECASE)


def _whole_word(choice: str) -> str:
    before, after = "", ""
    if choice[0].isalnum():
        before = r"(?<!\w)(?<![0-9][.,])(?<!-)" if choice[0].isdigit() else r"(?<!\w)"
    if choice[-1].isalnum():
        after = r"(?!\w)(?![.,][0-9])" if choice[-1].isdigit() else r"(?!\w)"
    return before + re.escape(choice) + after


def _judged(found: str | None, answer: str, missing: str) -> Score:
    """Judge the answer that was found; `missing` says why there is none."""
    right = found == answer
    reason = "" if right else missing if found is None else f"answered {found[:40]}"
    return Score(float(right), right, {"correct": float(right), "format": float(found is not None)}, reason=reason)
