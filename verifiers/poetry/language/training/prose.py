"""Prose from docstrings and from packaged texts: in pieces of a line's length, and in sentences."""

from __future__ import annotations

import random
import re
import sysconfig
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from learnable.verifiers.poetry.language.training.corpus import spell_today
from learnable.verifiers.poetry.language.training.dictionary import Dictionary, Words
from learnable.verifiers.poetry.language.training.packaged import PackagedTexts

PACKAGES = ("matplotlib", "networkx", "numpy", "pandas", "scipy", "sqlalchemy", "sympy", "torch")
DOCSTRINGS, QUOTED, DEFINING = 20_000, 50_000, 50_000  # pieces
SHORTEST, LENGTHS = 5, (6, 10)  # words of a piece: at its end, and elsewhere

_DOCSTRING = re.compile(r'("""|\'\'\')(.*?)\1', re.S)
_PROSE_WORD = re.compile(r"[A-Za-z][a-z]*(?:'[a-z]+)?")


def read_prose(dictionary: Dictionary, chance: random.Random) -> list[Words]:
    """Return pieces of sentences: of docstrings, and of what a dictionary quotes and says."""
    quoted = _cut(dictionary.quoted, QUOTED, chance)
    defining = _cut(dictionary.defining, DEFINING, chance)
    return read_docstrings(chance, DOCSTRINGS) + [spell_today(piece) for piece in quoted + defining]


def read_sentences(packaged: PackagedTexts) -> list[Words]:
    """Return whole sentences in their order: what a dictionary quotes and says, WordNet, the Bible, and docstrings."""
    dictionary = packaged.dictionary
    every = chain(dictionary.quoted, dictionary.defining, packaged.glosses, packaged.verses, _read_docstrings())
    return [*map(spell_today, every)]


def read_docstrings(chance: random.Random, count: int) -> list[Words]:
    """Return pieces of sentences from the docstrings of Python and of `PACKAGES`."""
    return _cut(sorted(_read_docstrings()), count, chance)


def _read_docstrings() -> Iterable[Words]:
    """Return the different sentences of the docstrings, in their order."""
    library, site = (Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib"))
    own = (path for path in library.rglob("*.py") if "site-packages" not in path.parts)
    files = [*sorted(own), *chain.from_iterable(sorted((site / name).rglob("*.py")) for name in PACKAGES)]
    # Source files of more than 400,000 bytes are left out.
    return dict.fromkeys(words for path in files if path.stat().st_size <= 400_000 for words in _sentences(path))


def _cut(sentences: Iterable[Words], count: int, chance: random.Random) -> list[Words]:
    pieces = []
    for words in sentences:
        start = 0
        while len(words) - start >= SHORTEST:
            size = chance.randint(*LENGTHS)
            pieces.append(words[start : start + size])
            start += size
    chance.shuffle(pieces)
    return pieces[:count]


def _sentences(path: Path) -> Iterator[Words]:
    """Yield the sentences of a file's docstrings that are nothing but words."""
    if "test" in path.parent.name:
        return
    for _, text in _DOCSTRING.findall(path.read_text(encoding="utf-8", errors="ignore")):
        for paragraph in re.split(r"\n\s*\n", text):
            for sentence in re.split(r"(?<=[.!?;:])\s+", " ".join(paragraph.split())):
                words = tuple(word.strip('.,;:!?()"') for word in sentence.split())
                if len(words) > SHORTEST and all(map(_PROSE_WORD.fullmatch, words)):
                    yield tuple(map(str.lower, words))
