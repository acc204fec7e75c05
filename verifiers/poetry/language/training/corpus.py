"""What the language model learns from: lines of verse, pieces of prose, and both spoilt.

Words that no dictionary has are read in the spelling of today, as the verifier reads them.
"""

from __future__ import annotations

import json
import random
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.language.training.dictionary import Dictionary, Words
from learnable.verifiers.poetry.language.training.nonsense import load_words, write_nonsense
from learnable.verifiers.poetry.language.word_classes import load_closed_words, modern_spelling
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.lexicon import load_lexicon

QUOTED = "quoted "  # before the name of an author of whom a dictionary has lines
STANZA = 14  # lines: longer poems are cut, so that halves of authors come out alike in size
NONSENSE_WORDS = (4, 5, 6, 6, 7, 7, 8, 8, 9)  # of a line
LIST_WORDS = (2, 3, 3, 4, 4, 5, 6, 7)  # of a line of a list
# Weights of a line as it is, of one that is words of meaning alone, and of those with other words of meaning between
# the words of grammar, of the same stress and of any: words of the verse by frequency, or rare ones.
WHOLE, HEAPED = 3.8, 3.0
BETWEEN, RARE_BETWEEN = (0.5, 0.5), (0.8, 0.2)


@dataclass(frozen=True, slots=True)
class Verse:
    """Lines of one poem or stanza, and who wrote it: poems of one author are learned from together or not at all."""

    author: str
    lines: tuple[Words, ...]


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
        # A collected poem with fewer words of grammar is a list, and teaches nothing.
        if has_grammar([word for line in verse.lines for word in line], 0.15):
            yield verse


def has_grammar(words: Sequence[str], share: float) -> bool:
    """Return whether words of grammar are at least this share of the words."""
    return sum(word in load_closed_words() for word in words) >= share * len(words)


def read_own_verse() -> Iterator[Verse]:
    """Yield verse of today, written for this."""
    folder = resources.files("learnable.verifiers.poetry.language.training")
    text = folder.joinpath("modern_verse.toml").read_text(encoding="utf-8")
    stanzas = chain.from_iterable(part.split("\n\n") for part in tomllib.loads(text).values())
    for index, stanza in enumerate(stanzas):
        yield _read(f"own {index % 2}", stanza.splitlines())


def read_quoted_verse(dictionary: Dictionary) -> Iterator[Verse]:
    """Yield the verse that a dictionary quotes, by author."""
    for author, lines in dictionary.verse.items():
        yield Verse(f"{QUOTED}{author}", tuple(map(spell_today, lines)))


def make_nonsense(count: int, chance: random.Random) -> Iterator[Words]:
    """Yield lines of grammatical nonsense."""
    for _ in range(count):
        yield write_nonsense(chance, chance.choice(NONSENSE_WORDS))


def make_lists(count: int, chance: random.Random) -> Iterator[Words]:
    """Yield lines that are nothing but words of one part of speech."""
    parts = [tuple(words) for words in load_words().values()]
    for _ in range(count):
        yield tuple(chance.choices(chance.choice(parts), k=chance.choice(LIST_WORDS)))


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _read(author: str, lines: Iterable[str]) -> Verse:
    read = (read_line(line).words for line in lines)
    return Verse(author, tuple(spell_today(words) for words in read if words))


def spell_today(words: Words) -> Words:
    """Return the words in the spelling of today."""
    return tuple(map(modern_spelling, words))


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


def pick_half(verse: Sequence[Verse], quoted: Iterable[Verse], half: int) -> list[Verse]:
    """Return the poems of one half of the authors, and what is quoted of nobody who is in the other half."""
    halves = assign_halves(verse)
    others = [author for author, assigned in halves.items() if assigned != half]
    learned = [poem for poem in verse if halves[poem.author] == half]
    return learned + [poem for poem in quoted if not any(map(str.startswith, others, repeat(_surname(poem.author))))]


def _surname(author: str) -> str:
    """Return how the name of a quoted author ends: it is often cut short, as Shak. for Shakespeare."""
    return author.split()[-1].strip(".").lower()


def make_examples(verse: Iterable[Verse], prose: Sequence[Words], chance: random.Random) -> Iterator[Example]:
    """Yield each line of verse and piece of prose, and what becomes of it spoilt in the ways of salads."""
    yield from _spoil_verse(verse, chance)
    yield from _spoil_prose(prose, chance)


def _spoil_verse(verse: Iterable[Verse], chance: random.Random) -> Iterator[Example]:
    """Yield each line and what becomes of it spoilt.

    A line is shuffled; all but its last word are drawn from the verse, by frequency; all but that and the words of
    grammar are, each of the stresses that stood there, and any, and once more rare ones, from the verse's different
    words or the dictionary's; and one of these: they are drawn from the dictionary, every other word is drawn, or they
    are words without grammar, or words of grammar alone, of each class as many.
    """
    lines = [line for poem in verse for line in poem.lines if len(line) > 1]
    words = [*chain.from_iterable(lines)]
    dictionary = [word for word in load_lexicon().entries if word.isascii() and word.isalpha()]
    grammar = draw_grammar(chance)
    pools = words, sorted(set(words)), dictionary
    stressed, meant = [*map(group_by_stress, pools)], [*map(_leave_out_grammar, pools)]
    for line in lines:
        yield Example(line, True, True, WHOLE)
        yield Example(shuffle(line, chance), False, True, 0.7)
        yield Example(_redraw(line, words, chance), False, True, 0.4)
        for pool, shares in ((0, BETWEEN), (chance.choice((1, 2)), RARE_BETWEEN)):
            between = redraw_between(line, stressed[pool], chance), fill_between(line, meant[pool], chance)
            for other, share in zip(between, shares, strict=True):
                if other != line:
                    yield Example(other, False, True, share)
        turn = chance.random()
        if turn < 0.4:
            yield Example(_redraw(line, dictionary, chance), False, True, 1.0)
        elif turn < 0.7:
            yield Example(_redraw(line, words, chance, 0.5), False, True, 0.4)
        elif turn < 0.78:
            yield Example(_redraw(line, grammar, chance), False, True, 1.0)
        else:
            yield Example(_redraw(line, meant[0], chance), False, True, HEAPED)


def _spoil_prose(prose: Sequence[Words], chance: random.Random) -> Iterator[Example]:
    """Yield each piece that is no list, and the same shuffled, drawn by frequency, and drawn without grammar."""
    words = [*chain.from_iterable(prose)]
    content = _leave_out_grammar(words)
    for piece in prose:
        # Pieces of prose with fewer words of grammar are lists of words that mean much the same.
        if has_grammar(piece, 0.3):
            yield Example(piece, True, False, 0.4)
            yield Example(shuffle(piece, chance), False, False, 0.25)
            yield Example(_redraw(piece, words, chance), False, False, 0.15)
            yield Example(_redraw(piece, content, chance), False, False, 0.2)


def _leave_out_grammar(words: Iterable[str]) -> list[str]:
    return [word for word in words if word not in load_closed_words()]


def draw_grammar(chance: random.Random) -> list[str]:
    """Return words of grammar, interjections and old ones among them, of each class as many.

    Verse has them one by one: many in a row are filler.
    """
    classes: dict[int, list[str]] = {}
    for word, number in load_closed_words().items():
        classes.setdefault(number, []).append(word)
    # Lines are spoilt with the 40 most frequent words of each class.
    return [chance.choice(words) for words in classes.values() for _ in range(40)]


def shuffle(words: Words, chance: random.Random) -> Words:
    """Return the words in another order, where there is one."""
    for _ in range(5):
        if (other := tuple(chance.sample(words, len(words)))) != words:
            return other
    return words[::-1]


def _redraw(line: Words, words: Sequence[str], chance: random.Random, share: float = 1.0) -> Words:
    return (*(chance.choice(words) if chance.random() < share else word for word in line[:-1]), line[-1])


def group_by_stress(words: Iterable[str]) -> dict[str, list[str]]:
    """Return the words by their stresses, each as often as it comes."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for word in words:
        groups[stress_of(word)].append(word)
    return dict(groups)


def stress_of(word: str) -> str:
    """Return the stresses of a word's first pronunciation: `1` or `2` as `1`; `?` where the dictionary lacks it."""
    known = load_lexicon().pronunciations(word)
    return "".join("0" if phone[-1] == "0" else "1" for phone in known[0] if phone[-1].isdigit()) if known else "?"


def redraw_between(
    line: Words,
    words: Mapping[str, Sequence[str]],
    chance: random.Random,
    kind_of: Callable[[str], str] = stress_of,
) -> Words:
    """Return a line whose last word and words of grammar stay; `words` of the same kind take the other places."""
    closed = load_closed_words()
    return (
        *(word if word in closed else chance.choice(words.get(kind_of(word)) or [word]) for word in line[:-1]),
        line[-1],
    )


def fill_between(line: Words, words: Sequence[str], chance: random.Random) -> Words:
    """Return a line whose last word and words of grammar stay; any of `words` take the other places."""
    closed = load_closed_words()
    return (*(word if word in closed else chance.choice(words) for word in line[:-1]), line[-1])
