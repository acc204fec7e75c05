"""What is known of a word before its neighbours are looked at: its class, by a list, by training or by its ending."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from importlib import resources
from typing import NamedTuple

from learnable.verifiers.poetry.sound.lexicon import load_lexicon
from learnable.verifiers.poetry.sound.poetic_words import respell

MAX_CACHED = 100_000  # words; new ones are classed each time after that
POSSESSIVES = ("'s", "s'")


class WordClass(NamedTuple):
    """The four numbers by which a word enters the model; 0 is the edge of a line, or no such word.

    `kind` is the class, `group` a coarser one. `own` numbers the frequent words, which count by themselves too, and
    `common` is the same number where the word is among the most frequent of those.
    """

    kind: int
    group: int
    own: int
    common: int


EDGE = WordClass(0, 0, 0, 0)


@cache
def load_closed_words() -> Mapping[str, int]:
    """Return the number of the closed class of each word in `closed_words.toml`, from 1."""
    return {word: number for number, name in enumerate(_read_lists(), 1) for word in list_closed_words(name)}


def list_closed_words(name: str) -> list[str]:
    """Return the words of a class in `closed_words.toml`."""
    return _read_lists()[name].split()


@cache
def _read_lists() -> dict[str, str]:
    text = resources.files("learnable.verifiers.poetry.language").joinpath("closed_words.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def count_closed_classes() -> int:
    """Return how many closed classes there are."""
    return max(load_closed_words().values())


@lru_cache(maxsize=MAX_CACHED)
def modern_spelling(word: str) -> str:
    """Return the spelling of today for a word that no dictionary has and that comes near one that it has.

    >>> modern_spelling("vpon"), modern_spelling("darksome"), modern_spelling("smil'd")
    ('upon', 'darksome', 'smiled')
    """
    if len(word) <= 2 or _is_known(word) or word.endswith(POSSESSIVES):
        return word
    return respell(word, _is_known) or word


def _is_known(word: str) -> bool:
    return word in load_closed_words() or word in load_lexicon().entries


def list_endings(word: str) -> list[str]:
    """Return the endings that may tell a word's class, the longest first, and the empty one last.

    >>> list_endings("stormy"), list_endings("sea")
    (['ormy', 'rmy', 'my', 'y', ''], ['a', ''])
    """
    core = word.rstrip("'")
    return [core[-length:] for length in range(4, 0, -1) if len(core) > length + (length > 1)] + [""]


@dataclass(frozen=True)
class Vocabulary:
    """The classes of all words.

    `own` has the frequent words in order; `clusters` the trained class of other words, from 0, and `endings` that of
    words whose ending is all that is known. `coarse` gives each cluster's group, from 0. `most_common` is how many of
    the frequent words have a number in `WordClass.common`.
    """

    own: Sequence[str]
    clusters: Mapping[str, int]
    endings: Mapping[str, int]
    coarse: Sequence[int]
    most_common: int
    _known: dict[str, WordClass] = field(default_factory=dict, compare=False, repr=False)
    _numbers: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def kinds(self) -> int:
        """How many classes there are: the edge of a line, the closed ones, possessives, the clusters, and strangers."""
        return self.strangers + 1

    @property
    def strangers(self) -> int:
        """The class of words that the dictionary has and the verse learned from has not, or once: few in any poem."""
        return count_closed_classes() + 2 + len(self.coarse)

    @cached_property
    def groups(self) -> int:
        """How many coarse classes there are."""
        return count_closed_classes() + 2 + max(self.coarse) + 1

    @cached_property
    def numbers(self) -> int:
        """How many numbers `find_number` gives: one a class and one a frequent word."""
        return self.kinds + len(self.own)

    def find_number(self, kind: WordClass) -> int:
        """Return the number of a word in a table of pairs: its own one after those of the classes, or its class."""
        return self.kinds + kind.own - 1 if kind.own else kind.kind

    def classify(self, word: str) -> WordClass:
        """Return the classes of a word in lower case, in the spelling of today or an old one."""
        if (known := self._known.get(word)) is not None:
            return known
        kind = self._classify(modern_spelling(word))
        if len(self._known) < MAX_CACHED:
            self._known[word] = kind
        return kind

    def _classify(self, word: str) -> WordClass:
        if not self._numbers:
            self._numbers.update({word: number for number, word in enumerate(self.own, 1)})
        own = self._numbers.get(word, 0)
        common = own if own <= self.most_common else 0
        closed = count_closed_classes()
        if number := load_closed_words().get(word):
            return WordClass(number, number, own, common)
        if word.endswith(POSSESSIVES):
            return WordClass(closed + 1, closed + 1, own, common)
        cluster = self.clusters.get(word)
        if cluster is not None:
            return WordClass(closed + 2 + cluster, closed + 2 + self.coarse[cluster], own, common)
        cluster = next(self.endings[ending] for ending in list_endings(word) if ending in self.endings)
        kind = self.strangers if word in load_lexicon().entries else closed + 2 + cluster
        return WordClass(kind, closed + 2 + self.coarse[cluster], own, common)
