"""Closed lists of words that forms name, in `lists.toml`: colours, elements, numbers, questions, times, absences."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources


def word_list(name: str) -> tuple[str, ...]:
    """Return the list called `name`. Raises `ValueError` naming the lists there are."""
    if name not in _word_lists():
        raise ValueError(f"{name!r} is not a word list: use {', '.join(sorted(_word_lists()))}")
    return _word_lists()[name]


@cache
def _word_lists() -> Mapping[str, tuple[str, ...]]:
    text = (
        resources.files("learnable.verifiers.poetry.forms").joinpath("words", "lists.toml").read_text(encoding="utf-8")
    )
    return {name: tuple(words.split()) for name, words in tomllib.loads(text).items()}
