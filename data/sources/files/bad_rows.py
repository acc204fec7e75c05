"""Rows that are not prompts: all of them are reported at once, or skipped and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.data.records import Prompt


class BadRowError(LearnableError):
    """A row that is not a prompt: the `place` that it was read from, and `why` it is none."""

    def __init__(self, place: str, why: str) -> None:
        """Make an error whose message has both."""
        super().__init__(place, why)
        self.why = why

    def __str__(self) -> str:
        return ": ".join(self.args)


class BadRowsError(LearnableError):
    """All that is wrong with the rows of a source."""


OnBad = Callable[[BadRowError], None]


def refuse(error: BadRowError) -> None:
    """Refuse a bad row where nobody collects them. Raises the `BadRowError` that it is given."""
    raise error


class BadRows:
    """What is wrong with the rows of one source. `count` are bad, `good` are prompts; `first` are the first reasons."""

    def __init__(self, *, skip: bool = False) -> None:
        self.skip = skip
        self.good = 0
        self.count = 0
        self.first: list[str] = []
        self._reasons: set[str] = set()  # two at most: whether all bad rows have one

    def add(self, error: BadRowError) -> None:
        """Remember a bad row.

        Raises `BadRowsError` as `check` does where all of very many rows were bad, unless they are to be skipped.
        """
        self.count += 1
        if len(self._reasons) < 2:
            self._reasons.add(error.why)
        if len(self.first) < 20:
            self.first.append(str(error))
        # More rows without a prompt among them would say the same, and a data set may be very large.
        if self.count >= 1000 and not (self.good or self.skip):
            self.check()

    def sift(self, prompts: Iterable[Prompt]) -> Iterator[Prompt]:
        """Count and yield the prompts. Raises `BadRowsError` as `check` does, at the end of the rows."""
        for prompt in prompts:
            self.good += 1
            yield prompt
        self.check()

    def check(self) -> None:
        """Raise `BadRowsError` with the bad rows so far, unless they are to be skipped and others are good."""
        if self.count and not (self.skip and self.good):
            raise BadRowsError(self._listing())

    def settle(self) -> int:
        """Return how many rows were skipped, and warn of them.

        Raises `BadRowsError` as `check` does: a limit may have stopped the reading before the end of the rows.
        """
        self.check()
        if self.count:
            progress().warn(self._summary())
        return self.count

    def _summary(self) -> str:
        named = 3  # of those that were skipped
        more = f" and {self.count - named:,} more" if self.count > named else ""
        shown = "; ".join(self.first[:named])
        return f"{self.count:,} bad {_rows(self.count)} of {self.count + self.good:,} skipped: {shown}{more}"

    def _listing(self) -> str:
        if self.count == 1 and self.good:
            return f"{self.first[0]}\n(or leave this row out with `skip_bad_rows`)"
        if self.count == 1:
            return self.first[0]
        if len(self._reasons) == 1 and not self.good:
            return f"{self.first[0]}\n(the same is wrong with all {self.count:,} rows that were read)"
        fix = "correct them, or leave them out with `skip_bad_rows`" if self.good else "no row is a prompt"
        more = [f"... and {self.count - len(self.first):,} more"] if self.count > len(self.first) else []
        opening = f"{self.count:,} of {self.count + self.good:,} rows are bad: {fix}"
        return "\n  ".join([opening, *self.first, *more])


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"
