"""How a poem reads: the odds of each line, and what they say of the whole.

A line's log-odds are shared out among its words, so that long and short lines compare, and leaned towards the poem's,
since a few words tell little. Lines of up to three words are read together with those that follow, as such poems are.
Whether the whole is language goes by its words' order and by how well each word of meaning fits its place (`sense`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from math import sqrt
from operator import mul

from learnable.verifiers.poetry.bounds import LANGUAGE
from learnable.verifiers.poetry.language.dialect import write_standard
from learnable.verifiers.poetry.language.grammar import measure_grammar
from learnable.verifiers.poetry.language.model import LanguageModel, load_model
from learnable.verifiers.poetry.language.neighbours import NeighbourModel
from learnable.verifiers.poetry.language.sameness import measure_sameness
from learnable.verifiers.poetry.language.sense import measure_sense
from learnable.verifiers.poetry.language.word_classes import list_closed_words


@dataclass(frozen=True)
class LanguageReading:
    """What the model says of a poem.

    `odds` are the log-odds per word of each line, and `sizes` its words; `fluency` those of the whole poem, each line
    counted once; `words` how many it has in those; `sense` the mean log-odds with which a word of meaning fits its own
    place, against an average one of the poem and of verse, leaned towards what is usual; `sameness` the share of
    repeated patterns, in [0, 1], and `exclaimed` that of interjections; `grammar` how surely its words of grammar are
    varied enough, and `strangeness` the share of the words of meaning that are unknown, in [0, 1]. `may_be_alike` says
    that the form makes lines alike, and `is_told` that there is enough to judge: otherwise everything is 1.
    """

    odds: tuple[float, ...]
    sizes: tuple[int, ...]
    fluency: float
    words: int
    sense: float
    sameness: float
    may_be_alike: bool = False
    is_told: bool = True
    exclaimed: float = 0.0
    grammar: float = 1.0
    strangeness: float = 0.0

    @property
    def margin(self) -> float:
        """What fluency and sense together have beyond what such a poem needs, in log-odds per word."""
        total = min(self.fluency, LANGUAGE.enough) + LANGUAGE.sense * min(self.sense, LANGUAGE.enough)
        return total + LANGUAGE.spared / max(1, self.words) - max(0.0, self.strangeness - LANGUAGE.usual_strangers)

    @property
    def whole(self) -> float:
        """How surely order and sense together are those of verse: `strict` is no more."""
        return 0.5 + self.margin / (2 * LANGUAGE.doubt)

    @property
    def lenience(self) -> float:
        """What is forgiven to the lines of a short poem, in log-odds per word."""
        return max(0.0, LANGUAGE.lenience / sqrt(max(1, self.words)) - LANGUAGE.forgiven)

    def earn(self, needed: float = LANGUAGE.needed) -> float:
        """Return what the poem earns for its language, in [0, 1]: as much as its lines, less below the share needed."""
        return self.lines * min(1.0, self.strict / needed)

    @cached_property
    def lines(self) -> float:
        """The mean credit of the lines, in [0, 1], the short ones by their words, less what their sameness costs."""
        sizes = [min(size, LANGUAGE.full_line) for size in self.sizes]
        return self.variety * sum(map(mul, self.credits, sizes)) / sum(sizes) if any(sizes) else 0.0

    @cached_property
    def credits(self) -> list[float]:
        """How much each line reads as one of verse, in [0, 1]: half of the leniency for few words is theirs."""
        lenience = self.lenience / 2
        return [credit_line(odds + lenience) if self.is_told else 1.0 for odds in self.odds]

    @property
    def strict(self) -> float:
        """How surely the poem is language, in [0, 1]: .5 is where it begins."""
        if not self.is_told:
            return 1.0
        lines = 0.5 + self.lines - LANGUAGE.lines_needed + self.lenience / 2
        return max(0.0, min(self.whole, lines, self.variety, 1.0))

    @cached_property
    def variety(self) -> float:
        """1 where lines are built in different ways, 0 where one template, a few frames or mere filler fill them."""
        if not self.is_told:
            return 1.0
        poor = 0.0 if self.may_be_alike else 1.0 - self.grammar
        allowed = LANGUAGE.formulaic + LANGUAGE.alike * self.may_be_alike - LANGUAGE.poor * poor
        built = (allowed - self.sameness) / (LANGUAGE.formulaic - LANGUAGE.varied)
        return min(1.0, max(0.0, built), self.calm)

    @property
    def calm(self) -> float:
        """1 where interjections are as few as in human verse, 0 where they are filler."""
        return min(1.0, max(0.0, (LANGUAGE.filler - self.exclaimed) / (LANGUAGE.filler - LANGUAGE.calm)))


def credit_line(odds: float) -> float:
    """Return the credit of a line with these log-odds per word, in [0, 1]."""
    if odds <= LANGUAGE.lost:
        return 0.0
    if odds < LANGUAGE.sure:
        return (1 - LANGUAGE.last_part) * (odds - LANGUAGE.lost) / (LANGUAGE.sure - LANGUAGE.lost)
    beyond = min(1.0, (odds - LANGUAGE.sure) / (LANGUAGE.beyond - LANGUAGE.sure))
    return 1 - LANGUAGE.last_part + LANGUAGE.last_part * beyond


def read_language(
    lines: Sequence[tuple[str, ...]], may_be_alike: bool = False, model: LanguageModel | None = None
) -> LanguageReading:
    """Return how lines of words in lower case read, by the bundled model or another; dialect as standard English.

    With `may_be_alike`, lines may be built more alike.
    """
    model = model or load_model()
    lines = [*map(write_standard, lines)]
    distinct = list(dict.fromkeys(filter(None, lines)))
    groups = _group(distinct)
    joined = [group[0] if len(group) == 1 else tuple(chain.from_iterable(group)) for group in groups]
    scores = [score_line(words, model.neighbours) for words in joined]
    size = max(1, sum(map(len, joined)))
    fluency = sum(scores) / size
    prior = LANGUAGE.prior_fluency * LANGUAGE.prior_words
    leaning = LANGUAGE.line_leaning * (sum(scores) + prior) / (size + LANGUAGE.prior_words)
    sense = measure_sense(tuple(distinct), model.sense)
    sums, counts = (dict(zip(distinct, figures, strict=True)) for figures in (sense.sums, sense.counts))
    known: dict[tuple[str, ...], float] = {}
    for group, words, score in zip(groups, joined, scores, strict=True):
        beyond = sum([sums[line] - LANGUAGE.usual_sense * counts[line] for line in group])
        each = (score + LANGUAGE.line_sense * beyond + leaning) / (len(words) + LANGUAGE.line_leaning)
        for line in group:
            known[line] = each
    odds = tuple([known.get(words, LANGUAGE.lost) for words in lines])
    is_told = not distinct or size >= LANGUAGE.words_told * len(distinct)
    exclaiming = [words for words in joined if not INTERJECTIONS.isdisjoint(words)]
    exclaimed = max(0, sum(word in INTERJECTIONS for words in exclaiming for word in words) - 1) / size
    sizes = tuple(map(len, lines))
    mean = sense.lean(LANGUAGE.usual_sense, LANGUAGE.usual_words)
    alike = measure_sameness(distinct), may_be_alike, is_told
    varied = measure_grammar(distinct)
    return LanguageReading(odds, sizes, fluency, size, mean, *alike, exclaimed, varied, sense.strangeness)


INTERJECTIONS = frozenset(list_closed_words("interjection"))


def _group(lines: Sequence[tuple[str, ...]]) -> list[list[tuple[str, ...]]]:
    """Return the lines, each by itself or, where they are short, several together."""
    groups: list[list[tuple[str, ...]]] = []
    size = LANGUAGE.words_read
    for line in lines:
        if size < LANGUAGE.words_read:
            groups[-1].append(line)
            size += len(line)
        else:
            groups.append([line])
            size = len(line)
    if size < LANGUAGE.words_read and len(groups) > 1:
        last = groups.pop()
        groups[-1] += last
    return groups


@lru_cache(maxsize=32_768)
def score_line(words: tuple[str, ...], model: NeighbourModel) -> float:
    """Return the log-odds that the words are a line of verse."""
    return model.score(words)
