"""Balanced parentheses: whether they are, and what belongs together."""

from __future__ import annotations

import random
from typing import Any

from learnable.data.sources.code.inputs import chosen, texts
from learnable.data.sources.code.problem import CodeProblem

BALANCED = ("()()", "(())", "(()())", "((()))()", "()(())()", "(()(()))", "(((())))", "()()()()", "((())(()))")


def _draw_opening(rng: random.Random) -> list[Any]:
    text = rng.choice(BALANCED)
    return [text, rng.choice([place for place, mark in enumerate(text) if mark == "("])]


BRACKETS = (
    CodeProblem(
        form="ParenthesesDepth",
        names=("max_depth", "deepest", "nesting"),
        signature="s",
        statement="returns how deep the balanced parentheses in the string s are nested, 0 where there are none",
        level=4.0,
        solutions=(
            """
            depth = deepest = 0
            for c in s:
                if c == "(":
                    depth += 1
                    deepest = max(deepest, depth)
                elif c == ")":
                    depth -= 1
            return deepest
            """,
            """
            s = "".join(c for c in s if c in "()")
            rounds = 0
            while s:
                kept, depth = "", 0
                for c in s:
                    depth += c == "("
                    if depth > 1:
                        kept += c
                    depth -= c == ")"
                s, rounds = kept, rounds + 1
            return rounds
            """,
        ),
        wrong=(
            'return s.count("(")',
            """
            depth = 0
            while "(" * (depth + 1) in s:
                depth += 1
            return depth
            """,
        ),
        example=("(a)",),
        edges=(("",), ("abc",), ("()",), ("()()",), ("(())",), ("(()(()))",), ("(a(b)c(d(e)))",), ("(x)(y)(z)",)),
        draw=chosen(*BALANCED),
    ),
    CodeProblem(
        form="FirstUnmatched",
        names=("first_unmatched", "stray_closing", "find_stray"),
        signature="s",
        statement="returns the position, from 0, of the first closing parenthesis in the string s that closes nothing, "
        "or -1 where there is none",
        level=5.0,
        solutions=(
            """
            depth = 0
            for i, c in enumerate(s):
                if c == "(":
                    depth += 1
                elif c == ")":
                    if depth == 0:
                        return i
                    depth -= 1
            return -1
            """,
            """
            for i in range(len(s)):
                if s[:i + 1].count(")") > s[:i + 1].count("("):
                    return i
            return -1
            """,
        ),
        wrong=(
            'return s.find(")") if s.count(")") > s.count("(") else -1',
            """
            depth = 0
            for i, c in enumerate(s):
                depth += 1 if c == "(" else -1
                if depth < 0:
                    return i
            return -1
            """,
        ),
        example=("a)",),
        edges=(("",), (")",), ("())",), ("(a)b)c",), ("(()",), ("())(",), (")(",), ("a(b)",), ("()())(",)),
        draw=texts("()x", 8, 1),
    ),
    CodeProblem(
        form="MatchingParenthesis",
        names=("matching_parenthesis", "find_close", "closing_index"),
        signature="s, i",
        statement="returns the position, from 0, of the closing parenthesis that belongs to the opening one at "
        "position i of the balanced string s",
        level=5.5,
        solutions=(
            """
            depth = 0
            for j in range(i, len(s)):
                depth += (s[j] == "(") - (s[j] == ")")
                if depth == 0:
                    return j
            """,
            """
            open_now = []
            for j, c in enumerate(s):
                if c == "(":
                    open_now.append(j)
                elif c == ")" and open_now.pop() == i:
                    return j
            """,
        ),
        wrong=('return s.index(")", i)', 'return s.rindex(")")', "return len(s) - 1 - i"),
        example=("(a)b", 0),
        edges=(
            ("()", 0),
            ("()()", 0),
            ("(()())", 0),
            ("(()())", 3),
            ("x(y(z))(w)", 1),
            ("((a)(b))c", 0),
            ("((a)(b))c", 4),
        ),
        draw=_draw_opening,
    ),
    CodeProblem(
        form="BalancedBrackets",
        names=("is_balanced_all", "brackets_match", "well_formed"),
        signature="s",
        statement="returns True if the round, square and curly brackets in the string s are balanced and properly "
        "nested, else False",
        level=6.0,
        solutions=(
            """
            pairs = {")": "(", "]": "[", "}": "{"}
            open_now = []
            for c in s:
                if c in pairs.values():
                    open_now.append(c)
                elif c in pairs:
                    if not open_now or open_now.pop() != pairs[c]:
                        return False
            return not open_now
            """,
            """
            s = "".join(c for c in s if c in "()[]{}")
            before = None
            while s != before:
                before = s
                s = s.replace("()", "").replace("[]", "").replace("{}", "")
            return s == ""
            """,
        ),
        wrong=(
            'return s.count("(") == s.count(")") and s.count("[") == s.count("]") and s.count("{") == s.count("}")',
            """
            depth = 0
            for c in s:
                depth += (c in "([{") - (c in ")]}")
                if depth < 0:
                    return False
            return depth == 0
            """,
        ),
        example=("{a}",),
        edges=(("",), ("()[]{}",), ("([{}])",), ("([)]",), ("(]",), (")(",), ("((",), ("]",), ("f(x[1])",), ("{(})",)),
        draw=texts("()[]", 6, 2),
    ),
    CodeProblem(
        form="ParenthesesToAdd",
        names=("missing_parentheses", "to_add", "repairs"),
        signature="s",
        statement="returns the smallest number of parentheses that must be inserted to make the string s, which holds "
        "only parentheses, balanced",
        level=6.0,
        solutions=(
            """
            depth = missing = 0
            for c in s:
                if c == "(":
                    depth += 1
                elif depth:
                    depth -= 1
                else:
                    missing += 1
            return depth + missing
            """,
            """
            while "()" in s:
                s = s.replace("()", "")
            return len(s)
            """,
        ),
        wrong=('return abs(s.count("(") - s.count(")"))', 'return len(s.replace("()", ""))'),
        example=("(()",),
        edges=(("",), ("()",), ("(())",), (")(",), (")))",), ("((",), ("())(",), (")()(",)),
        draw=texts("()", 12, 1),
    ),
    CodeProblem(
        form="BalancedOutsideQuotes",
        names=("balanced_code", "balanced_outside_quotes", "check_code"),
        signature="s",
        statement="returns True if the parentheses in the string s are balanced, else False. Those between two double "
        "quotes do not count, and an unclosed quote makes it False",
        level=7.0,
        solutions=(
            """
            depth, quoted = 0, False
            for c in s:
                if c == '"':
                    quoted = not quoted
                elif not quoted:
                    depth += (c == "(") - (c == ")")
                    if depth < 0:
                        return False
            return depth == 0 and not quoted
            """,
            """
            parts = s.split('"')
            if len(parts) % 2 == 0:
                return False
            code = "".join(c for c in "".join(parts[::2]) if c in "()")
            while "()" in code:
                code = code.replace("()", "")
            return code == ""
            """,
        ),
        wrong=(
            """
            depth = 0
            for c in s:
                depth += (c == "(") - (c == ")")
                if depth < 0:
                    return False
            return depth == 0
            """,
            """
            code = "".join(s.split('"')[::2])
            depth = 0
            for c in code:
                depth += (c == "(") - (c == ")")
                if depth < 0:
                    return False
            return depth == 0
            """,
            """
            code = "".join(s.split('"')[::2])
            return s.count('"') % 2 == 0 and code.count("(") == code.count(")")
            """,
        ),
        example=('(")")',),
        edges=(("",), ('"("',), ('f("a")',), ('("',), ('()"',), (")(",), ('")"(")")',), ('("(")',), ('")',)),
        draw=texts('()"', 7, 2),
    ),
)
