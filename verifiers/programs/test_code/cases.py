"""One test of a function: a call, and what makes its answer right. The program never compares it itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from learnable.verifiers.programs.sandbox.jail.codec import decode
from learnable.verifiers.programs.sandbox.outcome import Answer
from learnable.verifiers.programs.sandbox.process import Call
from learnable.verifiers.programs.test_code.equality import matches

Check = Callable[[Any], bool]  # of an answer as `jail.codec` writes it


@dataclass(frozen=True, slots=True)
class CallCase:
    """A call (positional arguments, keywords, the built-ins its answer passes through) and the answer's check."""

    call: Call
    check: Check

    def passes(self, answer: Answer) -> bool:
        """Say whether this answer is right. One that cannot be read is wrong."""
        try:
            return answer.worked and self.check(answer.tree)
        except (ValueError, TypeError, RecursionError, OverflowError, AttributeError):
            return False


def make_cases(cases: Sequence[Sequence[Any]], equality: str) -> list[CallCase]:
    """Return the cases of a spec, each `[[argument, ...], expected]`, under one policy of `EQUALITIES`."""
    return [CallCase((tuple(arguments), {}, []), check_equal(expected, equality)) for arguments, expected in cases]


def check_equal(expected: Any, equality: str) -> Check:
    """Return a check for this value under one policy of `EQUALITIES`."""
    return lambda tree: matches(tree, expected, equality)


def check_within(expected: float, below: float, *, included: bool) -> Check:
    """Return a check for a number that differs from `expected` by less than `below`, or at most by it."""

    def check(tree: Any) -> bool:
        distance = abs(_plain(tree) - expected)
        return bool(distance <= below if included else distance < below)

    return check


def check_truth(expected: bool) -> Check:
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
