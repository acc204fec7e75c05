"""Judges of short answers: a computed number, a choice, a count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from learnable.data.records import Score, Spec
from learnable.verifiers.answers.choices import read_choice
from learnable.verifiers.answers.numbers import SeveralNumbersError, read_answer, read_count
from learnable.verifiers.completions import strip_thinking
from learnable.verifiers.protocol import check_int, check_keys, check_text, fault


@dataclass(frozen=True, slots=True)
class ArithmeticVerifier:
    r"""Is the number that the completion settles on the answer?

    One number of a completion counts, so that naming many gains nothing. The rules, in order:

    1. A number alone on the first line, where the second line asks the next question: a base model that goes on.
    2. The last explicit statement that holds a number: `\boxed{42}`, `#### 42`, `<answer>42</answer>`, "the answer is 42",
       "Answer: 42" (see `extraction`); of a calculation in it, its result.
    3. A number at the very start, but for wrapping such as `**42**`, `= 42` or `$42`; not one that begins a calculation, as
       in "3 + 4 = 7", nor the label of a list.
    4. The last result in the last line that has a number: the number alone, or behind "=", "is", "makes" and the like.

    "7 or 8" is no answer in any of them. Spec: `{"answer": int}`. Reward 1 only for the answer itself; `format` says
    whether there was a number that counts.
    """

    name: str = "arithmetic"
    version: str = "2"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless `answer` is a whole number."""
        check_keys(spec, ["answer"])
        check_int(spec, "answer")

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the number that counts as the answer, as `plain_number` writes it, or None."""
        return _number(read_answer, completion)[0]

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion."""
        return _judged(*_number(read_answer, completion), str(spec["answer"]))


@dataclass(frozen=True, slots=True)
class CountingVerifier:
    """Is the number that the completion settles on the count?

    Numbers are read in digits, or spelled out up to ninety-nine. The rules are those of `ArithmeticVerifier`, but for the
    last: without a statement, the first number anywhere counts, unless the completion counts up as in "(1) ... (2) ...":
    then the last result does. Spec: `{"answer": int}`.
    """

    name: str = "counting"
    version: str = "2"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless `answer` is a whole number."""
        check_keys(spec, ["answer"])
        check_int(spec, "answer")

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the number that counts as the answer, in digits as `plain_number` writes them, or None."""
        return _number(read_count, completion)[0]

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion."""
        return _judged(*_number(read_count, completion), str(spec["answer"]))


@dataclass(frozen=True, slots=True)
class ChoiceVerifier:
    """Is the choice that the completion settles on the right one?

    Spec: `{"answer": str, "choices": [str, ...]}`; numbers are taken as their text. A choice counts as a whole word, case
    ignored; the article "a" and the pronoun "I" are no choices. The rules, in order:

    1. A choice alone on the first line, where the second line asks the next question.
    2. The last explicit statement that names a choice: those of `extraction`, "I choose B", "B is correct".
    3. A choice that opens the completion, then the last in bold or in brackets.
    4. The only choice that is named, or the last of several.

    Left out are choices ruled out ("not B", "B is wrong"), the labels of a list, and choices named in one breath ("A or B",
    "A B C D"): who names them all has not chosen. Without `choices` a mere mention never counts: the answer must be what is
    explicitly stated, or nearly all of the completion.
    """

    name: str = "choice"
    version: str = "2"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless `answer` is text and one of `choices`."""
        check_keys(spec, ["answer"], ["choices"])
        if isinstance(spec["answer"], bool) or not isinstance(spec["answer"], int):
            check_text(spec, "answer")
        choices = spec.get("choices", [spec["answer"]])
        if not isinstance(choices, list | tuple) or not all(map(_is_choice, choices)):
            raise fault("choices", choices, "give a list of non-empty strings")
        if str(spec["answer"]).casefold() not in [str(choice).casefold() for choice in choices]:
            raise fault("answer", spec["answer"], f"give one of the choices {list(choices)}")

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the choice that the completion makes, case folded, or None."""
        return _choice(completion, spec)[0]

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion."""
        return _judged(*_choice(completion, spec), str(spec["answer"]).casefold())


def _number(read: Callable[[str], str | None], completion: str) -> tuple[str | None, str]:
    """Return the number that counts, or None and why there is none."""
    try:
        return read(strip_thinking(completion)), "no number found"
    except SeveralNumbersError:
        return None, "names several numbers"


def _choice(completion: str, spec: Spec) -> tuple[str | None, str]:
    choices = spec.get("choices")
    return read_choice(
        strip_thinking(completion), str(spec["answer"]), None if choices is None else tuple(map(str, choices))
    )


def _is_choice(choice: object) -> bool:
    return (isinstance(choice, str) and bool(choice.strip())) or (
        isinstance(choice, int) and not isinstance(choice, bool)
    )


def _judged(found: str | None, missing: str, answer: str) -> Score:
    """Judge the answer that was found; `missing` says why there is none."""
    right = found == answer
    reason = "" if right else missing if found is None else f"answered {found[:40]}"
    return Score(float(right), right, {"correct": float(right), "format": float(found is not None)}, reason=reason)
