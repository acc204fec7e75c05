"""Word classes learned from the words that stand next to a word, and from its endings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from learnable.verifiers.poetry.language.word_classes import Vocabulary, list_endings, load_closed_words

CLUSTERS, COARSE = 72, 26
DIMENSIONS = 40
ROUNDS, STARTS = 25, 8  # of k-means

Floats = npt.NDArray[np.float64]
Weighted = Sequence[tuple[Sequence[str], float]]


def learn_vocabulary(lines: Weighted, seed: int) -> Vocabulary:
    """Return the classes learned from weighted lines.

    Words are points: the square roots of the shares of their neighbours (Hellinger distance) and their endings, reduced
    by singular value decomposition, and put in clusters by k-means; the clusters' centres once more, for the groups.
    """
    counts: Counter[str] = Counter()
    for words, weight in lines:
        for word in words:
            counts[word] += weight  # type: ignore[assignment]
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    closed = load_closed_words()
    # Rarer words, by weighted occurrences, are put in no cluster.
    loose = [word for word in ranked if counts[word] >= 4 and _is_clustered(word)]
    sizes: Floats = np.log1p(np.array([counts[word] for word in loose], dtype=np.float64))
    # The 500 most frequent words tell others apart by standing next to them.
    points = _place_words(lines, loose, ranked[:500])
    centres, labels = find_clusters(points, sizes, CLUSTERS, seed)
    masses: Floats = np.bincount(labels, sizes, CLUSTERS).astype(np.float64) + 1e-9
    _, coarse = find_clusters(centres, masses, COARSE, seed)
    # Words that come more often count by themselves.
    own = [word for word in ranked if word in closed or counts[word] >= 8]
    frequent = sorted(own, key=lambda word: (word not in closed, -counts[word], word))[:700]
    clusters = dict(zip(loose, map(int, labels), strict=True))
    return Vocabulary(
        tuple(sorted(frequent, key=lambda word: (-counts[word], word))),
        clusters,
        _vote_on_endings(clusters),
        tuple(np.unique(coarse, return_inverse=True)[1].tolist()),
        255,
    )


def _is_clustered(word: str) -> bool:
    return len(word) > 1 and word not in load_closed_words() and not word.endswith(("'s", "s'"))


def _place_words(lines: Weighted, words: Sequence[str], contexts: Sequence[str]) -> Floats:
    """Return one point of length 1 for each word, shape (words, DIMENSIONS)."""
    from scipy.sparse import csr_matrix, diags, hstack
    from scipy.sparse.linalg import svds

    places = {word: index for index, word in enumerate(words)}
    neighbours = np.array([*_neighbours(lines, places, {word: index for index, word in enumerate(contexts, 1)})])
    shape = (len(words), 2 * (len(contexts) + 2))
    near = csr_matrix((neighbours[:, 2], (neighbours[:, 0].astype(int), neighbours[:, 1].astype(int))), shape=shape)
    near = diags(1 / np.maximum(np.asarray(near.sum(1)).ravel(), 1e-9)) @ near
    near.data = np.sqrt(near.data)
    endings = Counter(ending for word in words for ending in list_endings(word)[:-1] if len(ending) > 1)
    columns = {ending: index for index, (ending, _) in enumerate(endings.most_common(400))}
    marks = [
        (places[word], columns[ending]) for word in words for ending in list_endings(word)[:-1] if ending in columns
    ]
    rows, cells = zip(*marks, strict=True)
    ends = csr_matrix((np.full(len(marks), 0.45), (rows, cells)), shape=(len(words), len(columns)))
    left, strength, _ = svds(hstack([near, ends]).tocsr(), k=DIMENSIONS, random_state=0)
    points: Floats = left * strength
    lengths: Floats = np.linalg.norm(points, axis=1, keepdims=True)
    points /= np.maximum(lengths, 1e-9)
    return points


def _neighbours(
    lines: Weighted, places: dict[str, int], contexts: dict[str, int]
) -> Iterator[tuple[float, float, float]]:
    """Yield (word, neighbour's column, weight): the left neighbours' columns come first; 0 is any other word."""
    edge, half = len(contexts) + 1, len(contexts) + 2
    for words, weight in lines:
        numbers = [edge, *(contexts.get(word, 0) for word in words), edge]
        for index, word in enumerate(words):
            if (place := places.get(word)) is not None:
                yield place, numbers[index], weight
                yield place, half + numbers[index + 2], weight


def find_clusters(points: Floats, weights: Floats, count: int, seed: int) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Return the centres, shape (count, d), and each point's cluster: the best of `STARTS` weighted k-means.

    Each starts on centres that lie far apart (k-means++, Arthur and Vassilvitskii 2007) and moves them to their points
    (Lloyd 1982).
    """
    chance = np.random.default_rng(seed)
    tries = [_find_clusters(points, weights, count, chance) for _ in range(STARTS)]
    _, centres, labels = min(tries, key=lambda attempt: attempt[0])
    return centres, labels


def _find_clusters(
    points: Floats, weights: Floats, count: int, chance: np.random.Generator
) -> tuple[float, Floats, npt.NDArray[np.intp]]:
    """Return the weighted sum of squared distances, the centres and the labels."""
    centres = _scatter_centres(points, weights, count, chance)
    squares: Floats = (points**2).sum(1)
    for _ in range(ROUNDS):
        distances = squares[:, None] + (centres**2).sum(1) - 2 * points @ centres.T
        labels = distances.argmin(1)
        for number in range(count):
            members = labels == number
            if members.any():
                centres[number] = np.average(points[members], axis=0, weights=weights[members])
    return float(weights @ distances.min(1)), centres, labels


def _scatter_centres(points: Floats, weights: Floats, count: int, chance: np.random.Generator) -> Floats:
    """Return points, each drawn by its weight and squared distance from those drawn before, shape (count, d)."""
    centres = [points[chance.choice(len(points), p=weights / weights.sum())]]
    nearest: Floats = ((points - centres[0]) ** 2).sum(1)
    for _ in range(count - 1):
        masses = weights * nearest
        centres.append(points[chance.choice(len(points), p=masses / masses.sum())])
        nearest = np.minimum(nearest, ((points - centres[-1]) ** 2).sum(1))
    return np.array(centres)


def _vote_on_endings(clusters: dict[str, int]) -> dict[str, int]:
    """Return the commonest cluster of each ending that at least four words have; the empty one is everyone's."""
    votes: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for word, cluster in clusters.items():
        for ending in list_endings(word):
            votes[ending][cluster] += 1
    return {
        ending: min(counts, key=lambda cluster: (-counts[cluster], cluster))
        for ending, counts in votes.items()
        if counts.total() >= 4 or not ending
    }


def weigh_lines(verse: Iterable[Sequence[str]], prose: Iterable[Sequence[str]]) -> list[tuple[Sequence[str], float]]:
    """Return lines with the weights they have here: verse counts four times as much as prose."""
    return [*((line, 2.0) for line in verse), *((piece, 0.5) for piece in prose)]
