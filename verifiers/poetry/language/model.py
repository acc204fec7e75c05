"""The language model: what neighbouring words tell, what each word's place tells, and the file that has both."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.language.neighbours import NeighbourModel
from learnable.verifiers.poetry.language.packing import find_levels, pack_bytes, restore_levels, unpack_bytes
from learnable.verifiers.poetry.language.sense import STRANGER, SenseModel
from learnable.verifiers.poetry.language.word_classes import Vocabulary

MODEL_FORMAT = 4
ARRAYS = (  # of the model of sense
    *("context", "context_endings", "own", "own_endings"),
    *("hidden", "hidden_bias", "outer", "outer_bias", "topic"),
)


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """Whether lines are verse by their neighbouring words, and whether words stand where they belong."""

    neighbours: NeighbourModel
    sense: SenseModel


def pack_model(model: LanguageModel) -> str:
    """Return the text of a model's file."""
    packed = {
        "format": MODEL_FORMAT,
        "neighbours": _pack_neighbours(model.neighbours),
        "sense": _pack_sense(model.sense),
    }
    return json.dumps(packed, indent=1) + "\n"


def _pack_neighbours(model: NeighbourModel) -> dict[str, Any]:
    names: list[list[str]] = [[] for _ in model.words.coarse]
    for word, cluster in sorted(model.words.clusters.items()):
        names[cluster].append(word)
    return {
        "step": model.step,
        "bias": model.bias,
        "most_common": model.words.most_common,
        "coarse": list(model.words.coarse),
        "own": " ".join(model.words.own),
        "clusters": [" ".join(words) for words in names],
        "endings": dict(sorted(model.words.endings.items())),
        "pairs": pack_bytes(model.pairs.tobytes()),
        "triples": pack_bytes(model.triples.tobytes()),
    }


def _pack_sense(model: SenseModel) -> dict[str, Any]:
    arrays = {name: find_levels(getattr(model, name)) for name in ARRAYS}
    return {
        "words": " ".join(sorted(model.words, key=model.words.__getitem__)),
        "endings": " ".join(sorted(model.endings, key=model.endings.__getitem__)),
        "background": " ".join(model.background),
        "steps": {name: step for name, (_, step) in arrays.items()},
        "shapes": {name: levels.shape for name, (levels, _) in arrays.items()},
        "numbers": {name: pack_bytes(levels.tobytes()) for name, (levels, _) in arrays.items()},
    }


def unpack_model(text: str) -> LanguageModel:
    """Return the model of a file's text. Raises `LearnableError` for a text that `pack_model` did not write."""
    try:
        packed = json.loads(text)
        if packed["format"] != MODEL_FORMAT:
            raise ValueError(f"format {packed['format']}, not {MODEL_FORMAT}")
        model = LanguageModel(_unpack_neighbours(packed["neighbours"]), _unpack_sense(packed["sense"]))
    except (ValueError, KeyError, TypeError) as error:
        raise LearnableError(
            f"language model: {error}: train it again (python -m learnable.verifiers.poetry.language.training)"
        ) from error
    words = model.neighbours.words
    if (len(model.neighbours.pairs), len(model.neighbours.triples)) != (words.numbers**2, words.groups**3):
        raise LearnableError(
            "language model: its tables do not fit its words, as the closed classes have changed since: train it again "
            "(python -m learnable.verifiers.poetry.language.training)"
        )
    return model


def _unpack_neighbours(packed: Mapping[str, Any]) -> NeighbourModel:
    words = Vocabulary(
        tuple(packed["own"].split(" ")),
        {word: number for number, cluster in enumerate(packed["clusters"]) for word in cluster.split()},
        packed["endings"],
        tuple(packed["coarse"]),
        int(packed["most_common"]),
    )
    return NeighbourModel(words, _unpack(packed["pairs"]), _unpack(packed["triples"]), packed["step"], packed["bias"])


def _unpack(text: str) -> array[int]:
    return array("b", unpack_bytes(text))


def _unpack_sense(packed: Mapping[str, Any]) -> SenseModel:
    import numpy as np

    words = {word: row for row, word in enumerate(packed["words"].split(" "), STRANGER + 1)}
    endings = {ending: row for row, ending in enumerate(packed["endings"].split(" "), 1)}
    arrays = {}
    for name in ARRAYS:
        levels = np.frombuffer(unpack_bytes(packed["numbers"][name]), dtype=np.int8)
        arrays[name] = restore_levels(levels.reshape(packed["shapes"][name]), packed["steps"][name])
    model = SenseModel(words, endings, **arrays, background=tuple(packed["background"].split()))
    sizes = [len(table) for table in (model.context, model.own, model.context_endings, model.own_endings)]
    if sizes != [len(words) + 2] * 2 + [len(endings) + 1] * 2:
        raise ValueError(f"tables of {sizes} rows for {len(words)} words and {len(endings)} endings")
    return model


def read_model(path: Path) -> LanguageModel:
    """Return the model in a file. Raises `LearnableError` for a file that is no model."""
    return unpack_model(path.read_text(encoding="utf-8"))


@cache
def load_model() -> LanguageModel:
    """Return the model that comes with the library."""
    folder = resources.files("learnable.verifiers.poetry.language")
    return unpack_model(folder.joinpath("model.json").read_text(encoding="utf-8"))
