"""Salads: texts that keep a poem's shape and lose its language, each kind made by two recipes.

Every salad is made from a human poem, given as its lines, and keeps its number of lines. Most keep its last words too,
so that the rhymes stay and only the language can tell.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from learnable.verifiers.poetry.language.training.corpus import group_by_stress, stress_of
from learnable.verifiers.poetry.language.training.nonsense import load_words
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.lexicon import load_lexicon

Words = tuple[str, ...]
Poem = Sequence[Words]
Recipe = Callable[["Pantry", Poem, random.Random], Poem]

TEMPLATES = (
    ("the", "N", "of", "the", "N"),
    ("a", "N", "and", "a", "N", "in", "the", "N"),
    ("my", "N", "is", "the", "N", "of", "N"),
    ("and", "the", "N", "in", "a", "N", "of", "N"),
)


@dataclass(frozen=True)
class Pantry:
    """What salads are made of: human verse, and a dictionary.

    `verse` has its words, each as often as it stands there; `lines` its lines, for salads of another making.
    """

    verse: Words
    lines: tuple[Words, ...] = ()

    @cached_property
    def dictionary(self) -> Words:
        """Every word of the pronouncing dictionary that is only letters."""
        return tuple(word for word in load_lexicon().entries if word.isascii() and word.isalpha())

    @cached_property
    def by_stress(self) -> dict[str, list[str]]:
        """The dictionary's words by the stresses of their syllables."""
        return group_by_stress(self.dictionary)

    @cached_property
    def verse_by_stress(self) -> dict[str, list[str]]:
        """The different words of the verse by the stresses of their syllables."""
        return group_by_stress(sorted(set(self.verse)))

    @cached_property
    def words_by_stress(self) -> dict[str, list[str]]:
        """The words of the verse by their stresses, each as often as it stands there."""
        return group_by_stress(self.verse)

    @cached_property
    def nouns(self) -> Words:
        """Common nouns."""
        return tuple(load_words()["noun"])

    @cached_property
    def verse_nouns(self) -> Words:
        """The words that stand between an article and `of` in the verse, as only nouns do."""
        words = self.verse
        found = (b for a, b, c in zip(words, words[1:], words[2:], strict=False) if a in ("the", "a") and c == "of")
        return tuple(sorted(set(found)))

    @cached_property
    def rhymes(self) -> list[list[str]]:
        """The dictionary's rhyme classes with twenty words or more."""
        return _rhyme_classes(self.dictionary)

    @cached_property
    def verse_rhymes(self) -> list[list[str]]:
        """The rhyme classes of the verse's words, with ten words or more."""
        return _rhyme_classes(sorted(set(self.verse)), 10)


def _rhyme_classes(words: Sequence[str], least: int = 20) -> list[list[str]]:
    found: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for word in words:
        for phones in load_lexicon().pronunciations(word)[:1]:
            vowels = [place for place, phone in enumerate(phones) if phone[-1] in "12"]
            if vowels:
                found[tuple(phones[vowels[-1] :])].append(word)
    return [members for members in found.values() if len(members) >= least]


def _same_stress(words: dict[str, list[str]], poem: Poem, chance: random.Random) -> Poem:
    return [(*(chance.choice(words.get(stress_of(word)) or [word]) for word in line[:-1]), line[-1]) for line in poem]


def _filled(words: Sequence[str], poem: Poem, chance: random.Random, keep: int = 1) -> Poem:
    """Return the poem with all but the last `keep` words of each line drawn from `words`."""
    return [(*chance.choices(words, k=max(0, len(line) - keep)), *line[len(line) - keep :]) for line in poem]


def _shuffled(words: Words, chance: random.Random) -> Words:
    """Return the words in another order, if they have one."""
    for _ in range(8):
        if (other := tuple(chance.sample(words, len(words)))) != words:
            return other
    return words


def _shuffle_poem(poem: Poem, chance: random.Random, keep: int) -> Poem:
    fronts = [line[: len(line) - keep] for line in poem]
    words = iter(_shuffled(tuple(word for front in fronts for word in front), chance))
    return [
        (*(next(words) for _ in front), *line[len(line) - keep :]) for front, line in zip(fronts, poem, strict=True)
    ]


def _repeat_template(template: Words, nouns: Words, poem: Poem, chance: random.Random) -> Poem:
    return [(*(chance.choice(nouns) if word == "N" else word for word in template[:-1]), line[-1]) for line in poem]


def _rhyme_runs(classes: list[list[str]], poem: Poem, chance: random.Random, joint: str = "") -> Poem:
    lines = []
    for line in poem:
        run = chance.sample(found := chance.choice(classes), min(len(found), len(line)))
        lines.append(tuple(word for one in run for word in ((one, joint) if joint else (one,)))[: len(line)])
    return lines


def _dictionary_run(pantry: Pantry, poem: Poem, chance: random.Random) -> Poem:
    lines = []
    for line in poem:
        start = chance.randrange(len(pantry.dictionary) - 20)
        lines.append(pantry.dictionary[start : start + len(line)])
    return lines


# Two recipes of each kind. `frequent words` is drawn by how often each word stands in verse, so it has the words of
# grammar in their shares, and in no order.
SALADS: dict[str, tuple[Recipe, Recipe]] = {
    "same stress": (
        lambda pantry, poem, chance: _same_stress(pantry.by_stress, poem, chance),
        lambda pantry, poem, chance: _same_stress(pantry.verse_by_stress, poem, chance),
    ),
    "noun list": (
        lambda pantry, poem, chance: _filled(pantry.nouns, poem, chance),
        lambda pantry, poem, chance: _filled(pantry.verse_nouns, poem, chance),
    ),
    "shuffled in lines": (
        lambda pantry, poem, chance: [_shuffled(line, chance) for line in poem],
        lambda pantry, poem, chance: [(*_shuffled(line[:-1], chance), line[-1]) for line in poem],
    ),
    "shuffled in poem": (
        lambda pantry, poem, chance: _shuffle_poem(poem, chance, 0),
        lambda pantry, poem, chance: _shuffle_poem(poem, chance, 1),
    ),
    "template": (
        lambda pantry, poem, chance: _repeat_template(TEMPLATES[0], pantry.nouns, poem, chance),
        lambda pantry, poem, chance: _repeat_template(chance.choice(TEMPLATES[1:]), pantry.verse_nouns, poem, chance),
    ),
    "rhyme run": (
        lambda pantry, poem, chance: _rhyme_runs(pantry.rhymes, poem, chance),
        lambda pantry, poem, chance: _rhyme_runs(pantry.verse_rhymes, poem, chance, "and"),
    ),
    "dictionary words": (
        lambda pantry, poem, chance: _filled(pantry.dictionary, poem, chance, 0),
        _dictionary_run,
    ),
    "frequent words": (
        lambda pantry, poem, chance: _filled(pantry.verse, poem, chance),
        lambda pantry, poem, chance: _filled(pantry.verse, poem, chance, 0),
    ),
}


def make_salads(pantry: Pantry, poem: Sequence[str], chance: random.Random) -> dict[str, list[str]]:
    """Return the salads of a poem, given as its lines, under the names `kind 1` and `kind 2`."""
    read = [line for line in (read_line(text).words for text in poem) if line]
    return {
        f"{kind} {number}": [" ".join(line) for line in recipe(pantry, read, chance)]
        for kind, recipes in SALADS.items()
        for number, recipe in enumerate(recipes, 1)
    }
