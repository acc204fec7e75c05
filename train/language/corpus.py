"""What the language model learns from: lines of public verse, prose from docstrings, and both spoilt."""

from __future__ import annotations

import json
import random
import re
import sysconfig
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError
from learnable.train.language.nonsense import write_nonsense
from learnable.verifiers.poetry.language.word_classes import load_closed_words
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.lexicon import load_lexicon

Words = tuple[str, ...]

STANZA = 14  # lines: longer poems are cut, so that halves of authors come out alike in size
OWN_WEIGHT = 4.0  # of each line of our own verse: there is little of it
NONSENSE_WORDS = (4, 5, 6, 6, 7, 7, 8, 8, 9)  # of a line
MIN_GRAMMAR = 0.15  # share of words of grammar below which a collected poem is a list, and teaches nothing
PACKAGES = ("matplotlib", "networkx", "numpy", "pandas", "scipy", "sqlalchemy", "sympy", "torch")
GRAMMAR_WORDS = 40  # of each class, to spoil lines with
MAX_SOURCE = 400_000  # bytes of a source file that is read
SEGMENTS = 60_000  # of prose

_DOCSTRING = re.compile(r'("""|\'\'\')(.*?)\1', re.S)
_PROSE_WORD = re.compile(r"[A-Za-z][a-z]*(?:'[a-z]+)?")


@dataclass(frozen=True, slots=True)
class Verse:
    """Lines of one poem or stanza, and who wrote it: poems of one author are learned from together or not at all."""

    author: str
    lines: tuple[Words, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Example:
    """A line to learn from. `edges` says whether it begins and ends where a line does; prose is cut anywhere."""

    words: Words
    is_language: bool
    edges: bool
    weight: float


def read_verse(folder: Path) -> Iterator[Verse]:
    """Yield the verse to learn from. Raises `LearnableError` where the folder of public verse is not there."""
    if not folder.is_dir():
        raise LearnableError(f"no public verse in {folder}: set LEARNABLE_DATA to the folder that has poetry/")
    for row in _rows(folder / "rhyme_schemes.jsonl"):
        lines = [line for stanza in row["stanzas"] for line in stanza["lines"]]
        for start in range(0, len(lines), STANZA):
            yield _read(row["period"], lines[start : start + STANZA])
    # Poems whose author is one, or unknown: the odd ones and the even ones stand for two authors.
    for name in ("shakespeare_sonnets", "limericks"):
        for index, row in enumerate(_rows(folder / f"{name}.jsonl")):
            yield _read(f"{name} {index % 2}", row["lines"])
    for index, row in enumerate(_rows(folder / "form_poems.jsonl")):
        verse = _read(f"form_poems {index % 2}", row["poem"].splitlines())
        words = [word for line in verse.lines for word in line]
        if sum(word in load_closed_words() for word in words) >= MIN_GRAMMAR * len(words):
            yield verse


def read_own_verse() -> Iterator[Verse]:
    """Yield plain verse of today, written for this."""
    text = resources.files("learnable.train.language").joinpath("modern_verse.toml").read_text(encoding="utf-8")
    for index, stanza in enumerate(tomllib.loads(text)["verse"].split("\n\n")):
        yield _read(f"own {index % 2}", stanza.splitlines(), OWN_WEIGHT)


def make_nonsense(count: int, chance: random.Random) -> Iterator[Words]:
    """Yield lines of grammatical nonsense."""
    for _ in range(count):
        yield write_nonsense(chance, chance.choice(NONSENSE_WORDS))


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _read(author: str, lines: Iterable[str], weight: float = 1.0) -> Verse:
    read = (read_line(line).words for line in lines)
    return Verse(author, tuple(words for words in read if words), weight)


def assign_halves(verse: Iterable[Verse]) -> dict[str, int]:
    """Return for each author a half, 0 or 1, of about as many words each."""
    sizes: dict[str, int] = {}
    for poem in verse:
        sizes[poem.author] = sizes.get(poem.author, 0) + sum(map(len, poem.lines))
    totals, half_of = [0, 0], {}
    for author in sorted(sizes, key=lambda name: (-sizes[name], name)):
        half = int(author[-1]) if author[-2:] in (" 0", " 1") else int(totals[1] < totals[0])
        half_of[author] = half
        totals[half] += sizes[author]
    return half_of


def read_prose(chance: random.Random) -> list[Words]:
    """Return pieces of sentences, six to ten words each, from the docstrings of Python and of `PACKAGES`."""
    library, site = (Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib"))
    own = (path for path in library.rglob("*.py") if "site-packages" not in path.parts)
    files = sorted(chain(own, *((site / name).rglob("*.py") for name in PACKAGES)))
    sentences = {words for path in files if path.stat().st_size <= MAX_SOURCE for words in _sentences(path)}
    pieces = []
    for words in sorted(sentences):
        start = 0
        while len(words) - start >= 5:
            size = chance.randint(6, 10)
            pieces.append(words[start : start + size])
            start += size
    chance.shuffle(pieces)
    return pieces[:SEGMENTS]


def _sentences(path: Path) -> Iterator[Words]:
    """Yield the sentences of a file's docstrings that are nothing but words."""
    if "test" in path.parent.name:
        return
    for _, text in _DOCSTRING.findall(path.read_text(encoding="utf-8", errors="ignore")):
        for paragraph in re.split(r"\n\s*\n", text):
            for sentence in re.split(r"(?<=[.!?;:])\s+", " ".join(paragraph.split())):
                words = tuple(word.strip('.,;:!?()"') for word in sentence.split())
                if len(words) > 5 and all(map(_PROSE_WORD.fullmatch, words)):
                    yield tuple(map(str.lower, words))


def make_examples(verse: Iterable[Verse], prose: Sequence[Words], chance: random.Random) -> Iterator[Example]:
    """Yield each line of verse and piece of prose, and what becomes of it spoilt in the ways of salads.

    A line is shuffled; all but its last word are drawn from the verse, by frequency; and one of these: they are drawn
    from the dictionary, every other word is drawn, or they are words without grammar, or words of grammar alone, of
    each class as many.
    """
    weighted = [(line, poem.weight) for poem in verse for line in poem.lines if len(line) > 1]
    lines = [line for line, _ in weighted]
    words, prose_words = [*chain.from_iterable(lines)], [*chain.from_iterable(prose)]
    dictionary = [word for word in load_lexicon().entries if word.isascii() and word.isalpha()]
    grammar = draw_grammar(chance)
    content = [word for word in words if word not in load_closed_words()]
    for line, weight in weighted:
        yield Example(line, True, True, 1.5 * weight)
        yield Example(shuffle(line, chance), False, True, 0.7)
        yield Example(_redraw(line, words, chance), False, True, 0.4)
        turn = chance.random()
        if turn < 0.4:
            yield Example(_redraw(line, dictionary, chance), False, True, 1.0)
        elif turn < 0.7:
            yield Example(_redraw(line, words, chance, 0.5), False, True, 0.4)
        elif turn < 0.78:
            yield Example(_redraw(line, grammar, chance), False, True, 1.0)
        else:
            yield Example(_redraw(line, content, chance), False, True, 1.0)
    for piece in prose:
        yield Example(piece, True, False, 0.4)
        yield Example(shuffle(piece, chance), False, False, 0.25)
        yield Example(_redraw(piece, prose_words, chance), False, False, 0.15)


def draw_grammar(chance: random.Random) -> list[str]:
    """Return words of grammar, interjections and old ones among them, of each class as many.

    Verse has them one by one: many in a row are filler.
    """
    classes: dict[int, list[str]] = {}
    for word, number in load_closed_words().items():
        classes.setdefault(number, []).append(word)
    return [chance.choice(words) for words in classes.values() for _ in range(GRAMMAR_WORDS)]


def shuffle(words: Words, chance: random.Random) -> Words:
    """Return the words in another order, where there is one."""
    for _ in range(5):
        if (other := tuple(chance.sample(words, len(words)))) != words:
            return other
    return words[::-1]


def _redraw(line: Words, words: Sequence[str], chance: random.Random, share: float = 1.0) -> Words:
    return (*(chance.choice(words) if chance.random() < share else word for word in line[:-1]), line[-1])
