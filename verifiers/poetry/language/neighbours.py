"""The log-odds that a line is verse and no salad, as a sum over its neighbouring words: a table look-up each.

The tables are learned by `training` beside this module, which tells lines of verse and prose from the same ones
shuffled or filled with other words (logistic regression). They have one weight for each pair of neighbours, where a
word that is not frequent is its class alone, and one for three coarse classes in a row: no text can be read out of it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from learnable.verifiers.poetry.language.word_classes import EDGE, Vocabulary
from learnable.verifiers.poetry.sound.word_table import WordTable

MAX_SCORED_WORDS = 120  # of a line; what follows is not read

Place = tuple[int, int, int, int, int]


@dataclass(frozen=True, eq=False)
class NeighbourModel:
    """Classes of words and what their order tells: weights, `step` to a unit.

    `pairs` has one weight for each word number and the next one's, `triples` one for three groups in a row; `bias` is
    the log-odds of a line with no words.
    """

    words: Vocabulary
    pairs: array[int]
    triples: array[int]
    step: float
    bias: float

    def score(self, words: Sequence[str]) -> float:
        """Return the log-odds that these words, in this order, are a line of verse."""
        pairs, triples, look_up = self.pairs, self.triples, self._places.__getitem__
        edge = row, _, plane, _, _ = look_up("")
        total, two = 0, -1  # `two` is where the weights of the last two words and any third begin
        for next_row, number, next_plane, line, group in (*map(look_up, words[:MAX_SCORED_WORDS]), edge):
            total += pairs[row + number]
            if two >= 0:
                total += triples[two + group]
            row, two, plane = next_row, plane + line, next_plane
        return total * self.step + self.bias

    def find_weakest(self, words: Sequence[str]) -> tuple[str, str] | None:
        """Return the two neighbours that read least as language; None for a line of one word."""
        weights = self.weigh_pairs(words)
        weakest = min(range(len(weights)), key=weights.__getitem__, default=None)
        return None if weakest is None else (words[weakest], words[weakest + 1])

    def weigh_pairs(self, words: Sequence[str]) -> list[float]:
        """Return the log-odds of each two neighbours, shape (words - 1): half of their triples' are theirs."""
        places = [self._places[word] for word in words[:MAX_SCORED_WORDS]]
        weights = [float(self.pairs[one[0] + other[1]]) for one, other in pairwise(places)]
        for index, (one, other, third) in enumerate(zip(places, places[1:], places[2:], strict=False)):
            weight = self.triples[one[2] + other[3] + third[4]] / 2
            weights[index] += weight
            weights[index + 1] += weight
        return [weight * self.step for weight in weights]

    @cached_property
    def _places(self) -> WordTable[Place]:
        return WordTable(self._place)

    def _place(self, word: str) -> Place:
        """Return where a word's row of pairs, plane of triples and line of triples begin; `""` is the line's edge.

        In the order of the result: row, number, plane, line, group.
        """
        kind, groups = self.words.classify(word) if word else EDGE, self.words.groups
        number = self.words.find_number(kind)
        return number * self.words.numbers, number, kind.group * groups**2, kind.group * groups, kind.group
