"""Whole documents packed into rows of one length, so that no token of a batch is padding for long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

ROW = 256
OPEN_ROWS = 12


@dataclass(frozen=True, slots=True)
class Rows:
    """Arrays of shape (rows, ROW).

    `ids` are tokens; `documents` number the documents inside a row, -1 for padding, and keep attention
    within one; `targets` mark the places whose next token is a completion's; `positions` count from each
    document's start.
    """

    ids: npt.NDArray[np.int16]
    documents: npt.NDArray[np.int16]
    targets: npt.NDArray[np.bool_]
    positions: npt.NDArray[np.int16]

    def save(self, path: Path) -> None:
        """Write the arrays to one npz file."""
        np.savez(path, ids=self.ids, documents=self.documents, targets=self.targets, positions=self.positions)

    @classmethod
    def load(cls, path: Path) -> Rows:
        """Read what `save` wrote."""
        with np.load(path) as arrays:
            return cls(arrays["ids"], arrays["documents"], arrays["targets"], arrays["positions"])


Pair = tuple[Sequence[int], Sequence[int]]


def pack(pairs: Iterable[Pair]) -> Rows:
    """Pack (prompt, completion) pairs first-fit, nearly in their order; pairs longer than a row are dropped."""
    contents = _assign(pairs)
    shape = (len(contents), ROW)
    ids = np.zeros(shape, np.int16)
    documents = np.full(shape, -1, np.int16)
    targets = np.zeros(shape, np.bool_)
    positions = np.zeros(shape, np.int16)
    for row, content in enumerate(contents):
        start = 0
        for number, (prompt, completion) in enumerate(content):
            end = start + len(prompt) + len(completion)
            ids[row, start:end] = [*prompt, *completion]
            documents[row, start:end] = number
            targets[row, start + len(prompt) - 1 : end - 1] = True
            positions[row, start:end] = np.arange(end - start)
            start = end
    return Rows(ids, documents, targets, positions)


def _assign(pairs: Iterable[Pair]) -> list[list[Pair]]:
    rows: list[list[Pair]] = []
    room: dict[int, int] = {}
    for pair in pairs:
        size = len(pair[0]) + len(pair[1])
        if size > ROW:
            continue
        row = next((row for row, left in room.items() if left >= size), len(rows))
        if row == len(rows):
            rows.append([])
            room[row] = ROW
            if len(room) > OPEN_ROWS:
                del room[next(iter(room))]
        rows[row].append(pair)
        room[row] -= size
    return rows
