r"""Regular expressions of users: read once, and refused where they could take exponential time.

Python's `re` tries one way after the other, and knows no time limit. A pattern hangs where some text can be matched in
a loop in two ways: n rounds of it are 2^n ways. So a pattern is made into an automaton of its signs (Glushkov, 1961),
and refused where the same text leads from a sign back to itself on two paths (exponential ambiguity: Weber and Seidl,
"On the degree of ambiguity of finite automata", 1991). What takes but a power of the text's length is left to the
bound on that length and to the time limit of scoring.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from learnable.verifiers.protocol import fault

MAX_PATTERN = 2000  # characters
MAX_LOOP_SIGNS = 80  # in loops; the check takes the square of them

_SAMPLES = "azAZ09_ \n\t-.,!/\u00e9\u0663\u65e5"
_parser: Any = importlib.import_module("re._parser")
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


@lru_cache(maxsize=256)
def compile_pattern(key: str, pattern: str) -> re.Pattern[str]:
    """Return a user's pattern, ready to match. Raises `SpecError` about the spec's `key` for one of no use."""
    if not pattern or len(pattern) > MAX_PATTERN:
        raise fault(key, pattern, f"give a regular expression of 1 to {MAX_PATTERN} characters")
    try:
        compiled = re.compile(pattern)
        parsed = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise fault(key, pattern, f"no regular expression: {error}") from error
    if why := find_blow_up(parsed, compiled.flags):
        raise fault(key, pattern, f"{why}: some completions would take it years. Let each repeat match one way only")
    return compiled


def find_blow_up(parsed: Any, flags: int = 0) -> str:
    r"""Return why a parsed pattern can take exponential time, "" where it cannot.

    >>> [bool(find_blow_up(_parser.parse(text))) for text in (r"(a+)+b", r"(x+x+)+y", r"(\w+\s+)*x", r".*?</a>")]
    [True, True, False, False]
    """
    automaton = _Automaton(_alphabet(parsed), flags)
    automaton.add(parsed)
    if automaton.twice:
        return "a repeat within a repeat can match the same text in many ways"
    looped = automaton.looped()
    if len(looped) > MAX_LOOP_SIGNS:
        return f"more than {MAX_LOOP_SIGNS} signs in repeats, which is more than can be checked"
    if automaton.is_ambiguous(looped):
        return "the branches of a repeat can match the same text in many ways"
    return ""


@dataclass(slots=True)
class _Part:
    """A part of the pattern: whether it may match nothing, and the signs that it may begin and end with."""

    nullable: bool = True
    first: set[int] = field(default_factory=set)
    last: set[int] = field(default_factory=set)


class _Automaton:
    """The signs of a pattern, each with the samples of characters that it matches, and which may follow which."""

    def __init__(self, alphabet: str, flags: int) -> None:
        self.masks: list[int] = []
        self.follow: list[set[int]] = []
        self.twice = False  # whether a loop joins two signs that were joined already
        self._alphabet = alphabet
        self._flags = flags

    def add(self, items: Iterable[Any]) -> _Part:
        """Add a sequence of parsed items."""
        whole = _Part()
        for op, argument in items:
            whole = self._join(whole, self._item(str(op), argument))
        return whole

    def looped(self) -> list[int]:
        """Return the signs that can come again."""
        return [sign for sign in range(len(self.masks)) if sign in self._reached(sign)]

    def is_ambiguous(self, looped: list[int]) -> bool:
        """Say whether some text leads from a sign back to itself on two paths."""
        inside, pairs = set(looped), {}
        for one in looped:
            for other in looped:
                pairs[one, other] = [
                    (p, q)
                    for p in self.follow[one] & inside
                    for q in self.follow[other] & inside
                    if self.masks[p] & self.masks[q]
                ]
        back: dict[tuple[int, int], list[tuple[int, int]]] = {pair: [] for pair in pairs}
        for pair, targets in pairs.items():
            for target in targets:
                back[target].append(pair)
        return any(
            one != other
            for sign in looped
            for one, other in _closure(pairs, (sign, sign)) & _closure(back, (sign, sign))
        )

    def _reached(self, sign: int) -> set[int]:
        seen: set[int] = set()
        waiting = list(self.follow[sign])
        while waiting:
            if (one := waiting.pop()) not in seen:
                seen.add(one)
                waiting.extend(self.follow[one])
        return seen

    def _item(self, op: str, argument: Any) -> _Part:
        match op:
            case "SUBPATTERN":
                return self._with_flags(*argument[1:])
            case "ATOMIC_GROUP":
                return self.add(argument)
            case "BRANCH":
                return _either([self.add(branch) for branch in argument[1]])
            case "GROUPREF_EXISTS":
                return _either([self.add(branch or ()) for branch in argument[1:]])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self._repeat(*argument)
            case "ASSERT" | "ASSERT_NOT":
                self.add(argument[1])
                return _Part()
            case "AT":
                return _Part()
        return self._sign(op, argument)

    def _with_flags(self, added: int, taken: int, inner: Any) -> _Part:
        before = self._flags
        self._flags = (before | int(added)) & ~int(taken)
        part = self.add(inner)
        self._flags = before
        return part

    def _sign(self, op: str, argument: Any) -> _Part:
        mask = sum(1 << place for place, sample in enumerate(self._alphabet) if self._matches(op, argument, sample))
        self.masks.append(mask)
        self.follow.append(set())
        here = {len(self.masks) - 1}
        return _Part(False, here, set(here))

    def _matches(self, op: str, argument: Any, sample: str) -> bool:
        if op == "ANY":
            return sample != "\n" or bool(self._flags & re.DOTALL)
        samples = {sample, sample.lower(), sample.upper()} if self._flags & re.IGNORECASE else {sample}
        return any(_matches(op, argument, one) for one in samples)

    def _join(self, one: _Part, other: _Part) -> _Part:
        for sign in one.last:
            self.follow[sign] |= other.first
        return _Part(
            one.nullable and other.nullable,
            one.first | other.first if one.nullable else one.first,
            one.last | other.last if other.nullable else other.last,
        )

    def _repeat(self, least: int, most: Any, inner: Any) -> _Part:
        part = self.add(inner)
        # A repeat of up to so many rounds is no loop.
        if int(most) >= 10:
            for sign in part.last:
                self.twice = self.twice or bool(self.follow[sign] & part.first)
                self.follow[sign] |= part.first
        return _Part(part.nullable or not least, part.first, part.last)


def _closure(edges: dict[tuple[int, int], list[tuple[int, int]]], start: tuple[int, int]) -> set[tuple[int, int]]:
    seen: set[tuple[int, int]] = set()
    waiting = list(edges[start])
    while waiting:
        if (pair := waiting.pop()) not in seen:
            seen.add(pair)
            waiting.extend(edges[pair])
    return seen


def _either(parts: list[_Part]) -> _Part:
    whole = _Part(nullable=any(part.nullable for part in parts))
    for part in parts:
        whole.first |= part.first
        whole.last |= part.last
    return whole


def _alphabet(parsed: Any) -> str:
    """Return samples of characters that tell the signs of a pattern apart."""
    signs = set(_SAMPLES)

    def visit(items: Any) -> None:
        for item in items if isinstance(items, list | tuple) or hasattr(items, "data") else ():
            if isinstance(item, tuple) and len(item) == 2 and str(item[0]) in ("LITERAL", "NOT_LITERAL"):
                signs.update(_around(item[1]))
            elif isinstance(item, tuple) and len(item) == 2 and str(item[0]) == "RANGE":
                signs.update(*(_around(end) for end in item[1]))
            visit(item)

    visit(parsed)
    return "".join(sorted(signs))


def _around(code: int) -> set[str]:
    near = {chr(other) for other in (code - 1, code, code + 1) if 0 <= other < 0x110000}
    return near | {chr(code).swapcase()[:1]}


def _matches(op: str, argument: Any, sample: str) -> bool:
    match op:
        case "LITERAL":
            return ord(sample) == int(argument)
        case "NOT_LITERAL":
            return ord(sample) != int(argument)
        case "RANGE":
            return bool(argument[0] <= ord(sample) <= argument[1])
        case "CATEGORY":
            return re.match(_CATEGORIES.get(str(argument), r"(?s:.)"), sample) is not None
        case "IN":
            negated = bool(argument) and str(argument[0][0]) == "NEGATE"
            return any(_matches(str(one), value, sample) for one, value in argument) != negated
        case "NEGATE":
            return False
    return True  # what an earlier group matched
