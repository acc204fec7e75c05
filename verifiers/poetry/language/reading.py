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

from learnable.verifiers.poetry.language.dialect import write_standard
from learnable.verifiers.poetry.language.grammar import measure_grammar
from learnable.verifiers.poetry.language.model import LanguageModel, load_model
from learnable.verifiers.poetry.language.neighbours import NeighbourModel
from learnable.verifiers.poetry.language.sameness import measure_sameness
from learnable.verifiers.poetry.language.sense import measure_sense
from learnable.verifiers.poetry.language.word_classes import list_closed_words

# Log-odds per word. Most lines of salad have less than `LOST`, nine of ten lines of human verse more than `SURE`; what
# is beyond it earns the last part of the credit, up to what one line in thirty has, so that any that reads worse costs
# something.
LOST, SURE, BEYOND, LAST_PART = -0.65, -0.2, 0.63, 0.05
LEAN = 3.0  # words that each line borrows from the poem as a whole
PRIOR, PRIOR_WORDS = 0.1, 6.0  # the fluency that the poem borrows for that, and of how many words
MIN_READ = 4  # words: shorter lines are read together with the next
MIN_TOLD = 2.0  # words a line on average: a poem of fewer names things, and has no order that could tell
# What a line's log-odds per word are forgiven in a short poem, since the mean over few words strays as far as one over
# their root: nothing from 88 words on.
LENIENCE, FORGIVEN = 1.5, 0.16
# Fluency and a share of the sense are to be more than 0 together; of either no more than `ENOUGH` counts, so that
# neither makes up for the other altogether. Few words tell little: so much, shared among them, is theirs.
SENSE, ENOUGH, SPARED = 0.6, 0.8, 4.0
# More is needed where more than this share of the words of meaning is unknown: four of a hundred human poems have more,
# and 98 of a hundred poems whose words of meaning are drawn from a dictionary.
USUAL_STRANGERS = 0.4
USUAL_SENSE, USUAL_WORDS = 0.5, 3  # of human verse, and how many words of it a poem borrows
LINE_SENSE = 0.3  # what a line's odds have of the sense of its words beyond that
FULL_LINE = 6  # words, below which a line counts for less among the poem's lines
LINES_NEEDED = 0.76  # what its lines need on average: a poem of which half is salad has less
DOUBT = 0.5  # log-odds per word, above and below what is needed, over which the share goes from 0 to 1
# The share of repeated patterns: human verse has less than the first, templates more than the last.
VARIED, FORMULAIC = 0.42, 0.68
# The share of interjections but for one: none of 5,900 human poems has more than .16.
CALM, FILLER = 0.18, 0.3
NEEDED = 0.5  # share of `Reading.strict` that a poem needs, where its form does not say
ALIKE = 0.2  # more, where the form makes lines alike
POOR = 0.25  # less, where the words of grammar are always the same: a few frames by turns


@dataclass(frozen=True)
class Reading:
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
        found = min(self.fluency, ENOUGH) + SENSE * min(self.sense, ENOUGH)
        return found + SPARED / max(1, self.words) - max(0.0, self.strangeness - USUAL_STRANGERS)

    @property
    def whole(self) -> float:
        """How surely order and sense together are those of verse: `strict` is no more."""
        return 0.5 + self.margin / (2 * DOUBT)

    @property
    def lenience(self) -> float:
        """What is forgiven to the lines of a short poem, in log-odds per word."""
        return max(0.0, LENIENCE / sqrt(max(1, self.words)) - FORGIVEN)

    def earn(self, needed: float = NEEDED) -> float:
        """Return what the poem earns for its language, in [0, 1]: as much as its lines, less below the share needed."""
        return self.lines * min(1.0, self.strict / needed)

    @cached_property
    def lines(self) -> float:
        """The mean credit of the lines, in [0, 1], the short ones by their words, less what their sameness costs."""
        sizes = [min(size, FULL_LINE) for size in self.sizes]
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
        lines = 0.5 + self.lines - LINES_NEEDED + self.lenience / 2
        return max(0.0, min(self.whole, lines, self.variety, 1.0))

    @cached_property
    def variety(self) -> float:
        """1 where lines are built in different ways, 0 where one template, a few frames or mere filler fill them."""
        if not self.is_told:
            return 1.0
        poor = 0.0 if self.may_be_alike else 1.0 - self.grammar
        allowed = FORMULAIC + ALIKE * self.may_be_alike - POOR * poor
        built = (allowed - self.sameness) / (FORMULAIC - VARIED)
        return min(1.0, max(0.0, built), self.calm)

    @property
    def calm(self) -> float:
        """1 where interjections are as few as in human verse, 0 where they are filler."""
        return min(1.0, max(0.0, (FILLER - self.exclaimed) / (FILLER - CALM)))


def credit_line(odds: float) -> float:
    """Return the credit of a line with these log-odds per word, in [0, 1]."""
    if odds <= LOST:
        return 0.0
    if odds < SURE:
        return (1 - LAST_PART) * (odds - LOST) / (SURE - LOST)
    return 1 - LAST_PART + LAST_PART * min(1.0, (odds - SURE) / (BEYOND - SURE))


def read_language(
    lines: Sequence[tuple[str, ...]], may_be_alike: bool = False, model: LanguageModel | None = None
) -> Reading:
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
    leaning = LEAN * (sum(scores) + PRIOR * PRIOR_WORDS) / (size + PRIOR_WORDS)
    sense = measure_sense(tuple(distinct), model.sense)
    sums, counts = (dict(zip(distinct, found, strict=True)) for found in (sense.sums, sense.counts))
    known: dict[tuple[str, ...], float] = {}
    for group, words, score in zip(groups, joined, scores, strict=True):
        beyond = sum([sums[line] - USUAL_SENSE * counts[line] for line in group])
        each = (score + LINE_SENSE * beyond + leaning) / (len(words) + LEAN)
        for line in group:
            known[line] = each
    odds = tuple([known.get(words, LOST) for words in lines])
    is_told = not distinct or size >= MIN_TOLD * len(distinct)
    exclaiming = [words for words in joined if not INTERJECTIONS.isdisjoint(words)]
    exclaimed = max(0, sum(word in INTERJECTIONS for words in exclaiming for word in words) - 1) / size
    sizes = tuple(map(len, lines))
    mean = sense.lean(USUAL_SENSE, USUAL_WORDS)
    alike = measure_sameness(distinct), may_be_alike, is_told
    return Reading(odds, sizes, fluency, size, mean, *alike, exclaimed, measure_grammar(distinct), sense.strangeness)


INTERJECTIONS = frozenset(list_closed_words("interjection"))


def _group(lines: Sequence[tuple[str, ...]]) -> list[list[tuple[str, ...]]]:
    """Return the lines, each by itself or, where they are short, several together."""
    groups: list[list[tuple[str, ...]]] = []
    size = MIN_READ
    for line in lines:
        if size < MIN_READ:
            groups[-1].append(line)
            size += len(line)
        else:
            groups.append([line])
            size = len(line)
    if size < MIN_READ and len(groups) > 1:
        last = groups.pop()
        groups[-1] += last
    return groups


@lru_cache(maxsize=32_768)
def score_line(words: tuple[str, ...], model: NeighbourModel) -> float:
    """Return the log-odds that the words are a line of verse."""
    return model.score(words)
