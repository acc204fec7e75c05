"""Words of dialect as the words of standard English that they stand for, so that dialect reads as language."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources


@cache
def load_dialect() -> Mapping[str, str]:
    """Return the standard word for each word of dialect in `dialect.toml`."""
    text = resources.files("learnable.verifiers.poetry.language").joinpath("dialect.toml").read_text("utf-8")
    entries = " | ".join(part.replace("\n", " | ") for part in tomllib.loads(text).values()).split("|")
    spellings: dict[str, str] = {}
    for entry in filter(None, map(str.strip, entries)):
        word, standard = entry.split()
        spellings[word] = standard
    return spellings


def write_standard(words: Sequence[str]) -> tuple[str, ...]:
    """Return words in lower case with the standard word for each of dialect.

    >>> write_standard(("frae", "the", "auld", "toun"))
    ('from', 'the', 'old', 'town')
    """
    table = load_dialect()
    return tuple([table.get(word, word) for word in words])
