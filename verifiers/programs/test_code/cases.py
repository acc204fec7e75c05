"""One test of a function: a call, and what makes its answer right. The answer is compared here, never by the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from learnable.verifiers.programs.sandbox.jail.codec import decode
from learnable.verifiers.programs.sandbox.outcome import Answer
from learnable.verifiers.programs.test_code.equality import matches

Call = tuple[tuple[Any, ...], dict[str, Any], list[tuple[str, tuple[Any, ...]]]]
Check = Callable[[Any], bool]  # of an answer as `jail.codec` writes it


@dataclass(frozen=True, slots=True)
class Case:
    """A call, as positional arguments, keywords and the built-ins its answer passes through, and the check of the answer."""

    call: Call
    check: Check

    def passes(self, answer: Answer) -> bool:
        """Say whether this answer is right. One that cannot be read is wrong."""
        try:
            return answer.worked and self.check(answer.tree)
        except (ValueError, TypeError, RecursionError, OverflowError, AttributeError):
            return False


def listed_cases(cases: Sequence[Sequence[Any]], equality: str) -> list[Case]:
    """Return the cases of a spec: `[[argument, ...], expected]` each."""
    return [Case((tuple(arguments), {}, []), equal_to(expected, equality)) for arguments, expected in cases]


def equal_to(expected: Any, equality: str) -> Check:
    """Return a check for this value under an equality policy."""
    return lambda tree: matches(tree, expected, equality)


def within(expected: float, below: float, *, included: bool) -> Check:
    """Return a check for a number that differs from `expected` by less than `below`, or at most by it."""

    def check(tree: Any) -> bool:
        distance = abs(_plain(tree) - expected)
        return bool(distance <= below if included else distance < below)

    return check


def truth(expected: bool) -> Check:
    """Return a check for an answer that Python takes for true, or for false."""
    return lambda tree: _truth(tree) is expected


def _truth(tree: Any) -> bool:
    """Return `bool` of an encoded value, without building it: a container is true where it has items."""
    if type(tree) is dict and len(tree) == 1:
        ((tag, content),) = tree.items()
        return bool(content) if tag in ("t", "s", "z", "d", "b") else bool(decode(tree))
    return bool(tree)


def _plain(tree: Any) -> Any:
    if type(tree) is list or (type(tree) is dict and not {"i", "f", "c"} & tree.keys()):
        raise TypeError("no number")
    return decode(tree)
