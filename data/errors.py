"""One base for every error a user can cause: its message names the place, the value and the fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LearnableError(Exception):
    """Bad input or a bad environment. The command line prints the message alone and exits with status 2."""


class InterruptedRunError(LearnableError):
    """A run stopped by Ctrl-C, in good order; the message says what is kept and how to go on."""


class UnknownNameError(LearnableError):
    """A name that is not in a closed set; the message offers the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(set(known))
        near = nearest_names(name, known)
        offer = f"did you mean {' or '.join(repr(n) for n in near)}?" if near else f"known: {', '.join(known)}"
        super().__init__(f"unknown {kind} {name!r}: {offer}")


def nearest_names(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return up to `limit` known names that look most like `name`, ignoring case, best first.

    >>> nearest_names("hiaku", ["Haiku", "Sonnet"])
    ['Haiku']
    """
    by_fold = {candidate.casefold(): candidate for candidate in known}
    return [by_fold[match] for match in difflib.get_close_matches(name.casefold(), list(by_fold), n=limit)]
