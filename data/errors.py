"""One base for every error a user can cause: its message names the place, the value and the fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LearnableError(Exception):
    """Bad input or a bad environment. The command line prints the message alone and exits with status 2."""


class InterruptedRunError(LearnableError):
    """A run stopped by Ctrl-C, in good order; the message says what is kept and how to go on."""


class NothingAnsweredError(LearnableError):
    """The policy answered none of the prompts, so nothing can be said of them: exit status 1, and no set."""


class SpentBudgetError(LearnableError):
    """A run stopped where its budget of tokens or money ended, in good order: exit status 1, and no set."""


class UnknownNameError(LearnableError):
    """A name that is not in a closed set; the message offers the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], listed_by: str = "") -> None:
        """Offer the names that look most like `name`, or say which there are: all, or what lists them (`listed_by`)."""
        known = sorted(set(known))
        near = nearest_names(name, known)
        every = f"`{listed_by}` lists all {len(known)}" if listed_by else f"known: {', '.join(known)}"
        offer = f"did you mean {' or '.join(repr(n) for n in near)}?" if near else every
        super().__init__(f"unknown {kind} {name!r}: {offer}")


def shorten_reason(reason: str, length: int = 120) -> str:
    """Return a reason of at most `length` characters, cut after a word where it is longer.

    >>> shorten_reason("no reward: return a number", 20), shorten_reason("x" * 9, 6)
    ('no reward: return...', 'xxx...')
    """
    if len(reason) <= length:
        return reason
    cut = reason[: length - 2].rpartition(" ")[0] or reason
    return f"{cut[: length - 3]}..."


def nearest_names(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return up to `limit` known names that look most like `name`, ignoring case, best first.

    >>> nearest_names("hiaku", ["Haiku", "Sonnet"])
    ['Haiku']
    """
    by_fold = {candidate.casefold(): candidate for candidate in known}
    return [by_fold[match] for match in difflib.get_close_matches(name.casefold(), list(by_fold), n=limit)]
