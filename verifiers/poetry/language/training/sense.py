"""Numbers of words and of places, learned from which word of a passage stands where."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from learnable.verifiers.poetry.language.packing import round_numbers
from learnable.verifiers.poetry.language.sense import (
    ENDING,
    PASSAGE,
    REACH,
    STRANGER,
    SenseModel,
    is_meaning,
)
from learnable.verifiers.poetry.language.training.corpus import Verse
from learnable.verifiers.poetry.language.training.dictionary import Words
from learnable.verifiers.poetry.language.word_classes import Vocabulary

if TYPE_CHECKING:
    import torch

DIMENSIONS, HIDDEN = 32, 96
WORDS, MIN_COUNT, ENDINGS = 10_000, 6, 1_200  # words with numbers of their own, how often they come, and endings
ROUNDS, VERSE_ROUNDS = 4, 32  # times that sentences are learned from, and verse
LINE_WORDS = (5, 10)  # of a line that sentences are cut into
SHORTEST_PASSAGE = 30
BATCH, RATE, WARM_UP, LAST_RATE = 64, 3e-3, 200, 0.03  # passages, Adam's rate, steps, and share of the rate at the end
MIN_DRAWN = 8  # of a word of prose alone, that others are told from
DROPPED, UNKNOWN = 0.2, 0.04  # shares of numbers left out, and of words taken for strangers
ALIKE = 4  # words of the same class against each word, by frequency, and as many with each as likely
BACKGROUND = 64  # words of verse that each word of a text is compared with
NEVER = -1e4  # how well a word fits that is not to be picked
EMBEDDINGS = {"context": 0.3, "context_endings": 0.3, "own": 0.05, "own_endings": 0.05}  # and their first deviations

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Corpus:
    """Passages as numbers of words, and what is known of each word: shape (words,) each.

    Number 0 is the edge of a line. `kind` is the word's class; `model_words` and `model_endings` are the rows that the
    model will have for words and endings. `common` are the numbers of words that verse has, or that are frequent.
    """

    words: Sequence[str]
    rows: Numbers
    ends: Numbers
    meant: npt.NDArray[np.bool_]
    kind: Numbers
    verse: Sequence[Sequence[Numbers]]
    sentences: Sequence[Numbers]
    model_words: dict[str, int]
    model_endings: dict[str, int]
    common: Numbers


def learn_sense(verse: Sequence[Verse], sentences: Sequence[Words], classes: Vocabulary, seed: int) -> SenseModel:
    """Return the model of which word belongs where, learned from verse and from sentences of prose.

    `classes` give the words that each word is told from, beside the others of its passage.
    """
    import torch

    torch.manual_seed(seed)
    chance = np.random.default_rng(seed)
    corpus = read_corpus(verse, sentences, classes)
    network, pools = _make_network(corpus), make_pools(corpus, chance)
    passages = [*_make_passages(corpus, random.Random(seed))]
    batches = [passages[start : start + BATCH] for start in range(0, len(passages), BATCH)]
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    for step, batch in enumerate(batches):
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARM_UP, max(LAST_RATE, 1 - step / len(batches)))
        loss = _find_loss(network, corpus, _fill(batch), pools, chance)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if (step + 1) % 500 == 0:
            print(f"sense: step {step + 1} of {len(batches)}, loss {loss.item():.3f}", flush=True)
    return _freeze(network, corpus, draw_background(verse))


def draw_background(verse: Sequence[Verse]) -> list[str]:
    """Return words of meaning at equal steps through all those of the verse, ranked by how often they come."""
    counts = Counter(filter(is_meaning, chain.from_iterable(line for poem in verse for line in poem.lines)))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    reached = np.cumsum([counts[word] for word in ranked])
    steps = (np.arange(BACKGROUND) + 0.5) / BACKGROUND * reached[-1]
    return [ranked[place] for place in np.searchsorted(reached, steps)]


def read_corpus(verse: Sequence[Verse], sentences: Sequence[Words], classes: Vocabulary) -> Corpus:
    """Return the texts as numbers."""
    counts: Counter[str] = Counter(chain.from_iterable(sentences))
    for word in chain.from_iterable(line for poem in verse for line in poem.lines):
        # A word of verse counts as eight of prose.
        counts[word] += 8
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    words = ["", *ranked]
    number = {word: index for index, word in enumerate(words)}
    model_words = {word: index for index, word in enumerate(ranked[:WORDS], 2) if counts[word] >= MIN_COUNT}
    common = Counter(word[-ENDING:] for word in ranked).most_common(ENDINGS)
    model_endings = {ending: index for index, (ending, _) in enumerate(common, 1)}

    def encode(line: Words) -> Numbers:
        return np.array([number[word] for word in line], dtype=np.int64)

    return Corpus(
        words,
        np.array([0, *(model_words.get(word, STRANGER) for word in ranked)]),
        np.array([0, *(model_endings.get(word[-ENDING:], 0) for word in ranked)]),
        np.array([*map(is_meaning, words)]),
        np.array([0, *(classes.classify(word).kind for word in ranked)]),
        [[encode(line) for line in poem.lines] for poem in verse],
        [encode(words) for words in sentences],
        model_words,
        model_endings,
        np.array([number[word] for word in ranked if counts[word] >= MIN_DRAWN]),
    )


def _make_passages(corpus: Corpus, chance: random.Random) -> Iterator[Numbers]:
    """Yield all passages of all rounds, in an order of chance."""
    passages = [*_cut_verse(corpus.verse, chance)]
    for _ in range(ROUNDS):
        passages += _cut_sentences(corpus.sentences, chance)
    chance.shuffle(passages)
    yield from passages


def _cut_verse(verse: Sequence[Sequence[Numbers]], chance: random.Random) -> Iterator[Numbers]:
    for lines in (lines for _ in range(VERSE_ROUNDS) for lines in verse):
        # A passage of verse may leave out up to three lines at its beginning, so that no two rounds are alike.
        skipped = chance.randint(0, max(0, min(3, len(lines) - 4)))
        yield _join(lines[skipped:])


def _cut_sentences(sentences: Sequence[Numbers], chance: random.Random) -> Iterator[Numbers]:
    """Yield neighbouring sentences together, in lines of a few words each."""
    lines: list[Numbers] = []
    size, wanted = 0, chance.randint(SHORTEST_PASSAGE, PASSAGE)
    for words in sentences:
        if lines and size + len(words) > wanted:
            yield _join(lines)
            lines, size, wanted = [], 0, chance.randint(SHORTEST_PASSAGE, PASSAGE)
        start = 0
        while start < len(words):
            length = chance.randint(*LINE_WORDS)
            lines.append(words[start : start + length])
            start += length
        size += len(words)
    if lines:
        yield _join(lines)


def _join(lines: Iterable[Numbers]) -> Numbers:
    """Return the lines with an edge before each and after the last, cut to a passage."""
    edge = np.zeros(1, dtype=np.int64)
    passage: Numbers = np.concatenate([edge, *chain.from_iterable((line, edge) for line in lines)])
    return passage[:PASSAGE]


def _fill(passages: Sequence[Numbers]) -> Numbers:
    """Return the passages as one array, shape (passages, the longest and `REACH` edges on both sides)."""
    tokens = np.zeros((len(passages), max(map(len, passages)) + 2 * REACH), dtype=np.int64)
    for row, passage in zip(tokens, passages, strict=True):
        row[REACH : REACH + len(passage)] = passage
    return tokens


@dataclass(frozen=True)
class Pool:
    """Words by their class, to draw from: those of class k begin at `start[k]` and end before `end[k]`."""

    tokens: Numbers
    start: Numbers
    end: Numbers

    @classmethod
    def of(cls, corpus: Corpus, tokens: Numbers) -> Pool:
        """Return the words of meaning among the tokens, by class."""
        tokens = tokens[corpus.meant[tokens]]
        tokens = tokens[np.argsort(corpus.kind[tokens], kind="stable")]
        kinds, every = corpus.kind[tokens], np.arange(corpus.kind.max() + 1)
        return cls(tokens, np.searchsorted(kinds, every), np.searchsorted(kinds, every, "right"))

    def draw(self, beside: Numbers, kinds: Numbers, chance: np.random.Generator) -> Numbers:
        """Return a word of each one's class, shape (words,); the word itself where there is none."""
        start, end = self.start[kinds], self.end[kinds]
        places = start + (chance.random(len(kinds)) * (end - start)).astype(np.int64)
        return np.where(end > start, self.tokens[np.minimum(places, len(self.tokens) - 1)], beside)


def make_pools(corpus: Corpus, chance: np.random.Generator) -> tuple[Pool, Pool]:
    """Return words as often as they come, half of them from verse, and words that each count once."""
    verse = np.concatenate([*chain.from_iterable(corpus.verse)])
    prose = np.concatenate(corpus.sentences)
    drawn = np.concatenate([verse, chance.choice(prose, len(verse)), corpus.common])
    return Pool.of(corpus, drawn), Pool.of(corpus, corpus.common)


def _make_network(corpus: Corpus) -> Any:
    """Return the numbers that are learned; their names are those of `SenseModel`."""
    from torch import nn

    rows, ends = len(corpus.model_words) + 2, len(corpus.model_endings) + 1
    network = nn.ModuleDict(
        {
            "context": nn.Embedding(rows, DIMENSIONS),
            "context_endings": nn.Embedding(ends, DIMENSIONS),
            "own": nn.Embedding(rows, DIMENSIONS),
            "own_endings": nn.Embedding(ends, DIMENSIONS),
            "hidden": nn.Linear(2 * REACH * DIMENSIONS, HIDDEN),
            "outer": nn.Linear(HIDDEN, DIMENSIONS),
            "topic": nn.Linear(DIMENSIONS, DIMENSIONS, bias=False),
        }
    )
    for name, size in EMBEDDINGS.items():
        table: Any = network[name]
        nn.init.normal_(table.weight, std=size)
    return network


def _find_loss(
    network: Any, corpus: Corpus, tokens: Numbers, pools: Sequence[Pool], chance: np.random.Generator
) -> torch.Tensor:
    """Return the mean loss of a batch: of each word among those of its passage, and among others of its class."""
    import torch

    meant = torch.from_numpy(corpus.meant[tokens[:, REACH:-REACH]])
    unknown = torch.from_numpy((chance.random(tokens.shape) < UNKNOWN) & (tokens > 0))
    rows = torch.from_numpy(corpus.rows[tokens]).masked_fill(unknown, STRANGER)
    ends = torch.from_numpy(corpus.ends[tokens])
    places = _read_places(network, rows, ends, meant)
    inner = slice(REACH, -REACH)
    own = network["own"](rows[:, inner]) + network["own_endings"](ends[:, inner])
    fits = places @ own.transpose(1, 2)  # (passages, places, words)
    numbers = torch.from_numpy(tokens[:, inner])
    size = numbers.shape[1]
    twice = (numbers[:, :, None] == numbers[:, None, :]) & ~torch.eye(size, dtype=torch.bool)
    fits = fits.masked_fill(~meant[:, None, :] | twice, NEVER)
    right = fits.diagonal(dim1=1, dim2=2)[meant]
    among = torch.logsumexp(fits[meant], 1) - right
    beside = numbers[meant].numpy()
    drawn = np.stack([pool.draw(beside, corpus.kind[beside], chance) for pool in pools for _ in range(ALIKE)], 1)
    others = network["own"](_rows(corpus.rows, drawn)) + network["own_endings"](_rows(corpus.ends, drawn))
    alike = (others * places[meant][:, None]).sum(-1).masked_fill(torch.from_numpy(drawn == beside[:, None]), NEVER)
    against_alike = torch.logsumexp(torch.cat([right[:, None], alike], 1), 1) - right
    loss: torch.Tensor = among.mean() + against_alike.mean()
    return loss


def _rows(table: Numbers, tokens: Numbers) -> torch.Tensor:
    import torch

    return torch.from_numpy(table[tokens])


def _read_places(network: Any, rows: torch.Tensor, ends: torch.Tensor, meant: torch.Tensor) -> torch.Tensor:
    """Return the numbers of each place, shape (passages, places, DIMENSIONS): `SenseModel.fit` says how."""
    import torch
    from torch.nn import functional

    training = network.training
    around = functional.dropout(network["context"](rows) + network["context_endings"](ends), DROPPED, training)
    size = meant.shape[1]
    offsets = [offset for offset in range(2 * REACH + 1) if offset != REACH]
    windows = torch.cat([around[:, offset : offset + size] for offset in offsets], -1)
    numbers = network["outer"](functional.dropout(torch.relu(network["hidden"](windows)), DROPPED, training))
    words = around[:, REACH:-REACH] * meant[:, :, None]
    others = (words.sum(1, keepdim=True) - words) / (meant.sum(1) - 1).clamp(min=1)[:, None, None]
    wanted: torch.Tensor = numbers + network["topic"](others)
    return wanted


def _freeze(network: Any, corpus: Corpus, background: Sequence[str]) -> SenseModel:
    """Return the model as the verifier reads it, its numbers rounded as its file keeps them."""
    tables = {name: network[name].weight.detach().numpy() for name in EMBEDDINGS}
    layers = {name: network[name].weight.detach().numpy().T for name in ("hidden", "outer", "topic")}
    biases = {f"{name}_bias": network[name].bias.detach().numpy() for name in ("hidden", "outer")}
    rounded = {name: round_numbers(table) for name, table in {**tables, **layers, **biases}.items()}
    return SenseModel(corpus.model_words, corpus.model_endings, **rounded, background=background)
