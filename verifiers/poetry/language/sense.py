"""Which word belongs where: how well each word of meaning fits its own place, beside the others of the poem.

A place is known by the words around it, a word by numbers of its own; their product says how well they go together. In
a sentence each word goes with its own place better than the other words of the text do, and better than words of verse
at large; in a salad that keeps its words of grammar and draws the rest, it does not. Since a text is compared with
itself, old spellings and topics cost little; since it is compared with other words too, a text of a few words is told.

The numbers are learned by `training` beside this module: a continuous bag of words with a vector for each
distance (Mikolov et al. 2013, `arXiv:1301.3781`), told from the other words of the text (InfoNCE, van den Oord et al.
2018, `arXiv:1807.03748`) and from words of the same class.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from learnable.verifiers.poetry.language.word_classes import load_closed_words, modern_spelling
from learnable.verifiers.poetry.sound.word_table import WordTable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Numbers = npt.NDArray[np.int64]

REACH = 4  # words on each side that tell a place
ENDING = 3  # letters by which a word that is rare is known
PASSAGE = 160  # words and ends of lines that are read together: longer texts are cut between lines
EDGE_OF_LINE, STRANGER = 0, 1  # the first two rows of `context` and `own`
KNOWN = 4  # words that each text has beside its own where the share of unknown ones is told: a few tell little

Lines = Sequence[tuple[str, ...]]


class Misplaced(NamedTuple):
    """A word that fits its place worse than another: the line's index, the word, and the other that fits best there."""

    line: int
    word: str
    better: str


class Sense(NamedTuple):
    """The log-odds with which the words of meaning fit their own places: their sum in each line, and how many.

    `strangers` are the words of meaning that are known by their endings only.
    """

    sums: tuple[float, ...]
    counts: tuple[int, ...]
    strangers: int = 0

    def lean(self, usual: float, words: float) -> float:
        """Return the mean log-odds of a word, with so many more words of the usual log-odds."""
        return (sum(self.sums) + usual * words) / (sum(self.counts) + words)

    @property
    def strangeness(self) -> float:
        """The share of words known by their endings only, in [0, 1), of these and `KNOWN` known ones."""
        return self.strangers / (sum(self.counts) + KNOWN)


@dataclass(frozen=True, eq=False)
class SenseModel:
    """Numbers of words and of places, d each.

    `words` and `endings` have the rows of the known words in `context` and `own`, shape (words + 2, d), and of endings
    in `context_endings` and `own_endings`, shape (endings + 1, d), where row 0 is any other ending. The words around a
    place make its numbers: `hidden`, shape (2 * REACH * d, h), then `outer`, shape (h, d), and `topic`, shape (d, d),
    of the other words of meaning. `background` are words of verse, each about as often as verse has it, which each word
    of a text is compared with beside the text's own.
    """

    words: Mapping[str, int]
    endings: Mapping[str, int]
    context: Floats
    context_endings: Floats
    own: Floats
    own_endings: Floats
    hidden: Floats
    hidden_bias: Floats
    outer: Floats
    outer_bias: Floats
    topic: Floats
    background: Sequence[str] = ()

    def measure(self, lines: Lines) -> Sense:
        """Return how well words of meaning fit their own places.

        The odds are those of the word against an average one of the passage and the background: 0 where any word would
        do. A passage of fewer than two words of meaning has none.
        """
        sums: list[float] = []
        counts: list[int] = []
        unknown = 0
        for passage in cut_passages(lines):
            places, fits, strangers = self.fit(passage)
            unknown += strangers
            is_enough = len(places) > 1
            odds, spots = (self._log_odds(fits).tolist(), places.tolist()) if is_enough else ([], [])
            end = after = 0
            for line in passage:
                end += 1 + len(line)
                first, after = after, bisect_left(spots, end)
                # Rounded, so that machines that add in another order find the same.
                sums.append(round(sum(odds[first:after]), 4))
                counts.append(after - first)
        return Sense(tuple(sums), tuple(counts), unknown)

    def find_misplaced(self, lines: Lines) -> Misplaced | None:
        """Return the word that fits its place least, and the one of its passage or the background that fits best there.

        None where no other word fits better.
        """
        worst_yet: tuple[float, Misplaced] | None = None
        start = 0
        for passage in cut_passages(lines):
            tokens = [(start + index, word) for index, line in enumerate(passage) for word in ("", *line)]
            places, fits, _ = self.fit(passage)
            if len(fits) > 1:
                odds = self._log_odds(fits)
                worst = int(odds.argmin())
                line, word = tokens[int(places[worst])]
                others = [*(tokens[int(place)][1] for place in places), *self.background]
                better = others[int(fits[worst].argmax())]
                if better != word and (worst_yet is None or odds[worst] < worst_yet[0]):
                    worst_yet = float(odds[worst]), Misplaced(line, word, better)
            start += len(passage)
        return worst_yet[1] if worst_yet else None

    def list_strangers(self, lines: Lines) -> list[str]:
        """Return the different words of meaning that are known by their endings only, in the order of the text."""
        first, words = 2 * len(self.context), dict.fromkeys(word for line in lines for word in line)
        return [word for word in words if is_meaning(word) and self._code(word) >= first]

    def fit(self, passage: Lines) -> tuple[Numbers, Floats, int]:
        """Return the indices of the words of meaning, how well each place suits each of them, and how many are unknown.

        Places are rows; the columns are the passage's words and then the background's: shape (words, words +
        background). Indices count the words and, before each line and after the last, one for its edge.
        """
        import numpy as np

        context, own, topics = self._tables
        look_up = self._codes.__getitem__
        codes = [EDGE_OF_LINE] * (REACH + 1)
        for line in passage:
            codes += map(look_up, line)
            codes.append(EDGE_OF_LINE)
        numbers = np.array(codes + codes[:REACH])
        rows, places = numbers >> 1, (numbers & 1).nonzero()[0]
        words = rows.take(places)
        around = context.take(rows.take(places[:, None] + self._offsets), 0).reshape(len(places), len(self.hidden))
        wanted = np.maximum(around @ self.hidden + self.hidden_bias, 0) @ self.outer + self.outer_bias
        topic = topics.take(words, 0)
        wanted += (topic.sum(0) - topic) / max(1, len(places) - 1)
        fits = wanted @ np.concatenate((own.take(words, 0), self._background)).T
        return places - REACH, fits, int((words >= len(self.context)).sum())

    @staticmethod
    def _log_odds(fits: Floats) -> Floats:
        """Return for each word the log-odds of its own place, against the mean over all columns: shape (words,)."""
        import numpy as np

        beyond = fits - fits.diagonal()[:, None]
        # exp overflows in float32 from 88 on.
        odds: Floats = np.log(fits.shape[1]) - np.log(np.exp(np.minimum(beyond, 40.0)).sum(1))
        return odds

    @cached_property
    def _offsets(self) -> Numbers:
        import numpy as np

        return np.array([offset for offset in range(-REACH, REACH + 1) if offset])

    @cached_property
    def _tables(self) -> tuple[Floats, Floats, Floats]:
        """Return the numbers of each known word and, after these, of unknown ones by their ending: three arrays.

        They are of the word beside a place, in it, and anywhere else in the passage.
        """
        import numpy as np

        ends = np.zeros(len(self.context), dtype=np.int64)
        for word, row in self.words.items():
            ends[row] = self.endings.get(word[-ENDING:], 0)

        def join(words: Floats, endings: Floats) -> Floats:
            return np.concatenate([words + endings[ends], words[STRANGER] + endings])

        context = join(self.context, self.context_endings)
        return context, join(self.own, self.own_endings), context @ self.topic

    @cached_property
    def _background(self) -> Floats:
        """Return the background's words in a place, shape (background, d)."""
        import numpy as np

        return self._tables[1][np.array([self._code(word) >> 1 for word in self.background], dtype=np.int64)]

    @cached_property
    def _codes(self) -> WordTable[int]:
        return WordTable(self._code)

    def _code(self, word: str) -> int:
        """Return twice a word's row in `_tables`, and one more where the word is one of meaning."""
        today = modern_spelling(word)
        row = self.words.get(today) or len(self.context) + self.endings.get(today[-ENDING:], 0)
        return 2 * row + is_meaning(word)


def is_meaning(word: str) -> bool:
    """Return whether a word is one of meaning, and neither one of grammar nor the edge of a line."""
    return bool(word) and word not in load_closed_words()


def cut_passages(lines: Lines) -> Iterator[Lines]:
    """Yield the lines in passages of `PASSAGE` words and edges at most, or of one longer line's first so many."""
    passage: list[tuple[str, ...]] = []
    size = 0
    for line in lines:
        if size + len(line) + 1 >= PASSAGE and passage:
            yield passage
            passage, size = [], 0
        passage.append(line[: PASSAGE - 2])
        size += len(line) + 1
    if passage:
        yield passage


@lru_cache(maxsize=4_096)
def measure_sense(lines: tuple[tuple[str, ...], ...], model: SenseModel) -> Sense:
    """Return `SenseModel.measure` of the lines."""
    return model.measure(lines)
