"""What instructions take as arguments: the values that fit, and what to give instead of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from learnable.verifiers.instructions.language import known_languages, primary_code

LESS, AT_LEAST = "less than", "at least"


@dataclass(frozen=True, slots=True)
class Argument:
    """Which values an argument may have; `fix` says which, for those that do not fit."""

    fits: Callable[[Any], bool]
    fix: str


def compare(count: int, what: str, wanted: int, relation: str) -> str:
    """Return "" where a count is as wanted, else what is wrong with it.

    >>> compare(3, "words", 3, "at least"), compare(3, "words", 3, "less than")
    ('', '3 words, not less than 3')
    """
    followed = count < wanted if relation == LESS else count >= wanted
    return "" if followed else f"{count} {what}, not {relation} {wanted}"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_text, value))


COUNT = Argument(_is_count, "give a whole number from 0 on")
POSITION = Argument(lambda value: _is_count(value) and value > 0, "give a whole number from 1 on")
RELATION = Argument(lambda value: value in (LESS, AT_LEAST), f'give "{LESS}" or "{AT_LEAST}"')
TEXT = Argument(_is_text, "give a non-empty text")
TEXT_LIST = Argument(_are_texts, 'give a list of texts, as in ["sea", "ship"]')
SIGN = Argument(lambda value: _is_text(value) and len(value.strip()) == 1, "give one letter or other sign")
LANGUAGE_CODE = Argument(
    lambda value: isinstance(value, str) and primary_code(value) in known_languages(),
    f"no answer can be told to be in it here; the languages that can are {', '.join(known_languages())}: leave such "
    "rows out (`skip_bad_rows`), or give a judge of your own",
)
