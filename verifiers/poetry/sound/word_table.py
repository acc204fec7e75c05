"""What is known of each word, found at its first sight and kept: for every word one look-up in a dictionary."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class WordTable(dict[str, T]):
    """A function of words as a table, which is empty at first.

    In the inner loops it is quicker than `lru_cache`, since it keeps no order: when it is full it is emptied. As there,
    `cache_clear` forgets everything.

    >>> lengths = WordTable(len)
    >>> lengths["moon"], len(lengths)
    (4, 1)
    """

    def __init__(self, find: Callable[[str], T], max_words: int = 65_536) -> None:
        """Make a table of what `find` returns for a word, with room for `max_words`."""
        super().__init__()
        self._find, self._max_words = find, max_words
        self.cache_clear = self.clear

    def __missing__(self, word: str) -> T:
        """Return what is found of a word at its first sight."""
        value = self._find(word)
        if len(self) >= self._max_words:
            self.clear()
        self[word] = value
        return value
