"""Closed lists of words that forms name: colours, elements, numbers, questions, times, absences."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources


@cache
def word_lists() -> Mapping[str, tuple[str, ...]]:
    """Return every list by name."""
    text = resources.files("learnable.data.forms").joinpath("words", "lists.toml").read_text(encoding="utf-8")
    return {name: tuple(words.split()) for name, words in tomllib.loads(text).items()}


def word_list(name: str) -> tuple[str, ...]:
    """Return the list called `name`. Raises `ValueError` naming the lists there are."""
    if name not in word_lists():
        raise ValueError(f"{name!r} is no word list: use {', '.join(sorted(word_lists()))}")
    return word_lists()[name]
