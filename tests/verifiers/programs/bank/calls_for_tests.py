"""Where the drawn calls of the problem bank come from: each draw makes the arguments of one call.

They are drawn once, when `references_for_tests` writes the rows of a new problem.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

Draw = Callable[[random.Random], list[Any]]

BALANCED = ("()()", "(())", "(()())", "((()))()", "()(())()", "(()(()))", "(((())))", "()()()()", "((())(()))")
WORDS = "moon river stone apple small cloud green window seven tiger noon level paper orange ink door".split()


def numbers(low: int, high: int, count: int = 1) -> Draw:
    """Draw `count` whole numbers."""
    return lambda rng: [rng.randint(low, high) for _ in range(count)]


def lists(low: int, high: int, longest: int, shortest: int = 0) -> Draw:
    """Draw one list of whole numbers."""
    return lambda rng: [[rng.randint(low, high) for _ in range(rng.randint(shortest, longest))]]


def sorted_lists(low: int, high: int, longest: int) -> Draw:
    """Draw one list of whole numbers in rising order."""
    return mapped(lists(low, high, longest), lambda values: sorted(values))


def grids(values: Sequence[Any], widest: int) -> Draw:
    """Draw one list of rows of the same length."""

    def draw(rng: random.Random) -> list[Any]:
        height, width = rng.randint(1, widest), rng.randint(1, widest)
        return [[[rng.choice(values) for _ in range(width)] for _ in range(height)]]

    return draw


def texts(alphabet: str, longest: int, shortest: int = 0) -> Draw:
    """Draw one text."""
    return lambda rng: ["".join(rng.choice(alphabet) for _ in range(rng.randint(shortest, longest)))]


def sentences(longest: int, shortest: int = 1) -> Draw:
    """Draw one text of words with a space between them."""
    return mapped(word_lists(longest, shortest), " ".join)


def word_lists(longest: int, shortest: int = 0) -> Draw:
    """Draw one list of words."""
    return lambda rng: [[rng.choice(WORDS) for _ in range(rng.randint(shortest, longest))]]


def chosen(*values: Any) -> Draw:
    """Draw one of the values."""
    return lambda rng: [rng.choice(values)]


def together(*parts: Draw) -> Draw:
    """Draw the arguments of every draw, one after another."""
    return lambda rng: [value for draw in parts for value in draw(rng)]


def mapped(draw: Draw, change: Callable[..., Any]) -> Draw:
    """Draw one value made of the values of another draw."""
    return lambda rng: [change(*draw(rng))]


def dates(first_year: int = 1990, last_year: int = 2030) -> Draw:
    """Draw one date as YYYY-MM-DD; no day after the 28th."""
    return lambda rng: [f"{rng.randint(first_year, last_year)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"]


def clock_times() -> Draw:
    """Draw one time of day as HH:MM."""
    return lambda rng: [f"{rng.randrange(24):02}:{rng.randrange(60):02}"]


def nested_lists(depth: int) -> Draw:
    """Draw one list of digits and of such lists."""

    def nested(rng: random.Random, depth: int) -> list[Any]:
        return [
            nested(rng, depth - 1) if depth > 0 and rng.random() < 0.4 else rng.randint(0, 9)
            for _ in range(rng.randint(0, 3))
        ]

    return lambda rng: [nested(rng, depth)]


def expressions(depth: int) -> Draw:
    """Draw one text such as `(3+4)*2`."""

    def expression(rng: random.Random, depth: int) -> str:
        if depth == 0 or rng.random() < 0.25:
            return str(rng.randint(0, 20))
        inner = expression(rng, depth - 1) + rng.choice("+-*") + expression(rng, depth - 1)
        return f"({inner})" if rng.random() < 0.5 else inner

    return lambda rng: [expression(rng, depth)]


def draw_opening(rng: random.Random) -> list[Any]:
    """Draw a balanced text and the place of one of its opening parentheses."""
    text = rng.choice(BALANCED)
    return [text, rng.choice([place for place, mark in enumerate(text) if mark == "("])]


def draw_version(rng: random.Random) -> list[Any]:
    """Draw a version number with one to three parts."""
    return [".".join(["1", *(str(rng.randint(0, 12)) for _ in range(rng.randint(0, 2)))])]


def draw_tasks(rng: random.Random) -> list[Any]:
    """Draw a number of tasks, and pairs of different ones."""
    count = rng.randint(2, 6)
    pairs = [[rng.randrange(count), rng.randrange(count)] for _ in range(rng.randint(1, 6))]
    return [count, [pair for pair in pairs if pair[0] != pair[1]]]


def draw_maze(rng: random.Random) -> list[Any]:
    """Draw rows of `.` and `#`."""
    width, height = rng.randint(2, 6), rng.randint(2, 6)
    return [["".join(rng.choice("...#") for _ in range(width)) for _ in range(height)]]


def spoken_words(start: int, more: int) -> list[str]:
    """Return what FizzBuzz says aloud from `start` on."""
    hits = [(i % 3 == 0, i % 5 == 0) for i in range(start, start + 2 + more % 12)]
    return ["Fizz" * fizz + "Buzz" * buzz for fizz, buzz in hits if fizz or buzz] or ["FizzBuzz", "Buzz"]


DRAW_CALL: dict[str, Draw] = {
    "FizzBuzzCount": numbers(16, 300),
    "FizzBuzzWords": numbers(40, 500),
    "FizzBuzzDigit": numbers(10, 999),
    "FizzBuzzList": numbers(16, 40),
    "FizzBuzzThree": numbers(12, 420),
    "FizzBuzzPlain": numbers(9, 200),
    "FizzBuzzRules": together(
        numbers(1, 60),
        mapped(numbers(2, 9, 2), lambda a, b: [[b + 5, "Jazz"], [a, "Fizz"], [a + 1, "Buzz"]]),
    ),
    "FizzBuzzInverse": mapped(numbers(1, 60, 2), spoken_words),
    "ParenthesesDepth": chosen(*BALANCED),
    "FirstUnmatched": texts("()x", 8, 1),
    "MatchingParenthesis": draw_opening,
    "BalancedBrackets": texts("()[]", 6, 2),
    "ParenthesesToAdd": texts("()", 12, 1),
    "BalancedOutsideQuotes": texts('()"', 7, 2),
    "RemoveOuter": chosen(*BALANCED),
    "ParenthesesScore": chosen(*BALANCED, "((())())", "(((()))())"),
    "LongestBalanced": texts("()", 14, 2),
    "AllBalanced": numbers(6, 6),
    "BalancedWildcard": texts("()*", 9, 2),
    "FirstLetters": texts("abcdef ", 12, 1),
    "RemoveLetter": texts("aenosAENOS ", 14, 3),
    "Anagrams": together(texts("ab", 4, 2), texts("abA ", 5, 2)),
    "CaesarShift": sentences(3),
    "RunLength": texts("ab", 12, 2),
    "IsRotation": together(texts("ab", 4, 3), texts("ab", 4, 3)),
    "LongestDistinct": texts("abcde", 14, 4),
    "CountWordsInText": texts("ab  ", 14, 3),
    "ReverseWords": sentences(6, 2),
    "LongestWord": sentences(6, 2),
    "TitleWords": sentences(5, 2),
    "CommonPrefix": mapped(word_lists(3, 2), lambda words: [("pre" + word)[:5] for word in words]),
    "CountLongWords": sentences(7, 2),
    "LastItem": lists(-9, 9, 6),
    "CountEqual": lists(1, 6, 10, 2),
    "EveryNth": lists(0, 20, 14, 4),
    "RemoveDuplicates": lists(0, 6, 12, 3),
    "RunningTotals": lists(-9, 9, 8, 2),
    "SecondLargest": lists(-9, 9, 7, 2),
    "RotateLeft": lists(0, 30, 9, 3),
    "SplitInChunks": lists(0, 9, 12, 4),
    "MergeSorted": together(sorted_lists(0, 20, 6), sorted_lists(0, 20, 6)),
    "PairsWithSum": lists(0, 10, 12, 4),
    "MovingSums": lists(-9, 20, 10, 2),
    "MostCommon": lists(0, 5, 10, 3),
    "AbsoluteDifference": numbers(-50, 50, 2),
    "ClampNumber": numbers(-30, 30),
    "RoundDown": numbers(-99, 99),
    "DigitalRoot": numbers(10, 99999),
    "IsPrime": numbers(10, 400),
    "SumOfDivisors": numbers(10, 300),
    "IsSquare": mapped(numbers(2, 99), lambda n: n * n + n % 3),
    "PrimeFactors": numbers(10, 900),
    "WriteInBase": numbers(11, 5000),
    "RomanNumeral": numbers(10, 3998),
    "NumberInWords": numbers(20, 998),
    "IsLeapYear": numbers(1583, 2400),
    "DaysInMonth": together(numbers(1890, 2110), numbers(1, 12)),
    "AddMinutes": clock_times(),
    "DayOfYear": dates(),
    "DaysBetween": together(dates(), dates()),
    "DayOfWeek": dates(1950, 2049),
    "CountWeekday": numbers(1950, 2049),
    "NestedSum": nested_lists(3),
    "FlattenList": nested_lists(3),
    "ListDepth": nested_lists(3),
    "WaysToClimb": numbers(6, 12),
    "Permutations": chosen("cab", "aabb", "abca", "xyzx", "zy", "noon", "bbb"),
    "TowerMoves": numbers(6, 6),
    "CountSubsets": together(lists(-3, 6, 8, 3), numbers(0, 9)),
    "GrayCode": numbers(5, 7),
    "SumInText": texts("0123ab ", 12, 4),
    "SnakeCase": texts("abcXYZ", 9, 3),
    "ParseQuery": texts("ab=&1", 10, 3),
    "ExpandRanges": mapped(numbers(1, 30, 4), lambda a, b, c, d: f"{a}-{a + b % 5},{c},{d}-{d + 2}"),
    "CompareVersions": together(draw_version, draw_version),
    "RomanValue": chosen("XXIX", "DCCVII", "MMXXVI", "CXI", "XC", "MDCLXVI", "CMXXI", "LXXX"),
    "SimplifyPath": mapped(texts("ab./", 12, 3), lambda s: "/" + s),
    "ParseCsvLine": mapped(
        lists(0, 4, 4, 1), lambda picks: ",".join(["moon", '"a, b"', '"he said ""no"""', "", "7"][i] for i in picks)
    ),
    "DecodeRepeats": mapped(numbers(1, 11, 3), lambda a, b, c: f"{a}[x{b % 4}[yz]{c % 3}[w]]v"),
    "WildcardMatch": together(texts("ab?*", 5, 1), texts("ab", 6, 1)),
    "StarPattern": together(chosen("a*b", ".*a", "a.b*", "b*a*", ".b*.", "a*.b", "ab*a"), texts("ab", 5, 1)),
    "EvaluatePostfix": mapped(
        together(numbers(-9, 20, 3), texts("+-*", 2, 2), numbers(0, 1)),
        lambda a, b, c, signs, late: (
            [str(a), str(b), str(c), *signs] if late else [str(a), str(b), signs[0], str(c), signs[1]]
        ),
    ),
    "EvaluateExpression": expressions(3),
    "FirstNotLess": together(sorted_lists(0, 15, 9), numbers(0, 15)),
    "LongestRise": lists(0, 15, 10, 3),
    "BestStretch": lists(-9, 9, 10, 3),
    "MergeIntervals": mapped(
        lists(0, 20, 5, 2), lambda starts: [[start, start + start * 7 % 5 + 1] for start in starts]
    ),
    "FewestCoins": together(mapped(lists(1, 12, 4, 2), lambda values: sorted(set(values))), numbers(5, 40)),
    "TrappedWater": lists(0, 7, 10, 3),
    "RisingPick": lists(0, 20, 12, 4),
    "LargestRectangle": lists(0, 9, 14, 4),
    "SmallestWindow": together(texts("abc", 12, 5), texts("abc", 3, 1)),
    "TransposeTable": grids(range(10), 4),
    "SpiralOrder": grids(range(10), 4),
    "LifeStep": grids((0, 1), 5),
    "CountIslands": grids((0, 1), 5),
    "ShortestWay": draw_maze,
    "EditDistance": together(texts("abc", 7, 2), texts("abc", 7, 2)),
    "OrderOfTasks": draw_tasks,
    "CountQueens": numbers(7, 7),
    "PalindromeCuts": chosen("abacdc", "aabbaa", "xyxyy", "bananas", "levels", "abcbaab", "noonmoon"),
}
