"""Texts looked for in all completions of a policy, file by file: what was found so far can be seen at any moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import polars as pl

from learnable.data.errors import LearnableError
from learnable.data.ledger.partition import Chunk, read_in_order

PATIENCE = 0.4  # seconds that an answer waits for the end of a search, before it says how far it is
LEFT_ALONE = 2.0  # seconds after which a search ends of which nobody asks any more: its page looks for other words


class Search:
    """A text in lower case that is looked for in the files of the ledger, for as long as somebody asks about it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[pl.Series] = [pl.Series([], dtype=pl.String)]
        self._searched: set[str] = set()  # names of files
        self._last_look = 0.0
        self._error: LearnableError | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def look(self, chunks: Sequence[Chunk], patience: float = 0.0) -> tuple[pl.Series, float]:
        """Go on with the files that were not searched yet, which takes its time.

        Returns the ids of the questions whose completions have the text, as far as is known after at most `patience`
        seconds, and the share of files that were searched. Raises `LearnableError` for a file that cannot be read.
        """
        self._last_look = time.monotonic()
        with self._lock:
            left = [chunk for chunk in chunks if chunk.name not in self._searched]
            if left and not (self._thread and self._thread.is_alive()):
                self._error = None
                self._thread = threading.Thread(target=self._search, args=[left], name="search")
                self._thread.start()
        if self._thread:
            self._thread.join(patience)
        if self._error:
            raise self._error
        share = sum(chunk.name in self._searched for chunk in chunks) / max(1, len(chunks))
        return pl.concat(self._found), share

    def _search(self, chunks: Sequence[Chunk]) -> None:
        try:
            for chunk, found in zip(chunks, read_in_order(chunks, self._search_file), strict=True):
                self._found.append(found)
                self._searched.add(chunk.name)
                if time.monotonic() - self._last_look > LEFT_ALONE:
                    break
        except FileNotFoundError:
            pass  # it was merged meanwhile: its rows are in a file that is searched next
        except LearnableError as error:
            self._error = error

    def _search_file(self, chunk: Chunk) -> pl.Series:
        rows = read_rows(chunk, "question_id", "completion")
        is_in = pl.col("completion").str.to_lowercase().str.contains(self._text, literal=True)
        return rows.filter(is_in)["question_id"].unique()


def read_rows(chunk: Chunk, *columns: str) -> pl.DataFrame:
    """Return columns of a file of the ledger, texts as texts: the column that groups share comes as a dictionary.

    Raises `DamagedFileError`.
    """
    rows = pl.DataFrame(chunk.read_columns(chunk.read(), columns))
    return rows.with_columns(pl.col(pl.Categorical).cast(pl.String))
