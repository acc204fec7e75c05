r"""Is the answer right, as the reasoning-gym data set that asked it has it?

Its own `score_answer` judges what our extraction reads out of the completion. It may be slow and raise: so it is for
scoring processes (`verifiers.pool`), which are killed at the parent's deadline and whose memory is bounded.

Its scores are not taken as they are:

- most data sets give an answer that merely contains the right one the share of its length: here that is nothing;
- some give a near miss up to .999 (a minute of a day, a cell of a grid): what is not right is worth at most
  `MAX_WRONG`, and does not pass;
- some pass what is wrong (`_FORGOTTEN`), and three raise for what is no answer at all (`_RAISED_FOR_NO_ANSWER`);
- some pass an answer that goes on, "5 days or 6 days": what states alternatives that the right one has not is none;
- some evaluate the answer, or what the row has, as Python: see `gym_evaluation` for what is read of it. A completion
  that has more in it is wrong, a row that has (`_EVALUATED`) is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from learnable.data.records import JsonObject, Score, Spec, canonical_json
from learnable.data.sources.gym.library import NAME, library_version, load_library
from learnable.verifiers.answers.extraction import Statement
from learnable.verifiers.answers.kinds.gym_evaluation import RefusedError, check_expression, install, watched
from learnable.verifiers.answers.rewards.shapes import JudgedAnswer, check_shape, give_score
from learnable.verifiers.answers.rules import (
    ExtractedAnswer,
    ExtractionRule,
    check_rule,
    missing,
    narrow,
    reach,
    rule_of,
)
from learnable.verifiers.completions import take_turn
from learnable.verifiers.protocol import check_keys, check_text, fault

GYM_SECONDS = 20.0  # seconds: simplifying an integral takes one, and the first answer of a data set loads its words
MAX_ANSWER = 20_000  # characters; the longest right ones have 4,000
MIN_RIGHT = 1 - 1e-6  # some scores are products of floats
MAX_WRONG = 0.98  # the most that an answer is worth which is not right

# Where a row has what its scorer evaluates, and whether that has names in it.
_EVALUATED = {
    "bitwise_arithmetic": ("metadata.problem", False),
    "intermediate_integration": ("metadata.integrand", True),
    "number_sorting": ("answer", False),
    "polynomial_multiplication": ("answer", True),
    "simple_integration": ("metadata.integrand", True),
}
_FILE = "data_file"  # the field of a configuration that names one: one of the library's
_ALTERNATIVES = re.compile(
    r"\b(?:or|either|alternatively|otherwise|maybe|perhaps|possibly|versus|vs)\b|;(?=\s*\S)", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SIGNED = re.compile(r"-?\d+(?:\.\d+)?")
_TIME = re.compile(r"\s*-?(?:\d+(?:\s*days?)?|[\d:.]+|\d+ days?,\s*[\d:.]+)[\s.]*", re.IGNORECASE)
_NO_SOLUTION = re.compile(r"\W*(?:none\W*)?|\D*\bno\b\D*\b(?:solution|root|value)s?\b\D*", re.IGNORECASE)
_TUPLES = ("arc_agi", "rearc")  # whose boards are compared as tuples
_FINDS_PARTS = "codeio"  # gives credit for JSON anywhere in the answer, and not by its length
_RAISED_FOR_NO_ANSWER: dict[str, tuple[type[Exception], ...]] = {
    "boxnet": (RefusedError, AttributeError, IndexError, KeyError, TypeError),
    "game_of_life": (RefusedError, KeyError, TypeError),
    "prime_factorization": (RefusedError, ValueError),
}


@dataclass(frozen=True, slots=True)
class GymVerifier:
    """Is the answer right, as the data set of reasoning-gym that asked it has it?

    Spec: `{"dataset": name, "answer": the entry's, "metadata": the entry's}`, and `config`, the fields of the data
    set's configuration that are not as usual. An answer of null is for data sets that have several. Optionally
    `extract`, the rule by which the answer is found (see `rules`): `auto`, the default, takes the last `<answer>`, else
    what is stated last, else all of the completion; and `reward`, a shape (see `rewards.shapes`).

    What its scorer raises is `verifier_error`. A reward that is not asked for in another shape is its score, as said
    above.
    """

    name: str = NAME
    time_limit: float = GYM_SECONDS
    # Bytes, beside what the process has already.
    memory_limit: int = 512 << 20

    @property
    def version(self) -> str:
        """Ours and the library's, whose scorers it is."""
        return f"5-{library_version() or 'none'}"

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` unless there is an entry, whose texts may be evaluated, and the options fit.

        Scoring looks for the data set.
        """
        check_keys(spec, ["dataset", "answer", "metadata"], ["config", "extract", "reward"])
        check_text(spec, "dataset")
        if not isinstance(spec["answer"], str | None):
            raise fault("answer", spec["answer"], "give the entry's, a text or null")
        for key in ("metadata", "config"):
            if not isinstance(spec.get(key, {}), dict):
                raise fault(key, spec[key], "give the entry's, an object")
        _check_row(spec)
        check_rule(spec)
        if rule_of(spec).name in ("first", "last"):
            raise fault("extract", spec["extract"], "this rule finds numbers and lines alone")
        check_shape(spec)

    def warm_up(self) -> None:
        """Load reasoning-gym. Raises `LearnableError` where it is not installed."""
        load_library()

    def read(self, completion: str, *, spec: Spec) -> ExtractedAnswer:
        """Return the text that is judged, with the rule that found it."""
        text, rule = take_turn(completion), rule_of(spec)
        part = _find_answer(text) if rule.name == "auto" else narrow(text, rule)
        if part is None:
            return ExtractedAnswer(None, rule.name, missing(rule))
        if not part.text or len(part.text) > MAX_ANSWER:
            return ExtractedAnswer(
                None, part.form, f"more than {MAX_ANSWER:,} characters" if part.text else "nothing is stated"
            )
        return ExtractedAnswer(part.text, part.form, text=part.text)

    def extract(self, completion: str, *, spec: Spec) -> str | None:
        """Return the text that is judged, or None."""
        return self.read(completion, spec=spec).answer

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion. Raises `LearnableError` where reasoning-gym is not installed or lacks the data set."""
        reading = self.read(completion, spec=spec)
        credit = 0.0
        if reading.answer is not None:
            data_set = _open_data_set(spec["dataset"], canonical_json(spec.get("config", {})))
            entry = {"question": prompt, "answer": spec["answer"], "metadata": _revive(spec)}
            try:
                credit = _credit(data_set, spec["dataset"], reading.answer, entry)
            except _RAISED_FOR_NO_ANSWER.get(spec["dataset"], (RefusedError,)) as error:
                reading = ExtractedAnswer(None, reading.rule, f"no answer to this: {error}"[:120], reading.text)
            except Exception as error:
                return Score.unscored(f"its scorer raised {type(error).__name__}: {error}"[:300])
        passed = credit >= MIN_RIGHT
        graded = 1.0 if passed else min(credit, MAX_WRONG)
        return give_score(JudgedAnswer(completion, prompt, reading, passed, graded), spec)


def _find_answer(text: str) -> Statement | None:
    return (
        narrow(text, ExtractionRule("tag"))
        or narrow(text, ExtractionRule("stated"))
        or narrow(text, ExtractionRule("whole"))
    )


def _check_row(spec: Spec) -> None:
    """Raise `SpecError` where a row has what its data set would run, or a file's place in its configuration."""
    if not re.fullmatch(r"[\w-]+(\.[\w-]+)*", str(spec.get("config", {}).get(_FILE, "none"))):
        raise fault("config", spec["config"], f"{_FILE} names a file of {NAME}, which is in no folder")
    place, names = _EVALUATED.get(spec["dataset"], ("", False))
    if not place:
        return
    try:
        value = reach(spec, place)
    except KeyError:
        raise fault(place, None, "give the entry's: its scorer needs it") from None
    try:
        check_expression(value, names=names)
    except (RefusedError, SyntaxError) as error:
        raise fault(place, value, f"its scorer evaluates it, so give the entry's formula or list: {error}") from error


def _credit(data_set: Any, name: str, answer: str, entry: JsonObject) -> float:
    """Return what the data set gives for an answer, from 0 to 1, without what it gives for containing the right one.

    Raises `RefusedError` for an answer that is not evaluated, and what its scorer raises.
    """
    gold = entry["answer"]
    with watched() as refusals:
        credit = float(data_set.score_answer(answer, entry))
    if refusals:
        raise RefusedError(refusals[0])
    if not math.isfinite(credit):
        raise ValueError(f"its score is {credit}")
    if credit >= MIN_RIGHT:
        hedged = _alternatives(answer) - _alternatives(gold or "")
        return float(not hedged and (name not in _FORGOTTEN or _FORGOTTEN[name](answer, entry)))
    if gold and _is_for_containing(name, credit, answer, gold):
        return 0.0
    return max(0.0, credit)


def _alternatives(text: str) -> set[str]:
    return {word.casefold() for word in _ALTERNATIVES.findall(text)}


def _is_for_containing(name: str, credit: float, answer: str, gold: str) -> bool:
    """Say whether this credit is the usual one for an answer that the right one is part of: the share of its length."""
    given, wanted = _fold(answer), _fold(gold)
    if wanted not in given or given == wanted:
        return False
    share = max(len(gold) / len(answer), len(wanted) / len(given))
    return credit <= share + 1e-9 or name == _FINDS_PARTS


def _fold(text: str) -> str:
    return re.sub(r"[\s,]+", "", text).casefold()


def _same_text(answer: str, entry: JsonObject) -> bool:
    return answer.strip(" .").casefold() == str(entry["answer"]).strip().casefold()


def _same_numbers(answer: str, entry: JsonObject) -> bool:
    return Counter(map(int, re.findall(r"\d+", answer))) == Counter(entry["metadata"]["numbers"])


def _same_list(answer: str, entry: JsonObject) -> bool:
    given, wanted = (list(map(Fraction, _SIGNED.findall(text))) for text in (answer, entry["answer"]))
    return given == wanted


def _near(answer: str, entry: JsonObject) -> bool:
    given, wanted = (Fraction(text.replace(",", "")) for text in (answer, entry["answer"]))
    return abs(given - wanted) <= Fraction(1, 10_000)


def _one_number(answer: str, entry: JsonObject) -> bool:
    signed = entry["answer"].startswith("-") or not re.match(r"\D*[-\N{MINUS SIGN}]\d", answer)
    return signed and len(set(map(Fraction, _NUMBER.findall(answer)))) == 1


def _as_many(answer: str, entry: JsonObject) -> bool:
    return len(_NUMBER.findall(answer)) == len(_NUMBER.findall(entry["answer"]))


def _each_once(answer: str, _: JsonObject) -> bool:
    letters = re.findall(r"(\w+)\s*=", answer)
    return len(letters) == len(set(letters))


def _all_solutions(answer: str, entry: JsonObject) -> bool:
    if not entry["answer"]:
        return bool(_NO_SOLUTION.fullmatch(answer))
    return answer.count(",") == str(entry["answer"]).count(",")


# What data sets forget to ask of answers that they take for right.
_FORGOTTEN: dict[str, Callable[[str, JsonObject], bool]] = {
    "advanced_geometry": _as_many,  # what stands behind a point
    "coin_flip": _near,  # it takes "0" for 0.0625, whose beginning it is
    "complex_arithmetic": lambda answer, _: "nan" not in answer.casefold(),  # whose distance from anything is none
    "cryptarithm": _each_once,  # all but the last digit of a letter
    "figlet_font": lambda answer, entry: _fold(answer) == _fold(entry["answer"]),  # all but ten letters
    "fraction_simplification": _as_many,  # what stands behind a fraction of LaTeX
    "game_of_life": lambda answer, entry: bool(
        json.loads(answer) == json.loads(entry["answer"])
    ),  # rows behind the last
    "game_of_life_halting": _same_text,  # any text at all
    "gsm_symbolic": _one_number,  # signs, and what stands behind the first number
    "letter_jumble": _same_text,  # words behind the right ones
    "number_sorting": _same_list,  # numbers that are 1 off
    "polynomial_equations": _all_solutions,  # what is no number
    "pool_matrix": lambda answer, _: "#" not in answer,  # what stands behind it
    "puzzle24": _same_numbers,  # any numbers in the range of the puzzle's, so 4 * 6 * 1 * 1 always
    "spell_backward": _same_text,  # letters behind the right ones, for most lengths
    "time_intervals": lambda answer, _: bool(_TIME.fullmatch(answer)),  # what stands behind a time
}


def _revive(spec: Spec) -> Any:
    """Return the entry's metadata as its data set made it, a copy of its own: some scorers write into it."""
    return _copy(spec["metadata"], tuple if spec["dataset"] in _TUPLES else list)


def _copy(value: Any, kind: type[list[Any]] | type[tuple[Any, ...]]) -> Any:
    if isinstance(value, dict):
        return {key: _copy(each, kind) for key, each in value.items()}
    return kind(_copy(each, kind) for each in value) if isinstance(value, list) else value


@lru_cache(maxsize=256)
def _open_data_set(name: str, config: str) -> Any:
    """Return a data set, whose scorer may look at its configuration. Raises `SpecError` where there is none."""
    known = load_library().DATASETS
    if name not in known:
        raise fault("dataset", name, f"{NAME} {library_version()} has none of this name")
    try:
        data_set = known[name][0](config=known[name][1](**json.loads(config)))
    except Exception as error:
        raise fault("config", config, f"{name} does not take it: {error}") from error
    install()
    return data_set
