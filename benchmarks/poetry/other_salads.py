"""Salads of another making than those of `salads.py`.

All but `names` keep the last word of each line of a human poem, so that its rhymes stay. Those in `BEYOND` keep words
of grammar, words of the same class, whole phrases, or most of the poem: the bundled model does not tell each of them
from verse. They are measured, and some miss the target.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import cycle, pairwise

from benchmarks.poetry.salads import Pantry, Poem, Recipe, Words
from learnable.verifiers.poetry.gate import FUNCTION_WORDS
from learnable.verifiers.poetry.language.training.corpus import fill_between, redraw_between
from learnable.verifiers.poetry.language.training.nonsense import PARTS, load_words, write_nonsense
from learnable.verifiers.poetry.language.word_classes import load_closed_words
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.sound.lexicon import load_lexicon

# Frames of grammar with open places, each said again and again with other words.
FRAMES = (
    ("and", "the", "N", "and", "the"),
    ("the", "N", "and", "the", "N", "and", "the"),
    ("in", "the", "N", "of", "the", "N", "with", "the"),
    ("a", "N", "a", "N", "a", "N", "a"),
    ("the", "J", "N", "the", "J", "N", "the"),
    ("of", "N", "and", "N", "and", "of", "the"),
    ("or", "N", "or", "N", "but", "not", "the"),
    ("with", "J", "N", "and", "J", "N", "and"),
)
FILLER = """
o thou alas thy thee hath doth ye lo hark behold ah forsooth verily methinks perchance nay oft ere thine prithee unto
""".split()
GLUE = "the and of a in to with my her his on by for from".split()
SHORTEST_NAME = 4


class Chain:
    """A Markov chain of the first order over the words of lines, read from their ends."""

    def __init__(self, lines: Sequence[Words]) -> None:
        """Count what stands before each word; the empty word is the line's beginning."""
        self.before: defaultdict[str, list[str]] = defaultdict(list)
        for line in lines:
            for one, other in pairwise(("", *line)):
                self.before[other].append(one)

    def write(self, last: str, size: int, chance: random.Random) -> Words:
        """Return `size` words that end on `last`, each drawn by how often it stands before the next."""
        words = [last]
        while len(words) < size:
            found = [word for word in self.before.get(words[0], ()) if word] or list(self.before)
            words.insert(0, chance.choice(found))
        return tuple(words)


class Larder:
    """What is made once of a pantry."""

    def __init__(self, pantry: Pantry) -> None:
        """Remember the pantry."""
        self.pantry = pantry

    @cached_property
    def chain(self) -> Chain:
        """The chain of its lines."""
        return Chain(self.pantry.lines)

    @cached_property
    def classes(self) -> dict[str, list[str]]:
        """Words of the verse by part of speech where that is known, else by their last three letters."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for word in sorted(set(self.pantry.verse)):
            if word not in load_closed_words():
                found[_class_of(word)].append(word)
        return dict(found)

    @cached_property
    def endings(self) -> dict[str, list[str]]:
        """The words of the pronouncing dictionary by their last two letters."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for word in self.pantry.dictionary:
            found[_ending_of(word)].append(word)
        return dict(found)

    @cached_property
    def meaning(self) -> Words:
        """The words of the verse that are none of grammar, each as often as it stands there."""
        return tuple(word for word in self.pantry.verse if word not in load_closed_words())


@cache
def _larder(pantry: Pantry) -> Larder:
    return Larder(pantry)


@cache
def _parts() -> dict[str, str]:
    return {
        word: part
        for part in reversed(("noun", "adjective", "transitive", "intransitive", "adverb"))
        for word in load_words()[part]
    }


def _class_of(word: str) -> str:
    return _parts().get(word) or word[-3:]


@cache
def _names() -> Words:
    """Return words of the dictionary of which only the possessive tells that they are names."""
    known = load_lexicon().entries
    common = set(_parts()) | FUNCTION_WORDS
    return tuple(
        word[:-2]
        for word in known
        if word.endswith("'s") and len(word) > SHORTEST_NAME + 1 and word[:-2].isalpha() and word[:-2] not in common
    )


def _pick(tag: str, chance: random.Random) -> str:
    return chance.choice(load_words()[PARTS[tag]])


def _parse(line: Words, chance: random.Random) -> Words:
    """Return a line of about as many words that is grammatical in its parts of speech and means nothing."""
    part = _parts().get(line[-1], "noun")
    return write_nonsense(chance, len(line), line[-1], part if part != "transitive" else "noun")


def _frame(frame: Words, line: Words, chance: random.Random) -> Words:
    return (*(_pick(word, chance) if word in PARTS else word for word in frame), line[-1])


def _ending_of(word: str) -> str:
    return word[-2:]


def _take_turns(other: Words, line: Words) -> Words:
    """Return the line with the words of meaning of another one for its own, in their order, again and again."""
    closed = load_closed_words()
    words = cycle([word for word in other if word not in closed] or ["nothing"])
    return (*(word if word in closed else next(words) for word in line[:-1]), line[-1])


def _glue(pantry: Pantry, poem: Poem, chance: random.Random) -> Poem:
    """Return the second half of each line after the first half of any other poem's line."""
    lines = []
    for line in poem:
        other = chance.choice(pantry.lines)
        lines.append((*other[: len(other) // 2], *line[len(line) // 2 :]))
    return lines


def _swap(line: Words) -> Words:
    words = list(line[:-1])
    for place in range(0, len(words) - 1, 2):
        words[place], words[place + 1] = words[place + 1], words[place]
    return (*words, line[-1])


def _exchange(line: Words, chance: random.Random) -> Words:
    """Return the line with two of its words of meaning, other than the last, in each other's places."""
    words = list(line)
    places = [place for place, word in enumerate(line[:-1]) if word not in load_closed_words()]
    if len(places) > 1:
        one, other = chance.sample(places, 2)
        words[one], words[other] = words[other], words[one]
    return tuple(words)


def _shuffle_runs(line: Words, size: int, chance: random.Random) -> Words:
    """Return the line with each run of so many words, other than the last word, in another order."""
    *others, last = line
    runs = [others[start : start + size] for start in range(0, len(others), size)]
    return (*(word for run in runs for word in chance.sample(run, len(run))), last)


def _move_within(poem: Poem, chance: random.Random) -> Poem:
    """Return the poem with its words of meaning, other than the last of lines, in each other's places."""
    closed = load_closed_words()
    words = [word for line in poem for word in line[:-1] if word not in closed]
    drawn = iter(chance.sample(words, len(words)))
    return [(*(word if word in closed else next(drawn) for word in line[:-1]), line[-1]) for line in poem]


def _names_in(poem: Poem, chance: random.Random) -> Poem:
    return [tuple(chance.choices(_names(), k=max(2, len(line) // 2))) for line in poem]


def _filled_with(words: Sequence[str], line: Words, chance: random.Random) -> Words:
    return (*chance.choices(words, k=len(line) - 1), line[-1])


def _by_line(recipe: Callable[[Words, random.Random], Words]) -> Recipe:
    return lambda _, poem, chance: [recipe(line, chance) for line in poem]


def _one_frame(pantry: Pantry, poem: Poem, chance: random.Random) -> Poem:
    frame = chance.choice(FRAMES)
    return [_frame(frame, line, chance) for line in poem]


BEYOND = (
    "words of the same class",
    "words of the same stress between those of grammar",
    "words of meaning between those of grammar",
    "dictionary words of the same stress between those of grammar",
    "any words of the verse of the same stress between those of grammar",
    "dictionary words of the same ending between those of grammar",
    "another line's words between those of grammar",
    "chain of pairs",
    "halves of other lines",
    "its own words of meaning in other places",
    "two words of meaning exchanged in each line",
    "each three words shuffled",
    "every second line shuffled",
)
OTHER_SALADS: dict[str, Recipe] = {
    "parts of speech in templates": _by_line(_parse),
    "words of the same class": lambda pantry, poem, chance: [
        redraw_between(line, _larder(pantry).classes, chance, _class_of) for line in poem
    ],
    "words of the same stress between those of grammar": lambda pantry, poem, chance: [
        redraw_between(line, pantry.words_by_stress, chance) for line in poem
    ],
    "words of meaning between those of grammar": lambda pantry, poem, chance: [
        fill_between(line, _larder(pantry).meaning, chance) for line in poem
    ],
    "dictionary words of the same stress between those of grammar": lambda pantry, poem, chance: [
        redraw_between(line, pantry.by_stress, chance) for line in poem
    ],
    "any words of the verse of the same stress between those of grammar": lambda pantry, poem, chance: [
        redraw_between(line, pantry.verse_by_stress, chance) for line in poem
    ],
    "dictionary words of the same ending between those of grammar": lambda pantry, poem, chance: [
        redraw_between(line, _larder(pantry).endings, chance, _ending_of) for line in poem
    ],
    "another line's words between those of grammar": lambda pantry, poem, chance: [
        _take_turns(chance.choice(pantry.lines), line) for line in poem
    ],
    "chain of pairs": lambda pantry, poem, chance: [
        _larder(pantry).chain.write(line[-1], len(line), chance) for line in poem
    ],
    "halves of other lines": _glue,
    "its own words of meaning in other places": lambda _, poem, chance: _move_within(poem, chance),
    "two words of meaning exchanged in each line": _by_line(_exchange),
    "each three words shuffled": _by_line(lambda line, chance: _shuffle_runs(line, 3, chance)),
    "every second line shuffled": lambda _, poem, chance: [
        line if number % 2 else _shuffle_runs(line, len(line), chance) for number, line in enumerate(poem)
    ],
    "names": lambda _, poem, chance: _names_in(poem, chance),
    "one frame": _one_frame,
    "many frames": _by_line(lambda line, chance: _frame(chance.choice(FRAMES), line, chance)),
    "nouns with articles": _by_line(
        lambda line, chance: (
            *(word for _ in range(len(line) // 2) for word in (chance.choice(("a", "the")), _pick("N", chance))),
            line[-1],
        )
    ),
    "piles of adjectives": _by_line(
        lambda line, chance: ("the", *(_pick("J", chance) for _ in range(len(line) - 3)), _pick("N", chance), line[-1])
    ),
    "backwards": _by_line(lambda line, _: (*line[-2::-1], line[-1])),
    "neighbours swapped": _by_line(lambda line, _: _swap(line)),
    "archaic filler": _by_line(lambda line, chance: _filled_with(FILLER, line, chance)),
    "words of grammar": _by_line(lambda line, chance: _filled_with(sorted(FUNCTION_WORDS), line, chance)),
    "words of grammar and of the dictionary by turns": lambda pantry, poem, chance: [
        tuple(
            word if place == len(line) - 1 else chance.choice(pantry.dictionary if place % 2 else GLUE)
            for place, word in enumerate(line)
        )
        for line in poem
    ],
    "every other word drawn": lambda pantry, poem, chance: [
        tuple(
            chance.choice(pantry.verse) if place % 2 and place < len(line) - 1 else word
            for place, word in enumerate(line)
        )
        for line in poem
    ],
}


def make_other_salads(pantry: Pantry, poem: Sequence[str], chance: random.Random) -> dict[str, list[str]]:
    """Return the salads of a poem, given as its lines, by kind."""
    read = [line for line in (read_line(text).words for text in poem) if line]
    return {kind: [" ".join(line) for line in recipe(pantry, read, chance)] for kind, recipe in OTHER_SALADS.items()}
