"""Language: whether the poem reads as sentences of verse."""

from __future__ import annotations

from learnable.verifiers.poetry.bounds import LANGUAGE
from learnable.verifiers.poetry.constraints.case import PoemCase, Shares
from learnable.verifiers.poetry.forms import Form
from learnable.verifiers.poetry.language.reading import LanguageReading, read_language

# Rules of a form that make its lines alike.
ALIKE = ("same_start", "radif", "contains")
ALIKE_SPECIAL = frozenset(["doubled_last_line", "self_referential", "positional"])


def judge_language(case: PoemCase) -> Shares:
    """How surely the lines read as verse: their mean credit, and the share for the poem as a whole."""
    reading = read_case(case)
    return Shares(reading.earn(find_wanted(case.form)), reading.strict)


def find_wanted(form: Form) -> float:
    """Return the share of language that the reward asks for: what a pass needs, or the usual where none is needed."""
    return form.threshold("language", LANGUAGE.needed) or LANGUAGE.needed


def credit_lines(case: PoemCase) -> list[float]:
    """Return for each line of the poem how much it reads as one of verse, in [0, 1]."""
    return read_case(case).credits


def read_case(case: PoemCase) -> LanguageReading:
    """Return how the poem reads, by the rules of its form."""
    return read_language([line.words for line in case.poem.lines], may_be_alike(case.form))


def may_be_alike(form: Form) -> bool:
    """Whether the form's own rules make its lines alike."""
    return any(getattr(form, key) for key in ALIKE) or not ALIKE_SPECIAL.isdisjoint(form.special)
