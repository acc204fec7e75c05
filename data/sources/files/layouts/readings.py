r"""How layouts write their answers: behind "####", in `\boxed{}`, as a place among choices. Read from rows, not models.

A reading takes the value of the answer's column and what stands beside it: the choices of the row, empty where it has
none, or the arguments of the answer's items. It returns the spec, or raises `UnreadError` with
what an answer of the layout looks like.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import Spec
from learnable.data.sources.files.answers import final_answer
from learnable.data.sources.files.columns import choice_text, fit_number, json_ready, parse_cell, single
from learnable.data.sources.files.options import AnswerOptions

AIME_MAX = 999

_FINAL_NUMBER = re.compile(r"####[ \t]*[-+\u2212]?[$\u20ac\u00a3]?[-+]?[0-9][0-9,]*(?:[./][0-9]+)?[ \t]*%?\s*\Z")
_BOXED = re.compile(r"\\f?box(?:ed)?\s*(?:(\{)|([^\s{}$]+))")
_MEASURED = re.compile(r"([-+\u2212]?[0-9][0-9,]*(?:\.[0-9]+)?(?:/[0-9]+)?)\s*\([^()]*\)")
_IN_WORDS = re.compile(r"\bthe answer is:?[ \t]*(\S[^\n]*?)\.?\s*\Z", re.IGNORECASE)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


class UnreadError(LearnableError):
    """The answer is not written as this layout writes answers; the message says how that is."""


@dataclass(frozen=True, slots=True)
class AnswerReader:
    """How an answer is read, and what it is in words, followed by the name of its column."""

    read: Callable[[Any, Any], Spec]
    words: str


def last_boxed(text: str) -> str | None:
    r"""Return what the last `\boxed{...}` of a text holds, braces nested; None where there is none.

    >>> last_boxed(r"So \boxed{1} or \boxed{\frac{1}{2}}."), last_boxed(r"$\boxed 5$"), last_boxed(r"\boxed{1")
    ('\\frac{1}{2}', '5', None)
    """
    content = None
    for opening in _BOXED.finditer(text):
        content = _to_closing_brace(text, opening.end()) if opening[1] else opening[2]
    return content.strip() if content and content.strip() else None


def _to_closing_brace(text: str, start: int) -> str | None:
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if not depth:
            return text[start : brace.start()]
    return None


def _read_hashes(value: Any, _: AnswerOptions) -> Spec:
    if not isinstance(value, str) or not _FINAL_NUMBER.search(value):
        raise UnreadError("a worked solution ends in a number, as in '#### 1,234'")
    return {"answer": final_answer(value)}


def _read_boxed(value: Any, _: AnswerOptions) -> Spec:
    boxed = last_boxed(value) if isinstance(value, str) else None
    if boxed is None:
        raise UnreadError(r"a solution has its answer in \boxed{...}")
    return {"answer": boxed}


def _read_in_words(value: Any, choices: AnswerOptions) -> Spec:
    match = _IN_WORDS.search(value) if isinstance(value, str) else None
    if match is None:
        raise UnreadError("a worked solution ends in its answer, as in 'The answer is: 7'")
    spec = _read_expression(match[1], choices)
    return {"answer": fit_number(spec["answer"])}


def _read_to_999(value: Any, _: AnswerOptions) -> Spec:
    number = None if isinstance(value, bool) else fit_number(value)
    if not isinstance(number, int) or not 0 <= number <= AIME_MAX:
        raise UnreadError(f"an answer is a whole number from 0 to {AIME_MAX}")
    return {"answer": number}


def _read_expression(value: Any, choices: AnswerOptions) -> Spec:
    value = single(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"answer": fit_number(value)}
    text = value.strip() if isinstance(value, str) else ""
    if r"\boxed" in text:
        return _read_boxed(text, choices)
    if text.startswith("$") and text.endswith("$") and text.count("$") in (2, 4):
        text = text.strip("$").strip()
    absent = ("", "proof", "notfound", "not found", "none", "null", "n/a", "nan", "unknown")
    # What is longer than 300 characters is a solution, not an answer.
    if text.casefold() in absent or len(text) > 300 or "\n" in text:
        raise UnreadError(r"an answer is a number or an expression on one line, or stands in \boxed{...}")
    return {"answer": text}


def _read_number(value: Any, _: AnswerOptions) -> Spec:
    number = fit_number(single(value))
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise UnreadError("an answer is a number")
    return {"answer": number}


def _read_measured(value: Any, choices: AnswerOptions) -> Spec:
    """Read a number, alone or before its unit in brackets, and any other text on a line as it is."""
    measured = _MEASURED.fullmatch(value.strip()) if isinstance(value, str) else None
    spec = _read_expression(measured[1] if measured else value, choices)
    return {"answer": fit_number(spec["answer"])}


def _read_texts(value: Any, _: AnswerOptions) -> Spec:
    """Read the texts of which any is right."""
    texts = [text.strip() for text in value if isinstance(text, str)] if isinstance(value, list | tuple) else []
    texts = list(dict.fromkeys(filter(None, texts)))
    if not texts:
        raise UnreadError("the answers are a list of texts, of which any is right")
    return {"answer": texts}


def _read_yes_or_no(value: Any, _: AnswerOptions) -> Spec:
    answer = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value).strip(" .").casefold()
    if answer not in ("yes", "no"):
        raise UnreadError("an answer is yes or no, or true or false without quotes")
    return {"answer": answer, "choices": ["yes", "no"]}


def _read_truth(otherwise: str, value: Any, _: AnswerOptions) -> Spec:
    """Read whether something is true, with a word for what nobody can tell."""
    choices = ["true", "false", otherwise]
    if (answer := str(value).strip(" .").casefold()) not in choices:
        raise UnreadError(f"an answer is {', '.join(choices[:-1])} or {choices[-1]}")
    return {"answer": answer, "choices": choices}


def _read_bracketed(value: Any, _: AnswerOptions) -> Spec:
    match = re.fullmatch(r"\(([A-Z])\)", value.strip()) if isinstance(value, str) else None
    if match is None:
        raise UnreadError("an answer is the letter of a choice, as in (B)")
    return {"answer": match[1]}


def _read_name(value: Any, _: AnswerOptions) -> Spec:
    text = single(value)
    if not isinstance(text, str) or not text.strip() or "\n" in text.strip():
        raise UnreadError("an answer is a text on one line")
    return {"answer": text.strip()}


def _read_choice_or_value(value: Any, choices: AnswerOptions) -> Spec:
    return read_choice(value, choices) if choices.texts else _read_measured(value, choices)


def read_choice(value: Any, choices: AnswerOptions) -> Spec:
    """Read a letter, a label, a place from 0 on, or a choice's text. Raises `UnreadError` for what is two of them."""
    labels, texts, lines = choices
    names = list(labels or string.ascii_uppercase[: len(texts)])
    if len(names) < 2 or len(names) != len(texts):
        raise UnreadError(f"there are {len(texts)} choices: give 2 to {len(string.ascii_uppercase)}")
    text = str(choice_text(single(value))).casefold()
    places = {place for place, name in enumerate(names) if name.casefold() in (text, text.strip("().: "))}
    by_place = names == list(string.ascii_uppercase[: len(names)])
    if isinstance(value, bool) or not isinstance(value, int):
        shown = zip(texts, lines, strict=False)
        places |= {place for place, both in enumerate(shown) if text in map(str.casefold, both)}
    number = None if isinstance(value, bool) or not by_place else fit_number(value)
    if isinstance(number, int) and 0 <= number < len(texts):
        places.add(number)
    if len(places) > 1:
        listing = " or ".join(names[place] for place in sorted(places))
        raise UnreadError(f"this may be choice {listing}, by its letter, its text or its place: write the letter")
    if not places:
        last = f", or its place from 0 to {len(texts) - 1}" if by_place else ""
        raise UnreadError(f"an answer is one of {', '.join(names)}{last}")
    return {"answer": names[places.pop()], "choices": names, "texts": texts}


def _read_place_from_1(value: Any, choices: AnswerOptions) -> Spec:
    number = fit_number(single(value))
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(choices.texts):
        raise UnreadError(f"an answer is a place from 1 to {len(choices.texts)}")
    return read_choice(number - 1, choices)


def _read_text_of_choice(value: Any, choices: AnswerOptions) -> Spec:
    text = str(choice_text(single(value)))
    if choices.texts.count(text) != 1:
        raise UnreadError("the right answer and the wrong ones are texts, no two of them the same")
    return read_choice(choices.texts.index(text), choices)


def _read_tests(_: Any, __: AnswerOptions) -> Spec:
    return {}  # `test_code` makes the spec


def _read_instructions(value: Any, arguments: Any) -> Spec:
    """Read ids, and for each an object of arguments, into `{"instructions": [{"id": ..., **arguments}, ...]}`.

    Both may be JSON or a Python literal in a cell. Nulls and NaN, with which tables fill the columns that a row has not
    got, are left out, and numbers such as 300.0 are whole. Instructions and arguments are the verifier's to know.
    """
    ids, given = _parse(value), _parse(arguments)
    if not isinstance(ids, list) or not ids or not all(isinstance(one, str) and one for one in ids):
        raise UnreadError('give a list of ids, as in ["punctuation:no_comma"]')
    given = [{} for _ in ids] if given is None else _by_item(given, len(ids))
    items = [{} if one is None else _parse(one) for one in given] if isinstance(given, list) else []
    if len(items) != len(ids) or not all(isinstance(one, Mapping) for one in items):
        shown = f"{len(items)} objects" if items and all(isinstance(one, Mapping) for one in items) else repr(arguments)
        raise UnreadError(f"their arguments are {shown[:60]}: give a list of {len(ids)} objects, one for each id")
    return {"instructions": [{"id": name, **_filled(one)} for name, one in zip(ids, items, strict=True)]}


def _read_gym(value: Any, metadata: Any) -> Spec:
    """Read the entry of a data set of reasoning-gym, which its metadata names."""
    given = _parse(metadata)
    name = given.get("source_dataset") if isinstance(given, Mapping) else None
    if not isinstance(name, str):
        raise UnreadError("its metadata names no `source_dataset`")
    return {"dataset": name, "answer": value, "metadata": given}


def _parse(value: Any) -> Any:
    """Return what a cell holds, None where it is empty, and text that is no literal as it is."""
    if not isinstance(value, str):
        return json_ready(value)
    parsed = json_ready(parse_cell(value))
    return value if parsed is None and value.strip().casefold() not in ("", "null", "none", "nan") else parsed


def _by_item(given: Any, count: int) -> Any:
    """Return a list of objects for an object of lists, which is how some tables keep it; anything else as it is."""
    columns = given.values() if isinstance(given, Mapping) else ()
    if not columns or not all(isinstance(column, list) and len(column) == count for column in columns):
        return given
    return [{name: column[place] for name, column in given.items()} for place in range(count)]


def _filled(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: fit_number(value) if isinstance(value, float) else value
        for name, value in arguments.items()
        if value is not None and name != "id"
    }


READINGS = {
    "hashes": AnswerReader(_read_hashes, "the number behind the last '####' of"),
    "boxed": AnswerReader(_read_boxed, r"what the last \boxed{} holds in"),
    "in_words": AnswerReader(_read_in_words, "what stands behind the last 'the answer is' of"),
    "to_999": AnswerReader(_read_to_999, f"the whole number from 0 to {AIME_MAX} in"),
    "expression": AnswerReader(_read_expression, "the number or expression in"),
    "number": AnswerReader(_read_number, "the number in"),
    "measured": AnswerReader(_read_measured, "the number, without its unit, or the text in"),
    "texts": AnswerReader(_read_texts, "any of the texts in"),
    "choice": AnswerReader(read_choice, "the choice that is named in"),
    "text_of_choice": AnswerReader(_read_text_of_choice, "the choice in"),
    "place_from_1": AnswerReader(_read_place_from_1, "the choice whose place, from 1 on, is in"),
    "yes_or_no": AnswerReader(_read_yes_or_no, "yes or no, as is said in"),
    "true_or_unknown": AnswerReader(partial(_read_truth, "unknown"), "true, false or unknown, as is said in"),
    "true_or_uncertain": AnswerReader(partial(_read_truth, "uncertain"), "true, false or uncertain, as is said in"),
    "bracketed": AnswerReader(_read_bracketed, "the letter in brackets in"),
    "name": AnswerReader(_read_name, "the text in"),
    "choice_or_value": AnswerReader(_read_choice_or_value, "the choice, the number or the text in"),
    "instructions": AnswerReader(_read_instructions, "made of the instructions in"),
    "gym": AnswerReader(_read_gym, "what the data set of the entry accepts, as in"),
    "tests": AnswerReader(_read_tests, "made of the tests in"),
}
