"""The rewards of a pool in a byte each: verifiers give few different ones, and a pool has hundreds of millions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from learnable.filters.arrays import Values

DISTINCT = 1 << 16  # different rewards that are numbered, in two bytes: with more, cells are the rewards themselves


class RewardCells:
    """A table of rewards that reads and is filled as an array of floats is; NaN where there is none.

    A cell is the number of its reward among those that there are, in one byte up to 256 of them. Cells of prompts that
    nobody has come to take no memory.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._cells: Any = np.zeros(shape, np.uint8)
        self._known = np.full(DISTINCT, np.nan)  # by number; 0 is that of no reward
        self._numbers: dict[float, int] = {}

    def __getitem__(self, place: Any) -> Values:
        """Return the rewards at places, as an array of floats has them there."""
        cells = self._cells[place]
        rewards: Values = np.array(cells) if self._holds_rewards else self._known[cells]
        return rewards

    def __setitem__(self, place: Any, rewards: Any) -> None:
        """Fill places with rewards, as in an array of floats."""
        given = np.asarray(rewards, np.float64)
        if not self._holds_rewards:
            distinct, which = np.unique(given, return_inverse=True)
            self._number(distinct[~np.isnan(distinct)].tolist())
        if not self._holds_rewards:
            numbers = np.array([self._numbers.get(reward, 0) for reward in distinct.tolist()], self._cells.dtype)
            given = numbers[which].reshape(given.shape)
        self._cells[place] = given

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Values:
        """Return all of them as an array of floats."""
        return np.asarray(self[:], dtype)

    @property
    def _holds_rewards(self) -> bool:
        return bool(self._cells.dtype == np.float64)

    def _number(self, rewards: Sequence[float]) -> None:
        """Number those that have no number, and widen the cells where that is too large for them."""
        new = [reward for reward in rewards if reward not in self._numbers]
        last = len(self._numbers) + len(new)
        if last >= DISTINCT:
            self._cells = self._known[self._cells]
            return
        self._known[len(self._numbers) + 1 : last + 1] = new
        self._numbers.update({reward: number for number, reward in enumerate(new, len(self._numbers) + 1)})
        if last > np.iinfo(self._cells.dtype).max:
            self._cells = self._cells.astype(np.uint16)
