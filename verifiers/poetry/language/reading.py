"""How a poem reads: the odds of each line, and what they say of the whole.

A line's log-odds are shared out among its words, so that long and short lines compare, and leaned towards the poem's,
since a few words tell little. Lines of up to three words are read together with those that follow, as such poems are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from learnable.verifiers.poetry.language.model import LanguageModel, load_model
from learnable.verifiers.poetry.language.sameness import measure_sameness

# Log-odds per word. Nine of ten lines of human verse have more than `SURE` below, and salads mostly less than `LOST`.
LOST, SURE = -0.6, -0.1
LEAN = 3.0  # words that each line borrows from the poem as a whole
PRIOR, PRIOR_WORDS = 0.2, 6.0  # the fluency that the poem borrows for that, and of how many words
MIN_READ = 4  # words: shorter lines are read together with the next
# What a poem of n words needs is `NEEDED - LENIENCE / n`: the fewer words, the less can be told.
NEEDED, LENIENCE = -0.06, 2.5
DOUBT = 0.5  # log-odds per word, above and below what is needed, over which the share goes from 0 to 1
# The share of repeated patterns: human verse has less than the first, templates more than the last.
VARIED, FORMULAIC = 0.45, 0.75


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model says of a poem.

    `odds` are the log-odds per word of each line; `fluency` those of the whole poem, each line
    counted once; `needed` what a poem of its length needs; `sameness` the share of repeated patterns, in [0, 1].
    """

    odds: tuple[float, ...]
    fluency: float
    needed: float
    sameness: float

    @property
    def smooth(self) -> float:
        """The mean credit of the lines, in [0, 1], less what their sameness costs."""
        credits = [credit_line(odds) for odds in self.odds]
        return self.variety * sum(credits) / len(credits) if credits else 0.0

    @property
    def strict(self) -> float:
        """How surely the poem is language, in [0, 1]: .5 is where it begins."""
        share = 0.5 + (self.fluency - self.needed) / (2 * DOUBT)
        return min(max(0.0, share), 1.0, self.variety)

    @property
    def variety(self) -> float:
        """1 where lines are built in different ways, 0 where one template fills them."""
        return min(1.0, max(0.0, (FORMULAIC - self.sameness) / (FORMULAIC - VARIED)))


def credit_line(odds: float) -> float:
    """Return the credit of a line with these log-odds per word, in [0, 1]."""
    return min(1.0, max(0.0, (odds - LOST) / (SURE - LOST)))


def read_language(
    lines: Sequence[tuple[str, ...]], may_be_alike: bool = False, model: LanguageModel | None = None
) -> Reading:
    """Return how lines of words in lower case read, by the bundled model or another.

    With `may_be_alike`, one template throughout is no fault.
    """
    model = model or load_model()
    distinct = list(dict.fromkeys(words for words in lines if words))
    groups = _group(distinct)
    joined = [group[0] if len(group) == 1 else tuple(word for line in group for word in line) for group in groups]
    scores = [score_line(words, model) for words in joined]
    size = max(1, sum(map(len, joined)))
    fluency = sum(scores) / size
    leaning = LEAN * (sum(scores) + PRIOR * PRIOR_WORDS) / (size + PRIOR_WORDS)
    known: dict[tuple[str, ...], float] = {}
    for group, words, score in zip(groups, joined, scores, strict=True):
        known.update(dict.fromkeys(group, (score + leaning) / (len(words) + LEAN)))
    sameness = 0.0 if may_be_alike else measure_sameness(distinct)
    return Reading(tuple(known.get(words, LOST) for words in lines), fluency, NEEDED - LENIENCE / size, sameness)


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
def score_line(words: tuple[str, ...], model: LanguageModel) -> float:
    """Return the log-odds that the words are a line of verse."""
    return model.score(words)
