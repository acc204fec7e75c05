"""Which prompts repeat an earlier one, word for word or nearly."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.filters.arrays import Flags
from learnable.filters.decisions.decide import REASONS
from learnable.filters.duplicates.texts import (
    Ids,
    Texts,
    cover_words,
    each_once,
    find_template_runs,
    join_turns,
    number_runs,
    read_texts,
)

if TYPE_CHECKING:  # it is slow to import, and short texts have no use for it
    from datasketch import MinHash

NEAR_OVERLAP = 0.9
MIN_OWN_WORDS = 8  # words: in fewer, every word is the question
TEMPLATE_RUN = 8  # words in a row
PERMUTATIONS = 128
DUPLICATE_SCHEMA = pl.Schema(
    {"prompt_id": pl.String(), "decision": pl.Enum(REASONS), "collides_with": pl.String(), "overlap": pl.Float64()}
)


def find_duplicates(prompts: Sequence[Prompt], near: float | None = NEAR_OVERLAP) -> pl.DataFrame:
    """Find the prompts that an earlier, kept prompt makes superfluous.

    Only prompts with the same verifier, the same spec and the same numbers in the same order can be duplicates: other
    right answers mean another question. Such a pair is *exact* when the words agree (`wording.split_words`). It is
    *near* when the Jaccard index of the two multisets of word pairs is at least `near`, so that at 0.9 one word in 40
    may differ, or a sentence a tenth as long may be added. Templates are no evidence: words in a run of
    `TEMPLATE_RUN` that `TEMPLATE_TEXTS` or more distinct prompts share are set aside, and what is left must be near
    by itself. Where fewer than `MIN_OWN_WORDS` words are left, only exact duplicates count.

    Args:
        prompts: in the order in which the first one stays; a prompt that comes twice counts once.
        near: the least Jaccard index, over 0 and up to 1, or None for exact duplicates only.

    Returns:
        One row for each duplicate, in the order of `prompts`: `prompt_id`, `decision` ("duplicate"), `collides_with`
        (id of a prompt that stays), `overlap` (the Jaccard index, 1 where exact).

    Raises `LearnableError` for a threshold out of range.
    """
    if near is not None and not 0 < near <= 1:
        raise LearnableError(f"near-duplicate threshold {near:g} is out of range: give a number over 0 and up to 1")
    pool = each_once(prompts)
    texts = read_texts(map(join_turns, pool))
    questions = _questions(pool, texts)
    first = _first_alike(texts, questions)
    distinct = [index for index, original in enumerate(first) if index == original]
    nearest = {} if near is None else _find_near(texts, questions, distinct, near)
    rows = []
    for index, same in enumerate(first):
        original, overlap = nearest.get(same, (same, 1.0))
        if original != index:
            rows.append((pool[index].prompt_id, "duplicate", pool[original].prompt_id, overlap))
    return pl.DataFrame(rows, schema=DUPLICATE_SCHEMA, orient="row")


def _questions(pool: Sequence[Prompt], texts: Texts) -> list[int]:
    """Number the prompts by what must agree in duplicates: verifier, spec, and the numbers in order."""
    numeric = np.array([word[-1].isdigit() for word in texts.vocabulary], dtype=bool)
    numbers: dict[bytes, int] = {}
    keys = (
        _digest(prompt.verifier.encode(), prompt.spec_json.encode(), words[numeric[words]].tobytes())
        for prompt, words in zip(pool, texts, strict=True)
    )
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _first_alike(texts: Texts, questions: Sequence[int]) -> list[int]:
    """Return, for each text, the first one of the same question and words; itself where it has no words."""
    first_of: dict[bytes, int] = {}
    return [
        first_of.setdefault(_digest(b"%d" % question, words.tobytes()), index) if len(words) else index
        for index, (question, words) in enumerate(zip(questions, texts, strict=True))
    ]


def _digest(*parts: bytes) -> bytes:
    """Return 128 bits in place of the parts: of a large pool they would take half a kilobyte each."""
    return hashlib.blake2b(b"\0".join(b"%d:%b" % (len(part), part) for part in parts), digest_size=16).digest()


def _find_near(
    texts: Texts, questions: Sequence[int], distinct: Sequence[int], near: float
) -> dict[int, tuple[int, float]]:
    """Return the kept text and the overlap for each of the `distinct` texts that is near to an earlier kept one."""
    nearest: dict[int, tuple[int, float]] = {}
    for members, own in _rivals(texts, questions, distinct):
        nearest.update(_sift(texts, own, members, near))
    return nearest


def _rivals(texts: Texts, questions: Sequence[int], distinct: Sequence[int]) -> Iterator[tuple[list[int], Flags]]:
    """Yield the texts that may be near each other, and which words of all texts are no template's."""
    own = ~_template_words(texts, distinct)
    rivals: dict[int, list[int]] = {}
    for index in distinct:
        if own[texts.span(index)].sum() >= MIN_OWN_WORDS:
            rivals.setdefault(questions[index], []).append(index)
    yield from ((members, own) for members in rivals.values() if len(members) > 1)


def _sift(texts: Texts, own: Flags, members: Sequence[int], near: float) -> dict[int, tuple[int, float]]:
    """Keep each text that is near to none kept before; return the others with the kept text and the overlap."""
    kept_texts, nearest = _KeptTexts(near), {}
    for index in members:
        pairs = _WordPairs.of(texts, index, own)
        sketch = pairs.sketch()
        if match := kept_texts.closest(pairs, sketch):
            nearest[index] = match
        else:
            kept_texts.add(index, pairs, sketch)
    return nearest


def _template_words(texts: Texts, distinct: Sequence[int]) -> Flags:
    groups = np.full(len(texts), -1)
    groups[distinct] = 0
    starts = find_template_runs(texts, number_runs(texts, TEMPLATE_RUN), groups, share=0.0)
    return cover_words(starts, TEMPLATE_RUN)


def cluster_near(prompts: Sequence[Prompt], near: float = NEAR_OVERLAP) -> list[int]:
    """Number the clusters of prompts that nearness connects, directly or through others between them.

    Near is what `find_duplicates` calls so, for exact duplicates too. Returns one number a prompt, that of the first
    one in its cluster. Where more than 64 texts resemble each other, a text is compared with the first 64.
    """
    texts = read_texts(map(join_turns, prompts))
    first = _first_alike(texts, questions := _questions(prompts, texts))
    clusters = Clusters(len(prompts))
    for index, same in enumerate(first):
        clusters.join(index, same)
    distinct = [index for index, original in enumerate(first) if index == original]
    for members, own in _rivals(texts, questions, distinct):
        _join_near(texts, own, members, near, clusters)
    return [clusters.find(index) for index in range(len(prompts))]


class Clusters:
    """Things that are joined two by two, each known by the first one that it hangs together with."""

    def __init__(self, size: int) -> None:
        self._above = list(range(size))

    def find(self, index: int) -> int:
        """Return the first member of the cluster."""
        while self._above[index] != index:
            self._above[index] = index = self._above[self._above[index]]
        return index

    def join(self, left: int, right: int) -> None:
        """Make one cluster of two."""
        left, right = sorted((self.find(left), self.find(right)))
        self._above[right] = left


def _join_near(texts: Texts, own: Flags, members: Sequence[int], near: float, clusters: Clusters) -> None:
    bands, rows = choose_band_shape(near)
    pairs: dict[int, _WordPairs] = {}
    crowds: dict[tuple[int, bytes], list[int]] = {}
    for index in members:
        pairs[index] = word_pairs = _WordPairs.of(texts, index, own)
        hashes = word_pairs.sketch().hashvalues
        for band in range(bands):
            crowd = crowds.setdefault((band, hashes[band * rows : (band + 1) * rows].tobytes()), [])
            for other in crowd:
                if clusters.find(other) != clusters.find(index) and word_pairs.overlap(pairs[other]) >= near:
                    clusters.join(other, index)
            # A text is compared with 64 at most of those that share a band of their sketches.
            if len(crowd) < 64:
                crowd.append(index)


@dataclass(frozen=True, slots=True)
class _WordPairs:
    """The neighbouring words of one text as sorted keys: all of it, and without the words of templates."""

    whole: Ids
    own: Ids

    @classmethod
    def of(cls, texts: Texts, index: int, own: Flags) -> _WordPairs:
        words, is_own = texts.words[texts.span(index)], own[texts.span(index)]
        keys = _pair_keys(words, len(texts.vocabulary))
        return cls(keys, keys if is_own.all() else _pair_keys(words[is_own], len(texts.vocabulary)))

    def overlap(self, other: _WordPairs) -> float:
        """Return the Jaccard index, the lower of the two with and without templates."""
        return min(_jaccard(self.whole, other.whole), _jaccard(self.own, other.own))

    def sketch(self) -> MinHash:
        sketch = _blank_sketch().copy()
        # 2^64 over the golden ratio: the high half of a product with it is a hash.
        sketch.update_batch(((self.own.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)).tolist())
        return sketch


def _pair_keys(words: Ids, vocabulary: int) -> Ids:
    """Number each word pair together with how often it came before, so that sets of keys are multisets of pairs."""
    pairs = np.sort(words[:-1] * vocabulary + words[1:])
    first_of_kind = np.searchsorted(pairs, pairs)
    return np.sort(pairs + (np.arange(len(pairs)) - first_of_kind) * vocabulary**2)


def _jaccard(left: Ids, right: Ids) -> float:
    shared = np.intersect1d(left, right, assume_unique=True).size
    return float(shared / (left.size + right.size - shared))


class _KeptTexts:
    """The texts of one question that stay, found again by what they resemble."""

    def __init__(self, near: float) -> None:
        from datasketch import MinHashLSH

        self._near = near
        self._index = MinHashLSH(num_perm=PERMUTATIONS, params=choose_band_shape(near))
        self._pairs: dict[int, _WordPairs] = {}

    def add(self, index: int, pairs: _WordPairs, sketch: MinHash) -> None:
        """Let later texts find this one."""
        self._index.insert(index, sketch)
        self._pairs[index] = pairs

    def closest(self, pairs: _WordPairs, sketch: MinHash) -> tuple[int, float] | None:
        """Return the nearest kept text, the first of several, and its exact overlap; None where none is near."""
        candidates = [(-pairs.overlap(self._pairs[index]), index) for index in self._index.query(sketch)]
        lowest, index = min(candidates, default=(0.0, -1))
        return (index, -lowest) if -lowest >= self._near else None


def choose_band_shape(near: float) -> tuple[int, int]:
    """Return how many bands of how many rows find a pair at Jaccard index `near` all but surely.

    A pair shares a band of r rows with chance near^r, and so none of b bands with (1 - near^r)^b (Leskovec, Rajaraman
    and Ullman, "Mining of Massive Datasets", chapter 3). The widest band that keeps this under 1e-6 gives the
    fewest false candidates.

    >>> choose_band_shape(0.9)
    (21, 6)
    """
    # The index may miss a pair that is just near enough with a chance of 1e-6 at most.
    widths = (rows for rows in range(PERMUTATIONS // 2, 1, -1) if (1 - near**rows) ** (PERMUTATIONS // rows) <= 1e-6)
    rows = next(widths, 1)
    return PERMUTATIONS // rows, rows


@cache
def _blank_sketch() -> MinHash:
    from datasketch import MinHash

    return MinHash(num_perm=PERMUTATIONS, seed=1, hashfunc=int)
