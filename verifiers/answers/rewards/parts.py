"""The parts that rewards are made of: each looks at one thing of a completion, and is between 0 and 1."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import permutations

from learnable.verifiers.answers.patterns import compile_pattern
from learnable.verifiers.answers.values.quantities import find_quantities
from learnable.verifiers.answers.values.writing import write_plainly
from learnable.verifiers.reward_parts import DISTANCES


def judge_distance(
    number: Fraction | None, wanted: Fraction | None, prompt: str, worth: Mapping[str, float] = DISTANCES
) -> float:
    """Return what an answer is worth by its distance: exact, off by one, 2 to 5 off, another operation, garbage.

    "Another operation" is a sum, difference, product or quotient of the prompt's two numbers that is not the one asked
    for. `number` is None where no answer could be read.

    >>> [judge_distance(Fraction(n), Fraction(7), "Work out 3 + 4") for n in (7, 8, 11, 12, 90)]
    [1.0, 0.5, 0.25, 0.25, 0.0]
    >>> judge_distance(Fraction(-1), Fraction(7), "Work out 3 + 4"), judge_distance(None, Fraction(7), "")
    (0.1, 0.0)
    """
    if number is None or wanted is None:
        return worth["unread"]
    off = abs(number - wanted)
    values = [worth["garbage"]]
    if off == 0:
        return worth["exact"]
    if off <= 1:
        values.append(worth["off_by_one"])
    elif off <= 5:
        values.append(worth["near"])
    if worth["wrong_operation"] > max(values) and number in _other_results(prompt):
        values.append(worth["wrong_operation"])
    return max(values)


@lru_cache(maxsize=1024)
def _other_results(prompt: str) -> frozenset[Fraction]:
    """Return what the four operations make of the two numbers of a prompt, nothing where it has not just two."""
    # Operands stand near the start.
    numbers = [one.value for one in find_quantities(_set_apart(write_plainly(prompt[:2000])))]
    if len(numbers) != 2:
        return frozenset()
    results: set[Fraction] = set()
    for one, other in permutations(numbers):
        results |= {one + other, one - other, one * other}
        if other:
            results |= {one / other, Fraction(one // other)}
    return frozenset(results)


def _set_apart(text: str) -> str:
    """Return the text with room around the signs of operations, so that 3/4 is two numbers and not a fraction."""
    return re.sub(r"(?<=[0-9])\s*([/*+x-])\s*(?=[0-9])", r" \1 , ", text)


def judge_format(completion: str, tags: Sequence[str], *, strict: bool) -> float:
    r"""Return 1 for a completion that is the tags one behind the other, else 0.

    Strict: nothing but the tags, each opening and closing on a line of its own, as in
    `^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>\n?$`. Lenient: the tags in order, once each, on whatever lines,
    with white space alone between them.

    >>> judge_format("<think>\na\n</think>\n<answer>\n7\n</answer>\n", ("think", "answer"), strict=True)
    1.0
    >>> [judge_format("<think>a</think> <answer>7</answer>", ("think", "answer"), strict=way) for way in (True, False)]
    [0.0, 1.0]
    """
    pattern, once = _format_pattern(tuple(tags), strict), all(completion.count(f"<{tag}>") == 1 for tag in tags)
    return float(once and pattern.search(completion) is not None)


@lru_cache(maxsize=64)
def _format_pattern(tags: tuple[str, ...], strict: bool) -> re.Pattern[str]:
    if strict:
        inner = r"\n".join(rf"<{re.escape(tag)}>\n.*?\n</{re.escape(tag)}>" for tag in tags)
        return re.compile(rf"\A{inner}\n?\Z", re.DOTALL)
    return re.compile(r"\s*".join(rf"<{re.escape(tag)}>.*?</{re.escape(tag)}>" for tag in tags), re.DOTALL)


def judge_tags(completion: str, tags: Sequence[str]) -> float:
    """Return the share of opening and closing tags that stand exactly once.

    >>> judge_tags("<think>a</think>7", ("think", "answer"))
    0.5
    """
    wanted = [mark for tag in tags for mark in (f"<{tag}>", f"</{tag}>")]
    return sum(completion.count(mark) == 1 for mark in wanted) / len(wanted)


def judge_pattern(completion: str, pattern: str) -> float:
    """Return 1 for a completion that a user's pattern matches from its beginning, else 0."""
    return float(compile_pattern("reward", pattern).match(completion) is not None)


def judge_length(completion: str, low: float, high: float) -> float:
    """Return how far a completion's length, in characters, is from `low` (0) to `high` (1).

    >>> [judge_length("x" * length, 10, 20) for length in (5, 15, 30)]
    [0.0, 0.5, 1.0]
    """
    return min(1.0, max(0.0, (len(completion) - low) / (high - low)))
