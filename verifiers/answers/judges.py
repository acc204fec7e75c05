"""Judges of the built-in families' short answers: a computed number, a choice, a count."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from learnable.data.records import Score, Spec
from learnable.verifiers.answers.choices import read_choice
from learnable.verifiers.answers.extraction import fold_signs
from learnable.verifiers.answers.numbers import SeveralNumbersError, find_answer, find_at, find_count
from learnable.verifiers.answers.rewards.shapes import JudgedAnswer, check_shape, give_score
from learnable.verifiers.answers.rules import (
    NO_NUMBER,
    SEVERAL_NUMBERS,
    ExtractedAnswer,
    check_rule,
    missing,
    narrow,
    rule_of,
)
from learnable.verifiers.completions import take_turn
from learnable.verifiers.protocol import check_int, check_keys, check_text, fault

_BARE = re.compile(r"\s*(0|-?[1-9][0-9]{0,17})\s*")  # what the families' policies mostly print


class WholeNumberVerifier:
    """What the judges of one whole number share. Spec: `{"answer": int}`, optionally `extract` and `reward`."""

    __slots__ = ()

    @staticmethod
    def find(text: str) -> tuple[str, str] | None:
        """Return the number that counts, as `normalize_number` writes it, and the rule that found it, or None.

        Raises `SeveralNumbersError`.
        """
        raise NotImplementedError

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless `answer` is a whole number and the options fit."""
        check_keys(spec, ["answer"], ["extract", "reward"])
        check_int(spec, "answer")
        check_rule(spec)
        if rule_of(spec).name == "letter":
            raise fault("extract", spec["extract"], "a letter is no number; use the verifier choice")
        check_shape(spec, numbers=True)

    def read(self, completion: str, *, spec: Spec) -> ExtractedAnswer:
        """Return the number that counts, in digits as `normalize_number` writes them, with the rule that found it."""
        rule, text = rule_of(spec), _find_part(completion, spec)
        if text is None:
            return ExtractedAnswer(None, rule.name, missing(rule))
        try:
            if rule.name in ("first", "last"):
                number = find_at(text, rule.name)
                return ExtractedAnswer(number, rule.name, "" if number else NO_NUMBER)
            answer = self.find(text)
        except SeveralNumbersError:
            return ExtractedAnswer(None, rule.name, SEVERAL_NUMBERS)
        if answer is None:
            return ExtractedAnswer(None, rule.name, NO_NUMBER)
        return ExtractedAnswer(answer[0], answer[1] if rule.name == "auto" else rule.name)

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the number that counts as the answer, in digits as `normalize_number` writes them, or None."""
        return self.read(completion, spec=spec).answer

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion."""
        if len(spec) == 1 and (bare := _BARE.fullmatch(completion)):
            return _whole_score(bare[1], str(spec["answer"]))
        reading = self.read(completion, spec=spec)
        passed = reading.answer == str(spec["answer"])
        if "reward" not in spec:
            return _score(reading, passed)
        number = None if reading.answer is None or len(reading.answer) > 1000 else Fraction(reading.answer)
        wanted = Fraction(spec["answer"])
        return give_score(JudgedAnswer(completion, prompt, reading, passed, float(passed), number, wanted), spec)


@dataclass(frozen=True, slots=True)
class ArithmeticVerifier(WholeNumberVerifier):
    r"""Is the number that the completion settles on the answer?

    One number of a completion counts, so that naming many gains nothing. The rules of `auto`, in order:

    1. A number alone on the first line, where the second line asks the next question: a base model that goes on.
    2. The last explicit statement that holds a number: `\boxed{42}`, `#### 42`, `<answer>42</answer>`, "the answer is
       42", "Answer: 42" (see `extraction`); of a calculation in it, its result.
    3. A number at the very start, but for wrapping such as `**42**`, `= 42` or `$42`; not one that begins a
       calculation, as in "3 + 4 = 7", nor the label of a list.
    4. The last result in the last line that has a number: the number alone, or behind "=", "is", "makes" and the like.

    "7 or 8" is no answer in any of them. Spec: `{"answer": int}`, optionally `extract` (see `rules`) and `reward` (see
    `rewards.shapes`). Without a shape, reward 1 only for the answer itself; `format` says whether there was a number
    that counts. `number` also reads fractions, units and the like.
    """

    name: str = "arithmetic"
    version: str = "6"

    find = staticmethod(find_answer)


@dataclass(frozen=True, slots=True)
class CountingVerifier(WholeNumberVerifier):
    """Is the number that the completion settles on the count?

    Numbers are read in digits, or spelled out up to ninety-nine. The rules are those of `ArithmeticVerifier`, but for
    the last: without a statement, the first number anywhere counts, unless the completion counts up as in "(1) ...
    (2) ...": then the last result does. Spec: `{"answer": int}`, optionally `extract` and `reward`.
    """

    name: str = "counting"
    version: str = "6"

    find = staticmethod(find_count)


@dataclass(frozen=True, slots=True)
class ChoiceVerifier:
    """Is the choice that the completion settles on the right one?

    Spec: `{"answer": str, "choices": [str, ...]}`, and optionally `texts`, what each choice stands for; numbers are
    taken as their text. A choice counts as a whole word, case ignored; the article "a" and the pronoun "I" are no
    choices. The rules, in order:

    1. A choice alone on the first line, where the second line asks the next question.
    2. The last explicit statement that names a choice: those of `extraction`, "I choose B", "B is correct".
    3. A choice that opens the completion, then the last in bold or in brackets.
    4. The only choice that is named, or the last of several.

    Left out are choices ruled out ("not B", "B is wrong"), the labels of a list, and choices named in one breath ("A
    or B", "A B C D"): who names them all has not chosen. Without `choices` a mere mention never counts: the answer
    must be what is explicitly stated, or nearly all of the completion. A choice with its own words behind it ("B.
    Vitamin C") is that choice, and with `texts` its text alone is it too.

    Optionally `extract`, a rule (see `rules`) for the part in which the choice is looked for, and `reward`, a shape
    (see `rewards.shapes`).
    """

    name: str = "choice"
    version: str = "7"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless `answer` is text and one of `choices`, and the options fit."""
        check_keys(spec, ["answer"], ["choices", "texts", "extract", "reward"])
        if isinstance(spec["answer"], bool) or not isinstance(spec["answer"], int):
            check_text(spec, "answer")
        choices = spec.get("choices", [spec["answer"]])
        if not isinstance(choices, list | tuple) or not all(map(_is_choice, choices)):
            raise fault("choices", choices, "give a list of non-empty strings")
        if str(spec["answer"]).casefold() not in [str(choice).casefold() for choice in choices]:
            raise fault("answer", spec["answer"], f"give one of the choices {list(choices)}")
        texts = spec.get("texts", [""] * len(choices))
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
            raise fault("texts", texts, "give a list of texts, what each choice stands for")
        if len(texts) != len(choices):
            raise fault("texts", texts, "give a list of the texts of the choices, as many as there are choices")
        check_rule(spec)
        check_shape(spec)

    def read(self, completion: str, *, spec: Spec) -> ExtractedAnswer:
        """Return the choice that the completion makes, case folded, with the rule that found it."""
        rule, text = rule_of(spec), _find_part(completion, spec)
        if text is None:
            return ExtractedAnswer(None, rule.name, missing(rule))
        choices, texts = (
            tuple(map(str, spec[key])) if spec.get(key) is not None else None for key in ("choices", "texts")
        )
        choice, why = read_choice(text, str(spec["answer"]), choices, texts)
        return ExtractedAnswer(choice, rule.name, why if choice is None else "")

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the choice that the completion makes, case folded, or None."""
        return self.read(completion, spec=spec).answer

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion."""
        reading = self.read(completion, spec=spec)
        passed = reading.answer == fold_signs(str(spec["answer"])).casefold()
        if "reward" not in spec:
            return _score(reading, passed)
        return give_score(JudgedAnswer(completion, prompt, reading, passed, float(passed)), spec)


def _find_part(completion: str, spec: Spec) -> str | None:
    """Return the part of a completion in which its rule looks for the answer, None where there is none."""
    text, rule = take_turn(completion), rule_of(spec)
    if rule.name in ("auto", "first", "last"):
        return text
    part = narrow(text, rule)
    return None if part is None else part.text


def _is_choice(choice: object) -> bool:
    return (isinstance(choice, str) and bool(choice.strip())) or (
        isinstance(choice, int) and not isinstance(choice, bool)
    )


def _whole_score(said: str, answer: str) -> Score:
    """Return the score of a completion that is a number and nothing else: the shortest way of `_score`."""
    if said == answer:
        return Score(1.0, True, {"correct": 1.0, "format": 1.0})
    return Score(0.0, False, {"correct": 0.0, "format": 1.0}, "scored", f"answered {said}")


def _score(reading: ExtractedAnswer, passed: bool) -> Score:
    failure = None if passed else reading.failure
    reason = "" if passed else f"answered {(reading.answer or '')[:40]}"
    parts = {"correct": float(passed), "format": float(reading.answer is not None)}
    return Score(float(passed), passed, parts, reason=reason, failure=failure)
