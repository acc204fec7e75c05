"""The log-odds that a line is verse and no salad, as a sum over its neighbouring words: a table look-up each.

The tables are learned by `python -m learnable.train.language`, which tells lines of verse and prose from the same ones
shuffled or filled with other words (logistic regression). They have one weight for each pair of neighbours, where a
word that is not frequent is its class alone, and one for three coarse classes in a row: no text can be read out of it.
Classes are learned by chance, so a model has several members, each with its own, and its log-odds are their mean.
"""

from __future__ import annotations

import base64
import json
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.language.word_classes import EDGE, MAX_CACHED, Vocabulary

MAX_WORDS = 120  # of a line; what follows is not read
FORMAT = 2


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """Members, each with classes of its own, that say together how much a line reads as verse."""

    members: tuple[Member, ...]

    def score(self, words: Sequence[str]) -> float:
        """Return the log-odds that these words, in this order, are a line of verse: the mean of the members'."""
        return sum([member.score(words) for member in self.members]) / len(self.members)

    def find_weakest(self, words: Sequence[str]) -> tuple[str, str] | None:
        """Return the two neighbours that read least as language; None for a line of one word."""
        weights = [sum(found) for found in zip(*(member.weigh_pairs(words) for member in self.members), strict=True)]
        weakest = min(range(len(weights)), key=weights.__getitem__, default=None)
        return None if weakest is None else (words[weakest], words[weakest + 1])


@dataclass(frozen=True, eq=False)
class Member:
    """A vocabulary and its weights, `step` to a unit.

    `pairs` has one weight for each word number and the next one's, `triples` one for three groups in a row; `bias` is
    the log-odds of a line with no words.
    """

    words: Vocabulary
    pairs: array[int]
    triples: array[int]
    step: float
    bias: float
    _places: dict[str, tuple[int, int, int, int, int]] = field(default_factory=dict, repr=False)

    def score(self, words: Sequence[str]) -> float:
        """Return the log-odds that these words, in this order, are a line of verse."""
        known, pairs, triples = self._places, self.pairs, self.triples
        row, _, plane, _, _ = known.get("") or self._place("")
        total, two = 0, -1  # `two` is where the weights of the last two words and any third begin
        for word in (*words[:MAX_WORDS], ""):
            next_row, number, next_plane, line, group = known.get(word) or self._place(word)
            total += pairs[row + number]
            if two >= 0:
                total += triples[two + group]
            row, two, plane = next_row, plane + line, next_plane
        return total * self.step + self.bias

    def weigh_pairs(self, words: Sequence[str]) -> list[float]:
        """Return the log-odds of each two neighbours, shape (words - 1): half of their triples' are theirs."""
        places = [self._places.get(word) or self._place(word) for word in words[:MAX_WORDS]]
        weights = [float(self.pairs[one[0] + other[1]]) for one, other in pairwise(places)]
        for index, (one, other, third) in enumerate(zip(places, places[1:], places[2:], strict=False)):
            weight = self.triples[one[2] + other[3] + third[4]] / 2
            weights[index] += weight
            weights[index + 1] += weight
        return [weight * self.step for weight in weights]

    def _place(self, word: str) -> tuple[int, int, int, int, int]:
        """Return where a word's row of pairs, plane of triples and line of triples begin; `""` is the line's edge.

        In the order of the result: row, number, plane, line, group.
        """
        found, groups = self.words.classify(word) if word else EDGE, self.words.groups
        number = self.words.find_number(found)
        place = (number * self.words.numbers, number, found.group * groups**2, found.group * groups, found.group)
        if len(self._places) < MAX_CACHED:
            self._places[word] = place
        return place


def pack_model(model: LanguageModel) -> str:
    """Return the text of a model's file."""
    packed = {"format": FORMAT, "members": [_pack_member(member) for member in model.members]}
    return json.dumps(packed, indent=1) + "\n"


def _pack_member(member: Member) -> dict[str, Any]:
    names: list[list[str]] = [[] for _ in member.words.coarse]
    for word, cluster in sorted(member.words.clusters.items()):
        names[cluster].append(word)
    return {
        "step": member.step,
        "bias": member.bias,
        "most_common": member.words.most_common,
        "coarse": list(member.words.coarse),
        "own": " ".join(member.words.own),
        "clusters": [" ".join(words) for words in names],
        "endings": dict(sorted(member.words.endings.items())),
        "pairs": _pack(member.pairs),
        "triples": _pack(member.triples),
    }


def unpack_model(text: str) -> LanguageModel:
    """Return the model of a file's text. Raises `LearnableError` for a text that `pack_model` did not write."""
    try:
        packed = json.loads(text)
        if packed["format"] != FORMAT:
            raise ValueError(f"format {packed['format']}, not {FORMAT}")
        members = tuple(_unpack_member(member) for member in packed["members"])
        if not members:
            raise ValueError("no members")
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise LearnableError(f"language model: {error}: train it again (python -m learnable.train.language)") from error
    if any(
        (len(member.pairs), len(member.triples)) != (member.words.numbers**2, member.words.groups**3)
        for member in members
    ):
        raise LearnableError(
            "language model: its tables do not fit its words, as the closed classes have changed since: train it again "
            "(python -m learnable.train.language)"
        )
    return LanguageModel(members)


def _unpack_member(packed: Mapping[str, Any]) -> Member:
    words = Vocabulary(
        tuple(packed["own"].split(" ")),
        {word: number for number, found in enumerate(packed["clusters"]) for word in found.split()},
        packed["endings"],
        tuple(packed["coarse"]),
        int(packed["most_common"]),
    )
    return Member(words, _unpack(packed["pairs"]), _unpack(packed["triples"]), packed["step"], packed["bias"])


def _pack(numbers: array[int]) -> str:
    return base64.b85encode(zlib.compress(numbers.tobytes(), 9)).decode()


def _unpack(text: str) -> array[int]:
    numbers = array("b")
    numbers.frombytes(zlib.decompress(base64.b85decode(text)))
    return numbers


def read_model(path: Path) -> LanguageModel:
    """Return the model in a file. Raises `LearnableError` for a file that is no model."""
    return unpack_model(path.read_text(encoding="utf-8"))


@cache
def load_model() -> LanguageModel:
    """Return the model that comes with the library."""
    folder = resources.files("learnable.verifiers.poetry.language")
    return unpack_model(folder.joinpath("model.json").read_text(encoding="utf-8"))
