"""Programming problems on lists and strings."""

from __future__ import annotations

from learnable.data.sources.code.number_problems import SMALL
from learnable.data.sources.code.problem import Problem

LISTS = (([-7, -1, -5],), ([3, 1, 2],), ([5],), ([-4, -2, -9],), ([7, 7, 1, 8],), ([1, 2, 3, 4, 5, 6, 10, 12],))
TEXTS = tuple((text,) for text in ("banana", "level", "a", "green apple", "noon", "strawberry"))
BRACKETS = tuple((text,) for text in ("", "()", "(())", "()()", "(", ")", ")(", "(()", "())", "(()())"))


def _balanced(text: str) -> bool:
    while "()" in text:
        text = text.replace("()", "")
    return not text


LIST_PROBLEMS = (
    Problem(
        "SumList",
        ("sum_list", "add_all"),
        "xs",
        "returns the sum of the list xs",
        ("return sum(xs)", "total = 0\nfor x in xs:\n    total += x\nreturn total"),
        sum,
        LISTS,
        level=2.0,
    ),
    Problem(
        "Largest",
        ("largest", "maximum"),
        "xs",
        "returns the largest value in the list xs",
        ("return max(xs)", "best = xs[0]\nfor x in xs:\n    if x > best:\n        best = x\nreturn best"),
        max,
        LISTS,
        level=2.5,
    ),
    Problem(
        "Smallest",
        ("smallest", "minimum"),
        "xs",
        "returns the smallest value in the list xs",
        ("return min(xs)", "return sorted(xs)[0]"),
        min,
        LISTS,
        level=2.5,
    ),
    Problem(
        "CountAbove",
        ("count_above", "count_greater"),
        "xs",
        "returns how many values in xs are greater than {0}",
        ("return sum(1 for x in xs if x > {0})", "return len([x for x in xs if x > {0}])"),
        lambda xs, k: sum(x > k for x in xs),
        LISTS,
        SMALL,
        4.0,
    ),
    Problem(
        "KeepBelow",
        ("keep_below", "keep_less"),
        "xs",
        "returns the values in xs that are less than {0}",
        (
            "return [x for x in xs if x < {0}]",
            "kept = []\nfor x in xs:\n    if x < {0}:\n        kept.append(x)\nreturn kept",
        ),
        lambda xs, k: [x for x in xs if x < k],
        LISTS,
        SMALL,
        4.0,
    ),
    Problem(
        "TimesEach",
        ("times_each", "multiply_all"),
        "xs",
        "returns a list with every value in xs multiplied by {0}",
        ("return [x * {0} for x in xs]", "return [{0} * x for x in xs]"),
        lambda xs, k: [x * k for x in xs],
        LISTS,
        SMALL,
        3.0,
    ),
)

TEXT_PROBLEMS = (
    Problem(
        "ReverseText",
        ("reverse_text", "backwards"),
        "s",
        "returns the string s reversed",
        ("return s[::-1]", 'out = ""\nfor c in s:\n    out = c + out\nreturn out'),
        lambda s: "".join(reversed(s)),
        TEXTS,
        level=3.0,
    ),
    Problem(
        "IsPalindrome",
        ("is_palindrome", "palindrome"),
        "s",
        "returns True if the string s is a palindrome, else False",
        (
            "return s == s[::-1]",
            "for i in range(len(s)):\n    if s[i] != s[-1 - i]:\n        return False\nreturn True",
        ),
        lambda s: list(s) == list(reversed(s)),
        TEXTS,
        level=4.0,
    ),
    Problem(
        "CountVowels",
        ("count_vowels", "vowels"),
        "s",
        "returns the number of vowels in the string s",
        (
            'return sum(1 for c in s if c in "aeiou")',
            'count = 0\nfor c in s:\n    if c in "aeiou":\n        count += 1\nreturn count',
        ),
        lambda s: sum(s.count(vowel) for vowel in "aeiou"),
        TEXTS,
        level=4.0,
    ),
    Problem(
        "CountLetter",
        ("count_letter", "letter_count"),
        "s",
        "returns how many times the letter {0} appears in the string s",
        ('return s.count("{0}")', 'return sum(1 for c in s if c == "{0}")'),
        lambda s, letter: sum(c == letter for c in s),
        TEXTS,
        tuple((letter,) for letter in "abelnors"),
        3.0,
    ),
    Problem(
        "RepeatText",
        ("repeat_text", "repeat"),
        "s",
        "returns the string s repeated {0} times",
        ("return s * {0}", 'out = ""\nfor _ in range({0}):\n    out += s\nreturn out'),
        lambda s, k: "".join([s] * k),
        TEXTS,
        SMALL,
        2.0,
    ),
    Problem(
        "BalancedParentheses",
        ("is_balanced", "balanced"),
        "s",
        "returns True if the parentheses in the string s are balanced, else False",
        (
            'depth = 0\nfor c in s:\n    depth += 1 if c == "(" else -1\n    if depth < 0:\n        return False\n'
            "return depth == 0",
            'while "()" in s:\n    s = s.replace("()", "")\nreturn s == ""',
        ),
        _balanced,
        BRACKETS,
        level=7.0,
    ),
)
