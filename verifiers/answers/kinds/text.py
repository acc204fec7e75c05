"""Is what a completion states one of the right texts, but for case, spaces and punctuation?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from learnable.data.records import Score, Spec
from learnable.verifiers.answers.extraction import (
    Statement,
    find_statements,
    fold_signs,
    split_first_line,
    strip_latex_text,
)
from learnable.verifiers.answers.rewards.shapes import JudgedAnswer, check_shape, give_score
from learnable.verifiers.answers.rules import ExtractedAnswer, ExtractionRule, check_rule, missing, narrow, rule_of
from learnable.verifiers.answers.sentences import find_in_statement, find_said
from learnable.verifiers.answers.values.dates import DateOrder, find_dates
from learnable.verifiers.completions import take_turn
from learnable.verifiers.protocol import check_keys, fault

LENIENCE = ("case", "spaces", "punctuation", "articles", "accents")
USUAL_LENIENCE = ("case", "spaces", "punctuation", "articles")
MAX_TEXT = 2000  # characters of an answer

_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_INITIALS = re.compile(r"[^\w.]*(?:[^\W\d_]\.){2,}[^\w.]*|[^\w.]*(?:[^\W\d_]\.)+[^\W\d_][^\w.]*")
_LEAD = re.compile(
    r"^(?:(?:so|thus|therefore|hence|it is|it['\u2019]s|that is|that['\u2019]s|this is|"
    r"i think|i believe|i would say|(?:assistant|ai|bot)(?=:))\b[\s,:]*)+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TextVerifier:
    """Is what the completion states one of the right texts?

    Spec: `{"answer": text}`, or a list of texts any of which is right. Optionally:

    - `extract`: the rule by which the answer is found (see `rules`). `auto`, the default: the last statement (`boxed`,
      `hashes`, `tag`, `words`, `emphasis`), else the first line where the next one asks the next question, else the
      only line, or several that are a right text together, or what the last sentence says (`whole`): "The capital is
      Paris.", "Paris is the capital, as is well known.", "He died in Paris.", "Label: Paris". What ends a list, or
      stands behind "or" or "not", is no answer.
      `first` and `last` are the first and the last line.
    - `ignore`: what makes no difference, of "case", "spaces", "punctuation" (around words), "articles" (in front) and
      "accents"; all but the last unless given.
    - `match`: "text", or "date": any writing of a date will do, and `date_order` ("mdy" or "dmy") says how 03/04/2024
      is read, which is no answer without it.
    - `reward`: a shape (see `rewards.shapes`).

    A right text that is merely mentioned does not count. What cannot be read is `extraction_failed`.
    """

    name: str = "text"
    version: str = "5"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless the answers are texts and the options fit."""
        check_keys(spec, ["answer"], ["extract", "ignore", "match", "date_order", "reward"])
        answers = spec["answer"] if isinstance(spec["answer"], list | tuple) else [spec["answer"]]
        if not answers or not all(isinstance(answer, str) and answer.strip() for answer in answers):
            raise fault("answer", spec["answer"], "give a non-empty text, or a list of them")
        ignore = spec.get("ignore", USUAL_LENIENCE)
        if not isinstance(ignore, list | tuple) or not set(ignore) <= set(LENIENCE):
            raise fault("ignore", ignore, f"give a list of {', '.join(LENIENCE)}")
        if spec.get("match", "text") not in ("text", "date"):
            raise fault("match", spec["match"], 'give "text" or "date"')
        if spec.get("date_order", "mdy") not in ("mdy", "dmy"):
            raise fault("date_order", spec["date_order"], 'give "mdy" or "dmy"')
        for answer in answers:
            if not self._canonical(answer, spec):
                raise fault(
                    "answer", answer, "give a date" if spec.get("match") == "date" else "give letters or digits"
                )
        check_rule(spec)
        check_shape(spec)

    def read(self, completion: str, *, spec: Spec) -> ExtractedAnswer:
        """Return the text that counts, as it is compared, with the rule that found it."""
        text, right = take_turn(completion), self._right(spec)
        stated, rule = _find(text, rule_of(spec))
        if stated is None and rule == "auto" and self._canonical(text[:MAX_TEXT], spec) in right:
            stated, rule = text, "whole"
        if rule == "whole" or (rule == "auto" and stated is None):
            said = self._find_in_sentence(text if stated is None else stated, right, spec)
            stated, rule = (stated, rule) if said is None else (said, "whole")
        elif rule == "words" and stated is not None:
            stated = next((said for said in find_in_statement(stated) if self._canonical(said, spec) in right), stated)
        if stated is None:
            return ExtractedAnswer(
                None, rule, missing(rule_of(spec)) if rule_of(spec).name != "auto" else "nothing is stated"
            )
        answer = self._canonical(stated[:MAX_TEXT], spec)
        why = (
            "names several dates, or one that can be read in two ways"
            if spec.get("match") == "date" and answer is None and _dates(stated, spec)
            else "no date found"
        )
        if answer is None and spec.get("match") == "date":
            return ExtractedAnswer(None, rule, why, stated)
        return ExtractedAnswer(answer or None, rule, "" if answer else "nothing is stated", stated)

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the text that counts, equal answers as equal text, or None."""
        return self.read(completion, spec=spec).answer

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion."""
        reading = self.read(completion, spec=spec)
        passed = reading.answer is not None and reading.answer in self._right(spec)
        return give_score(JudgedAnswer(completion, prompt, reading, passed, float(passed)), spec)

    def _find_in_sentence(self, sentence: str, right: set[str | None], spec: Spec) -> str | None:
        """Return the right text that a sentence says is the answer; None without any."""
        return next((said for said in find_said(sentence) if self._canonical(said, spec) in right), None)

    def _right(self, spec: Spec) -> set[str | None]:
        """Return the right texts, also without their accents, which "Beyonce" lacks; another accent is another word."""
        answers = spec["answer"] if isinstance(spec["answer"], list | tuple) else [spec["answer"]]
        plain = {normalise(answer, LENIENCE) for answer in answers} if "ignore" not in spec else set()
        return {self._canonical(answer, spec) for answer in answers} | {text for text in plain if text.isascii()}

    def _canonical(self, text: str, spec: Spec) -> str | None:
        if spec.get("match") == "date":
            days = _dates(text, spec)
            return days[0] if len(days) == 1 else None
        if len(days := list(find_dates(text))) == 1 and not re.search(r"\w", text[: days[0][1]] + text[days[0][2] :]):
            return days[0][0] or normalise(text, spec.get("ignore", USUAL_LENIENCE))  # in any writing
        return normalise(text, spec.get("ignore", USUAL_LENIENCE))


def normalise(text: str, ignore: Iterable[str] = USUAL_LENIENCE) -> str:
    """Return a text without what makes no difference.

    >>> normalise("**The  Eiffel Tower.**"), normalise("Caf\u00e9", ("case", "accents"))
    ('eiffel tower', 'cafe')
    """
    ways = set(ignore)
    text = fold_signs(unicodedata.normalize("NFC", text)).translate(
        {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'} | {0x2080 + digit: str(digit) for digit in range(10)}
    )
    if "accents" in ways:
        text = "".join(sign for sign in unicodedata.normalize("NFD", text) if not unicodedata.combining(sign))
    if "spaces" in ways:
        text = " ".join(text.split())
    if "punctuation" in ways:
        text = " ".join(filter(None, (_bare(word) for word in text.split(" "))))
    if "articles" in ways:
        text = _ARTICLE.sub("", text)
    return text.casefold() if "case" in ways else text


def _bare(word: str) -> str:
    """Return a word without punctuation around it; one of signs alone, such as "<=" or "C++", keeps its signs."""
    if _INITIALS.fullmatch(word):
        return word.replace(".", "").strip("*_`()\"',:;!?")
    if word == "&":
        return "and"
    stripped = word.strip("*_`$()[]{}\"'.,:;!?\u2026\u00ab\u00bb")
    return stripped or ("" if not re.search(r"[^\s*_`.,:;!?()\[\]{}\"']", word) else word)


def _dates(text: str, spec: Spec) -> list[Any]:
    order: DateOrder | None = spec.get("date_order")
    return list(dict.fromkeys(day for day, _, _ in find_dates(text, order)))


def _find(text: str, rule: ExtractionRule) -> tuple[str | None, str]:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if rule.name in ("first", "last"):
        return (lines[0 if rule.name == "first" else -1] if lines else None), rule.name
    if rule.name != "auto":
        part = narrow(text, rule)
        return (None if part is None else _plain(part)), rule.name
    line, goes_on = split_first_line(text)
    if goes_on and line and len(lines) > 1:
        return _LEAD.sub("", line), "first"
    if stated := find_statements(text):
        return _plain(stated[-1]), stated[-1].form
    return (_LEAD.sub("", lines[0]), "whole") if len(lines) == 1 else (None, "auto")


def _plain(stated: Statement) -> str:
    return (strip_latex_text(stated.text) if "\\" in stated.text else stated.text).removeprefix("> ")  # a quotation
