"""Texts to learn from that Debian packages: a dictionary of 1913, WordNet's glosses, and the King James Bible."""

from __future__ import annotations

import gzip
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.language.training.dictionary import (
    Dictionary,
    Words,
    read_dictionary,
    read_words,
    split_sentences,
)

DICTIONARY, WORDNET = Path("/usr/share/dictd/gcide.dict.dz"), Path("/usr/share/dictd/wn.dict.dz")
BIBLE = Path("bible.txt")

_ENTRY = re.compile(r"\n(?=\S)")
_VERSE = re.compile(r"^ *\d+ (.+)$", re.M)


@dataclass(frozen=True)
class PackagedTexts:
    """What the packages say: the dictionary, and sentences of WordNet and of the Bible in their order."""

    dictionary: Dictionary
    glosses: list[Words]
    verses: list[Words]


def add_text_options(parser: ArgumentParser) -> None:
    """Add the options that name the files."""
    for name, path, what in (
        ("--dictionary", DICTIONARY, "of 1913, as Debian's package dict-gcide has it"),
        ("--wordnet", WORDNET, "as Debian's package dict-wn has it"),
        ("--bible", BIBLE, "of King James, as `bible -l1000 gen1:1-rev22:21` of Debian's package bible-kjv prints it"),
    ):
        parser.add_argument(name, type=Path, default=path, help=f"{what} (default: %(default)s)")


def read_packaged(options: Namespace) -> PackagedTexts:
    """Return what the files that the options name say. Raises `LearnableError` for one that is not there."""
    return PackagedTexts(
        read_dictionary(options.dictionary), [*read_glosses(options.wordnet)], [*read_verses(options.bible)]
    )


def read_glosses(path: Path) -> Iterator[Words]:
    """Yield what WordNet says of words, and its examples of their use, once: words that mean the same share them.

    Raises `LearnableError` where there is no such file.
    """
    if not path.is_file():
        raise LearnableError(f"no WordNet at {path}: install Debian's package dict-wn, or name the file (--wordnet)")
    seen: set[Words] = set()
    for entry in _ENTRY.split(gzip.decompress(path.read_bytes()).decode()):
        _, _, body = entry.partition("\n")
        for words in split_sentences(body):
            if words not in seen:
                seen.add(words)
                yield words


def read_verses(path: Path) -> Iterator[Words]:
    """Yield the verses of the Bible. Raises `LearnableError` where there is no such file."""
    if not path.is_file():
        raise LearnableError(
            f"no Bible at {path}: install Debian's package bible-kjv, then `bible -l1000 gen1:1-rev22:21 > {path}`, or "
            "name the file (--bible)"
        )
    yield from map(read_words, _VERSE.findall(path.read_text(encoding="latin-1")))
