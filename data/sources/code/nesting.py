"""Balanced parentheses, harder: groups, the longest stretch, all of them, wildcards."""

from __future__ import annotations

from learnable.data.sources.code.inputs import chosen, numbers, texts
from learnable.data.sources.code.problem import CodeProblem

BALANCED = ("()()", "(())", "(()())", "((()))()", "()(())()", "(()(()))", "(((())))", "()()()()", "((())(()))")

NESTING = (
    CodeProblem(
        form="RemoveOuter",
        names=("remove_outer", "peel", "strip_outer"),
        signature="s",
        statement="splits the balanced parentheses s into the fewest-character balanced groups, one after another, and "
        "returns s without the outermost pair of each group",
        level=6.5,
        solutions=(
            """
            out, depth = "", 0
            for c in s:
                depth -= c == ")"
                if depth:
                    out += c
                depth += c == "("
            return out
            """,
            """
            out, start, depth = [], 0, 0
            for i, c in enumerate(s):
                depth += 1 if c == "(" else -1
                if depth == 0:
                    out.append(s[start + 1:i])
                    start = i + 1
            return "".join(out)
            """,
        ),
        wrong=("return s[1:-1]", 'return s.replace("()", "")'),
        example=("(())",),
        edges=(("",), ("()",), ("()()",), ("(()())",), ("(())()((()))",), ("(())(())",)),
        draw=chosen(*BALANCED),
    ),
    CodeProblem(
        form="ParenthesesScore",
        names=("score", "value_of", "nest_score"),
        signature="s",
        statement="returns the score of the balanced parentheses s: () scores 1, groups side by side add up, and a "
        "group put in parentheses scores {0} times as much",
        level=7.5,
        solutions=(
            """
            total, depth = 0, 0
            for i, c in enumerate(s):
                if c == "(":
                    depth += 1
                else:
                    depth -= 1
                    if s[i - 1] == "(":
                        total += {0} ** depth
            return total
            """,
            """
            sums = [0]
            for c in s:
                if c == "(":
                    sums.append(0)
                else:
                    inner = sums.pop()
                    sums[-1] += {0} * inner if inner else 1
            return sums[0]
            """,
        ),
        wrong=(
            'return s.count("()")',
            """
            deepest = depth = 0
            for c in s:
                depth += 1 if c == "(" else -1
                deepest = max(deepest, depth)
            return {0} ** (deepest - 1) if s else 0
            """,
            """
            total = depth = 0
            for c in s:
                depth += 1 if c == "(" else -1
                if c == ")":
                    total += {0} ** depth
            return total
            """,
        ),
        example=("(())",),
        edges=(("",), ("()",), ("()()",), ("(()())",), ("((()))()",), ("(()(()))",)),
        draw=chosen(*BALANCED, "((())())", "(((()))())"),
        parameters=((2,), (3,), (5,)),
    ),
    CodeProblem(
        form="LongestBalanced",
        names=("longest_balanced", "longest_valid", "best_stretch"),
        signature="s",
        statement="returns the length of the longest unbroken stretch of balanced parentheses in the string s, which "
        "holds only parentheses",
        level=8.0,
        solutions=(
            """
            best, starts = 0, [-1]
            for i, c in enumerate(s):
                if c == "(":
                    starts.append(i)
                    continue
                starts.pop()
                if starts:
                    best = max(best, i - starts[-1])
                else:
                    starts.append(i)
            return best
            """,
            """
            best = 0
            for i in range(len(s)):
                depth = 0
                for j in range(i, len(s)):
                    depth += 1 if s[j] == "(" else -1
                    if depth < 0:
                        break
                    if depth == 0:
                        best = max(best, j - i + 1)
            return best
            """,
        ),
        wrong=(
            'return 2 * min(s.count("("), s.count(")"))',
            """
            best = length = depth = 0
            for c in s:
                depth += 1 if c == "(" else -1
                length += 1
                if depth < 0:
                    depth = length = 0
                elif depth == 0:
                    best = max(best, length)
            return best
            """,
            """
            pairs = depth = 0
            for c in s:
                if c == "(":
                    depth += 1
                elif depth:
                    depth -= 1
                    pairs += 1
            return 2 * pairs
            """,
        ),
        example=("(()",),
        edges=(("",), ("(",), ("()(()",), (")()())",), ("(()())",), ("())((())",), ("((()()",), ("()(())",)),
        draw=texts("()", 14, 2),
    ),
    CodeProblem(
        form="AllBalanced",
        names=("all_balanced", "every_balanced", "make_balanced"),
        signature="n",
        statement="returns the sorted list of all the strings of n pairs of balanced parentheses",
        level=8.0,
        solutions=(
            """
            if n == 0:
                return [""]
            made = set()
            for i in range(n):
                for inner in NAME(i):
                    for rest in NAME(n - 1 - i):
                        made.add("(" + inner + ")" + rest)
            return sorted(made)
            """,
            """
            found = []
            def extend(text, left, right):
                if left == right == 0:
                    found.append(text)
                if left:
                    extend(text + "(", left - 1, right)
                if right > left:
                    extend(text + ")", left, right - 1)
            extend("", n, n)
            return found
            """,
        ),
        wrong=(
            """
            made = [""]
            for _ in range(n):
                made = sorted({new for text in made for new in ("(" + text + ")", "()" + text, text + "()")})
            return made
            """,
            """
            import itertools
            words = map("".join, itertools.product("()", repeat=2 * n))
            return sorted(word for word in words if word.count("(") == n)
            """,
        ),
        example=(2,),
        edges=((0,), (1,), (3,), (4,), (5,)),
        draw=numbers(6, 6),
    ),
    CodeProblem(
        form="BalancedWildcard",
        names=("can_balance", "balanced_with_stars", "stars_fit"),
        signature="s",
        statement="returns True if the string s of parentheses and stars can be balanced when each star stands for "
        "'(', for ')' or for nothing, else False",
        level=9.0,
        solutions=(
            """
            low = high = 0
            for c in s:
                low += 1 if c == "(" else -1
                high += -1 if c == ")" else 1
                if high < 0:
                    return False
                low = max(low, 0)
            return low == 0
            """,
            """
            depths = {0}
            for c in s:
                steps = {"(": [1], ")": [-1], "*": [-1, 0, 1]}[c]
                depths = {depth + step for depth in depths for step in steps if depth + step >= 0}
            return 0 in depths
            """,
        ),
        wrong=(
            'return abs(s.count("(") - s.count(")")) <= s.count("*")',
            """
            low = high = 0
            for c in s:
                low += 1 if c == "(" else -1
                high += -1 if c == ")" else 1
                if high < 0:
                    return False
            return low <= 0
            """,
            """
            s = s.replace("*", "")
            while "()" in s:
                s = s.replace("()", "")
            return s == ""
            """,
        ),
        example=("(*",),
        edges=(
            ("",),
            ("*",),
            ("(*)",),
            (")*(",),
            ("(*))",),
            ("**((",),
            ("((**",),
            ("*)(",),
            ("*)*(*",),
            ("*)((",),
            ("(()*",),
        ),
        draw=texts("()*", 9, 2),
    ),
)
