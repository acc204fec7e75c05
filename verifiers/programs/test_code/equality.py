"""When an answer, or what was printed, counts as the expected one. The answer was made by nobody we trust."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable
from typing import Any

from learnable.verifiers.programs.sandbox.jail.codec import decode, encode

TOLERANCE = 1e-6


def plain(answer: Any, expected: Any) -> bool:
    """Python's own equality: 1, 1.0 and True are equal, a tuple is no list."""
    return bool(answer == expected)


def strict(answer: Any, expected: Any) -> bool:
    """Equality of value and type throughout: 1 is neither 1.0 nor True."""
    return _same(answer, expected, lambda one, other: type(one) is type(other) and bool(one == other))


def close(answer: Any, expected: Any) -> bool:
    """Python's equality, but floats may differ by 1e-6, relative or absolute."""
    return _same(answer, expected, _close_leaf)


def unordered(answer: Any, expected: Any) -> bool:
    """Python's equality, but the items of a list or a tuple may come in any order, at every depth."""
    return bool(_frozen(answer) == _frozen(expected))


EQUALITIES: dict[str, Callable[[Any, Any], bool]] = {
    "plain": plain, "strict": strict, "close": close, "unordered": unordered,
}  # fmt: skip


def matches(tree: Any, expected: Any, equality: str) -> bool:
    """Say whether an answer, as `jail.codec` writes it, equals the expected value.

    Nothing is hashed unless there is as much of it as expected: entries may be chosen to collide, and then hashing
    them takes quadratic time. An answer that cannot be read equals nothing.
    """
    counted = _items if equality == "unordered" else _entries
    try:
        if (count := counted(tree)) and count != counted(encode(expected)):
            return False
        return EQUALITIES[equality](decode(tree), expected)
    except (ValueError, TypeError, RecursionError, OverflowError, AttributeError):
        return False


def prints_same(printed: str, expected: str, equality: str) -> bool:
    r"""Say whether two texts are the same: `strict` to the character, else but for blanks at the ends.

    `close` compares numbers with a tolerance, word by word, and `unordered` takes the lines in any order.

    >>> prints_same("1 2 \n\n", "1 2", "plain"), prints_same("0.3333333", "0.33333334", "close")
    (True, True)
    """
    if equality == "strict":
        return printed == expected
    if equality == "close":
        ours, theirs = printed.split(), expected.split()
        return len(ours) == len(theirs) and all(map(_same_word, ours, theirs))
    lines, wanted = _lines(printed), _lines(expected)
    return sorted(lines) == sorted(wanted) if equality == "unordered" else lines == wanted


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _same_word(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except ValueError:
        return False


def _entries(tree: Any) -> int:
    """Return how many entries the sets and dicts in an encoded value have."""
    return _count(tree, ("s", "z", "d"))


def _items(tree: Any) -> int:
    """Return how many items its sets, dicts, tuples and lists have."""
    return _count(tree, ("s", "z", "d", "t", "l"))


def _count(tree: Any, tags: Collection[str]) -> int:
    tag, content = "l", tree
    if type(tree) is dict and len(tree) == 1:
        ((tag, content),) = tree.items()
    if type(content) is not list:
        return 0
    return (len(content) if tag in tags else 0) + sum(_count(item, tags) for item in content)


def _close_leaf(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, int | float) and isinstance(other, int | float)
        return numbers and math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)


def _same(one: Any, other: Any, leaf: Callable[[Any, Any], bool], depth: int = 0) -> bool:
    if depth > 100:
        return False
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(_same(a, b, leaf, depth + 1) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return _same_keys(one, other, leaf) and all(_same(one[key], other[key], leaf, depth + 1) for key in one)
    if isinstance(one, set | frozenset) and isinstance(other, set | frozenset):
        return _same_keys(one, other, leaf)
    return leaf(one, other)


def _same_keys(one: Collection[Any], other: Collection[Any], leaf: Callable[[Any, Any], bool]) -> bool:
    keys = {key: key for key in other}
    return len(one) == len(other) and all(key in keys and leaf(key, keys[key]) for key in one)


def _frozen(value: Any) -> Hashable:
    """Return something equal for values that differ only in the order of their items."""
    if isinstance(value, list | tuple):
        return type(value).__name__, frozenset(Counter(map(_frozen, value)).items())
    if isinstance(value, dict):
        return "dict", frozenset((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, set | frozenset):
        return "set", frozenset(value)
    hashable: Hashable = value
    return hashable
