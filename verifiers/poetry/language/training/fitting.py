"""Weights by logistic regression: which neighbours tell language from salad."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from learnable.verifiers.poetry.language.neighbours import NeighbourModel
from learnable.verifiers.poetry.language.training.corpus import Example
from learnable.verifiers.poetry.language.word_classes import EDGE, Vocabulary, WordClass

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

PENALTY = 4.5  # on the squares of the weights, against as many examples as there are
LEVELS = 127  # of a weight as it is stored, on either side of 0

Floats = npt.NDArray[np.float64]


def fit_neighbours(words: Vocabulary, examples: Sequence[Example]) -> NeighbourModel:
    """Return the weights that tell the examples apart: L2-penalised logistic regression, by L-BFGS."""
    from scipy.optimize import minimize

    features = count_features(words, examples)
    columns = features.T.tocsr()
    signs = np.array([1.0 if example.is_language else -1.0 for example in examples])
    weights = np.array([example.weight for example in examples])

    def loss(values: Floats) -> tuple[float, Floats]:
        margins = signs * (features @ values[:-1] + values[-1])
        slopes = -weights * signs / (1 + np.exp(np.clip(margins, -50, 50)))
        total = (weights * np.logaddexp(0, -margins)).sum() + PENALTY / 2 * (values[:-1] ** 2).sum()
        gradient = np.append(columns @ slopes + PENALTY * values[:-1], slopes.sum())
        return total / len(signs), gradient / len(signs)

    start = np.zeros(features.shape[1] + 1)
    solution: Any = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 60, "maxcor": 6})
    return quantise(words, solution.x[:-1], float(solution.x[-1]))


def fold_tables(words: Vocabulary, weights: Floats) -> tuple[Floats, Floats]:
    """Return the model's two tables: of pairs, shape (numbers, numbers), and of triples, shape (groups,) * 3.

    The four tables of pairs are added up, since a frequent word has one class.
    """
    layout = WeightLayout.of(words)
    classes = [WordClass(kind, 0, 0, 0) for kind in range(words.kinds)] + [words.classify(word) for word in words.own]
    kind, _, own, common = np.array(classes).T
    *tables, triples = np.split(weights, layout.starts[1:-1])
    pairs = (
        tables[0].reshape(layout.kinds, layout.kinds)[np.ix_(kind, kind)]
        + tables[1].reshape(layout.own, layout.kinds)[np.ix_(own, kind)]
        + tables[2].reshape(layout.kinds, layout.own)[np.ix_(kind, own)]
        + tables[3].reshape(layout.common, layout.common)[np.ix_(common, common)]
    )
    return pairs, triples.reshape((words.groups,) * 3)


def quantise(words: Vocabulary, weights: Floats, bias: float) -> NeighbourModel:
    """Return the model with its weights rounded to `LEVELS` on either side of 0."""
    tables = fold_tables(words, weights)
    step = max(float(np.quantile(np.abs(table[table != 0]), 0.9995)) for table in tables) / LEVELS
    pairs, triples = (
        array("b", np.clip(np.rint(table / step), -LEVELS, LEVELS).astype(np.int8).tobytes()) for table in tables
    )
    return NeighbourModel(words, pairs, triples, step, bias)


@dataclass(frozen=True, slots=True)
class WeightLayout:
    """Where each table begins in the one array of weights that is fitted.

    Tables: class and class, frequent word and class, class and frequent word, common word and common word, and three
    groups in a row. The numbers of words count the 0 for any other word.
    """

    kinds: int
    groups: int
    own: int
    common: int

    @classmethod
    def of(cls, words: Vocabulary) -> WeightLayout:
        """Return the layout for a vocabulary."""
        return cls(words.kinds, words.groups, len(words.own) + 1, words.most_common + 1)

    @property
    def starts(self) -> list[int]:
        """The first index of each table, and the length of the array."""
        sizes = (self.kinds**2, self.own * self.kinds, self.kinds * self.own, self.common**2, self.groups**3)
        return [0, *accumulate(sizes)]


def count_features(words: Vocabulary, examples: Sequence[Example]) -> csr_matrix[Any]:
    """Return how often each weight counts in each example, as in `NeighbourModel.score`: shape (examples, weights)."""
    from scipy.sparse import csr_matrix

    rows: list[int] = []
    tokens: list[tuple[int, int, int, int]] = []
    for number, example in enumerate(examples):
        classes = [words.classify(word) for word in example.words]
        classes = [EDGE, *classes, EDGE] if example.edges else classes
        tokens += classes
        rows += [number] * len(classes)
    kind, group, own, common = np.array(tokens, dtype=np.int64).T
    row = np.array(rows)
    layout = WeightLayout.of(words)
    starts = layout.starts
    two, three = np.nonzero(row[1:] == row[:-1])[0], np.nonzero(row[2:] == row[:-2])[0]
    columns = (
        kind[two] * layout.kinds + kind[two + 1],
        starts[1] + own[two] * layout.kinds + kind[two + 1],
        starts[2] + kind[two] * layout.own + own[two + 1],
        starts[3] + common[two] * layout.common + common[two + 1],
        starts[4] + (group[three] * layout.groups + group[three + 1]) * layout.groups + group[three + 2],
    )
    places = np.concatenate([row[two]] * 4 + [row[three]]), np.concatenate(columns)
    ones = np.ones(len(places[0]), dtype=np.float32)
    return csr_matrix((ones, places), shape=(len(examples), starts[-1]))
