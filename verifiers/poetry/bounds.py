"""The numbers that were tuned on verse: `bounds.toml` has them, each with what it means and where it is from."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class LanguageBounds:
    """How log-odds per word become the credit of lines and poems."""

    lost: float
    sure: float
    beyond: float
    last_part: float
    line_leaning: float
    prior_fluency: float
    prior_words: float
    words_read: int
    words_told: float
    lenience: float
    forgiven: float
    sense: float
    enough: float
    spared: float
    usual_strangers: float
    usual_sense: float
    usual_words: int
    line_sense: float
    full_line: int
    lines_needed: float
    doubt: float
    varied: float
    formulaic: float
    alike: float
    poor: float
    calm: float
    filler: float
    needed: float


@dataclass(frozen=True, slots=True)
class GrammarBounds:
    """How many different words of grammar sentences need."""

    words_told: int
    least: float
    per_word: float
    most: float
    doubt: float


@dataclass(frozen=True, slots=True)
class SamenessBounds:
    """Where patterns of words are looked for."""

    near: int
    lent: int


@dataclass(frozen=True, slots=True)
class MetreBounds:
    """How the cost of a place becomes the credit of lines and poems."""

    needed: float
    lenience: float
    doubt: float
    no_credit: float
    regular: float
    last_part: float
    keeps: float
    reads_as: float
    line_leaning: float
    rivalry: float
    most: float


@dataclass(frozen=True, slots=True)
class ValidityBounds:
    """How much a poem may say again."""

    new: float
    retold: float


_TABLES = tomllib.loads(resources.files("learnable.verifiers.poetry").joinpath("bounds.toml").read_text("utf-8"))
LANGUAGE = LanguageBounds(**_TABLES["language"])
GRAMMAR = GrammarBounds(**_TABLES["grammar"])
SAMENESS = SamenessBounds(**_TABLES["sameness"])
METRE = MetreBounds(**_TABLES["metre"])
VALIDITY = ValidityBounds(**_TABLES["validity"])
