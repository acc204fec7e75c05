"""From verse and prose to a model: the classes first, then the weights of neighbours, then where words belong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import chain

from learnable.verifiers.poetry.language.model import LanguageModel
from learnable.verifiers.poetry.language.neighbours import NeighbourModel
from learnable.verifiers.poetry.language.training.clustering import learn_vocabulary, weigh_lines
from learnable.verifiers.poetry.language.training.corpus import Example, Verse, make_examples, make_lists, make_nonsense
from learnable.verifiers.poetry.language.training.dictionary import Words
from learnable.verifiers.poetry.language.training.fitting import fit_neighbours
from learnable.verifiers.poetry.language.training.sense import learn_sense

SEED = 20
ROUNDS = 3  # times that each line is spoilt anew
NONSENSE_WEIGHT = 0.75  # what one of either counts


def learn_model(
    verse: Sequence[Verse],
    prose: Sequence[Words],
    sentences: Sequence[Words],
    seed: int = SEED,
    nonsense: float = NONSENSE_WEIGHT,
) -> LanguageModel:
    """Return the model learned from verse, pieces of prose, and whole sentences in their order.

    `nonsense` is the weight of a line of grammatical nonsense, or of a list of words of one part of speech, which are
    no language either; 0 leaves them out.
    """
    neighbours = learn_neighbours(verse, prose, random.Random(seed), nonsense)
    return LanguageModel(neighbours, learn_sense(verse, sentences, neighbours.words, seed))


def learn_neighbours(
    verse: Sequence[Verse], prose: Sequence[Words], chance: random.Random, nonsense: float
) -> NeighbourModel:
    """Return the classes and the weights of neighbours."""
    lines = weigh_lines((line for poem in verse for line in poem.lines), prose)
    words = learn_vocabulary(lines, chance.randrange(2**32))
    examples = [one for _ in range(ROUNDS) for one in make_examples(verse, prose, chance)]
    if nonsense:
        size = ROUNDS * sum(len(poem.lines) for poem in verse)
        # For each line of verse, .7 lines of nonsense and one of lists.
        spoilt = chain(make_nonsense(round(0.7 * size), chance), make_lists(round(1.0 * size), chance))
        examples += (Example(line, False, True, nonsense) for line in spoilt)
    return fit_neighbours(words, examples)
