"""From verse and prose to a model: the classes first, then the weights."""

from __future__ import annotations

import random
from collections.abc import Sequence

from learnable.train.language.clustering import learn_vocabulary, weigh_lines
from learnable.train.language.corpus import Example, Verse, Words, make_examples, make_nonsense
from learnable.train.language.fitting import fit_model
from learnable.verifiers.poetry.language.model import LanguageModel

SEED = 16
NONSENSE, NONSENSE_WEIGHT = 0.7, 0.25  # lines of it for each line of verse, and what one counts


def learn_model(
    verse: Sequence[Verse], prose: Sequence[Words], seed: int = SEED, nonsense: float = NONSENSE_WEIGHT
) -> LanguageModel:
    """Return the model learned from verse and prose.

    `nonsense` is the weight of a line of grammatical nonsense, which is no language either; 0 leaves it out.
    """
    words = learn_vocabulary(weigh_lines((line for poem in verse for line in poem.lines), prose), seed)
    examples = [*make_examples(verse, prose, random.Random(seed))]
    if nonsense:
        lines = make_nonsense(round(NONSENSE * sum(len(poem.lines) for poem in verse)), random.Random(seed))
        examples += (Example(line, False, True, nonsense) for line in lines)
    return fit_model(words, examples)
