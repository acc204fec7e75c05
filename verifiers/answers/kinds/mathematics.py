r"""Is the expression that a completion settles on equal to the answer, as mathematics has it?

math-verify judges. It may hang, eat memory, and raise what is no `Exception`: so it is for scoring processes
(`verifiers.pool`), which are killed at the parent's deadline and whose memory is bounded. Its own time limits are
switched off: they are alarms of whole seconds, which other threads cannot use and calls into C do not hear.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import Score, Spec
from learnable.verifiers.answers.expressions.comparison import equals, is_readable
from learnable.verifiers.answers.expressions.finding import find_last_expression, without_reason
from learnable.verifiers.answers.expressions.trials import differ, write_imaginary
from learnable.verifiers.answers.expressions.whole import is_numeral, write_whole
from learnable.verifiers.answers.extraction import find_statements, strip_latex_text
from learnable.verifiers.answers.kinds.text import normalise
from learnable.verifiers.answers.rewards.shapes import JudgedAnswer, check_shape, give_score
from learnable.verifiers.answers.rules import ExtractedAnswer, check_rule, missing, narrow, rule_of
from learnable.verifiers.answers.sentences import find_said
from learnable.verifiers.answers.values.spelled import read_spelled
from learnable.verifiers.completions import take_turn
from learnable.verifiers.protocol import check_keys, fault

LIBRARY = "math_verify"
PARSER_SECONDS = 5.0  # seconds: its usual limit for one of its two steps
MAX_MATHS = 2000  # characters: longer is no answer, and costs the parser its time

_MODULUS = re.compile(
    r"(?:\\pmod\s*\{[^{}]*\}|\\b?mod\b\s*\{?\w+\}?|\(\s*(?:\\(?:text|mathrm)\s*\{\s*mod\s*\}|mod\b)[^()]*\))\s*\Z"
)
_CONGRUENT = re.compile(r"\A\s*[a-zA-Z]\s*(?:\\equiv|\u2261)")


@dataclass(frozen=True, slots=True)
class MathsVerifier:
    r"""Is the expression that the completion settles on equal to the answer?

    Spec: `{"answer": text or number}`, in LaTeX or plain: "\frac{1}{2}", "x^2 + 1", "(1, 2]". Optionally `extract`, the
    rule by which the answer is found (see `rules`): `auto`, the default, takes the last statement (`boxed`, `hashes`,
    `tag`, `words`), and else the last expression of the completion (`last`); and `reward`, a shape (see
    `rewards.shapes`).

    Answers are compared by their parts (see `expressions.comparison`). Of "(C) 12", an option of a test, the letter or
    the value is enough, and both must be right where both are given, and of "7 \pmod{10}" the number. A whole
    expression goes to math-verify, the gold one first: its comparison is not symmetric. Where there is nothing to
    compare, that is `extraction_failed`; a wrong answer is wrong, and one that takes too long, too much memory or the
    process with it has no reward: `verifier_error`, with the reason.
    """

    name: str = "mathematics"
    version: str = "5"
    time_limit: float = PARSER_SECONDS
    # Bytes, beside what the process has already.
    memory_limit: int = 512 << 20

    def check_spec(self, spec: Spec) -> None:
        r"""Raise `SpecError` unless there is an answer, it equals itself in `\boxed{}`, and the options fit."""
        check_keys(spec, ["answer"], ["extract", "reward"])
        answer = spec["answer"]
        is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
        if not is_number and not (isinstance(answer, str) and answer.strip()):
            raise fault("answer", answer, r'give an expression, as in "\\frac{1}{2}" or "x^2 + 1"')
        if why := self._unreadable(str(answer)):
            raise fault("answer", answer, why)
        check_rule(spec)
        if rule_of(spec).name in ("first", "letter"):
            raise fault("extract", spec["extract"], "this rule finds no expressions")
        check_shape(spec)

    def _unreadable(self, answer: str) -> str:
        r"""Return why nobody can give this answer: in `\boxed{}` it is not read as itself; "" where it is."""
        if not is_readable(answer):
            return "it cannot be read as mathematics or as text; give an expression whose braces are closed"
        given = self.read(rf"\boxed{{{answer}}}", spec={}).answer
        if given is None or not equals(answer, given, _by_text):
            return (
                r"it is not read as itself where it stands in \boxed{...}; give a shorter one, the final answer alone"
            )
        return ""

    def warm_up(self) -> None:
        """Load math-verify. Raises `LearnableError` where it is not installed."""
        _library()

    def read(self, completion: str, *, spec: Spec) -> ExtractedAnswer:
        """Return the text that is read as mathematics, with the rule that found it."""
        text, rule = take_turn(completion), rule_of(spec)
        if rule.name == "auto" and (stated := find_statements(text)):
            last = stated[-1]
            return _reading(without_reason(last.text) if last.form == "words" else last.text, last.form)
        if rule.name in ("auto", "last"):
            if name := _find_name(str(spec.get("answer", "")), text):
                return ExtractedAnswer(name, "sentence", text=name)
            return _reading(find_last_expression(text.strip()[-MAX_MATHS:]) or "", "last")
        part = narrow(text, rule)
        return ExtractedAnswer(None, rule.name, missing(rule)) if part is None else _reading(part.text, rule.name)

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the text that is read as mathematics, or None."""
        return self.read(completion, spec=spec).answer

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion. Raises `LearnableError` where math-verify is not installed."""
        library, reading = _library(), self.read(completion, spec=spec)
        if reading.answer is None:
            return give_score(JudgedAnswer(completion, prompt, reading, False, 0.0), spec)
        try:
            writings = _writings(str(spec["answer"]), reading.answer)
            passed = any(equals(gold, given, partial(_same, library)) for gold, given in writings)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # its own time-out is a BaseException, and an answer may make it raise anything
            return Score.unscored(f"math-verify raised {type(error).__name__}: {error}"[:300])
        return give_score(JudgedAnswer(completion, prompt, reading, passed, float(passed)), spec)


def _find_name(gold: str, text: str) -> str | None:
    """Return a gold answer in words where the last sentence says that it is the answer."""
    words = strip_latex_text(gold).strip()
    if not re.fullmatch(r"[^\W\d_]{2,}(?: [^\W\d_]{2,}){0,4}", words):
        return None
    said = map(normalise, find_said(text))
    return gold if normalise(words) in said else None


def _writings(gold: str, given: str) -> Iterator[tuple[str, str]]:
    """Yield both answers as they are, a number in words in digits, and both without the modulus that only one has."""
    yield gold, given
    if (number := read_spelled(strip_latex_text(given))) is not None:
        yield gold, str(number)
    if bool(_MODULUS.search(gold)) != bool(_MODULUS.search(given)):
        yield _without_modulus(gold), _without_modulus(given)


def _without_modulus(answer: str) -> str:
    return _CONGRUENT.sub("", _MODULUS.sub("", answer)) if _MODULUS.search(answer) else answer


def _reading(text: str, rule: str) -> ExtractedAnswer:
    if not is_readable(text):
        return ExtractedAnswer(None, rule, f"no mathematics: {text[:60]}" if text.strip() else "nothing is stated")
    if len(text) > MAX_MATHS:
        return ExtractedAnswer(None, rule, f"more than {MAX_MATHS:,} characters")
    return ExtractedAnswer(text, rule, text=text)


@cache
def _library() -> Any:
    try:
        library = importlib.import_module(LIBRARY)
    except ImportError as error:
        raise LearnableError(
            "the verifier 'mathematics' needs math-verify, which is not installed: pip install 'learnable[math]'"
        ) from error
    logging.getLogger(LIBRARY).setLevel(logging.ERROR)  # it warns that its time limits are off
    return library


def _by_text(_gold: str, _given: str) -> bool:
    return False


def _same(library: Any, gold: str, given: str) -> bool:
    """Say whether math-verify reads both expressions whole and finds them equal; numerals are compared exactly."""
    if is_numeral(gold) and is_numeral(given):
        return Fraction(gold.replace(" ", "")) == Fraction(given.replace(" ", ""))
    if (written := write_whole((gold, given))) is None:
        return False
    ones, others = (_parse(library, one) for one in written)
    if not ones or not others or differ(ones[0], others[0]):
        return False
    return bool(library.verify(ones, others, timeout_seconds=None, raise_on_error=True))


@lru_cache(maxsize=1024)
def _parse(library: Any, text: str) -> list[Any]:
    """Return what math-verify reads, as one expression and never as a number found inside it."""
    config = library.LatexExtractionConfig()
    plain = replace(config.normalization_config, units=False, malformed_operators=False, nits=False, boxed="none")
    config = replace(config, normalization_config=plain)
    options = {"fallback_mode": "no_fallback", "parsing_timeout": None, "raise_on_error": True}
    parsed = library.parse(f"${text}$", extraction_config=[config], **options)
    return [write_imaginary(one) for one in parsed]
