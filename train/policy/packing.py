"""Whole documents packed into rows of one length, so that no token of a batch is padding for long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

ROW_TOKENS = 256


@dataclass(frozen=True, slots=True)
class Rows:
    """Arrays of shape (rows, ROW_TOKENS).

    `ids` are tokens; `documents` number the documents inside a row, -1 for padding, and keep attention
    within one; `weights` say how much the prediction of the next token counts, 0 outside completions;
    `positions` count from each document's start.
    """

    ids: npt.NDArray[np.int16]
    documents: npt.NDArray[np.int16]
    weights: npt.NDArray[np.float32]
    positions: npt.NDArray[np.int16]

    def save(self, path: Path) -> None:
        """Write the arrays to one npz file."""
        np.savez(path, ids=self.ids, documents=self.documents, weights=self.weights, positions=self.positions)

    @classmethod
    def load(cls, path: Path) -> Rows:
        """Read what `save` wrote."""
        with np.load(path) as arrays:
            return cls(arrays["ids"], arrays["documents"], arrays["weights"], arrays["positions"])


@dataclass(frozen=True, slots=True)
class Encoded:
    """A document's tokens, and the weight of each of its completion's tokens."""

    prompt: Sequence[int]
    completion: Sequence[int]
    weights: Sequence[float]

    @property
    def size(self) -> int:
        """Tokens of the document."""
        return len(self.prompt) + len(self.completion)


def pack(encoded: Iterable[Encoded]) -> Rows:
    """Pack documents first-fit, nearly in their order; those longer than a row are dropped."""
    contents = _assign(encoded)
    shape = (len(contents), ROW_TOKENS)
    ids = np.zeros(shape, np.int16)
    documents = np.full(shape, -1, np.int16)
    weights = np.zeros(shape, np.float32)
    positions = np.zeros(shape, np.int16)
    for row, content in enumerate(contents):
        start = 0
        for number, document in enumerate(content):
            end = start + document.size
            ids[row, start:end] = [*document.prompt, *document.completion]
            documents[row, start:end] = number
            weights[row, start + len(document.prompt) - 1 : end - 1] = document.weights
            positions[row, start:end] = np.arange(end - start)
            start = end
    return Rows(ids, documents, weights, positions)


def _assign(encoded: Iterable[Encoded]) -> list[list[Encoded]]:
    rows: list[list[Encoded]] = []
    room: dict[int, int] = {}
    for document in encoded:
        if document.size > ROW_TOKENS:
            continue
        row = next((row for row, left in room.items() if left >= document.size), len(rows))
        if row == len(rows):
            rows.append([])
            room[row] = ROW_TOKENS
            if len(room) > 12:  # rows that are open at once
                del room[next(iter(room))]
        rows[row].append(document)
        room[row] -= document.size
    return rows
