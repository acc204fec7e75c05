"""Tables of partial answers, orders and placings."""

from __future__ import annotations

import random
from typing import Any

from learnable.data.sources.code.inputs import chosen, numbers, texts, together
from learnable.data.sources.code.problem import CodeProblem


def _draw_tasks(rng: random.Random) -> list[Any]:
    count = rng.randint(2, 6)
    pairs = [[rng.randrange(count), rng.randrange(count)] for _ in range(rng.randint(1, 6))]
    return [count, [pair for pair in pairs if pair[0] != pair[1]]]


PLANNING = (
    CodeProblem(
        form="EditDistance",
        names=("edit_distance", "fewest_edits", "edits_between"),
        signature="a, b",
        statement="returns the smallest number of edits that turn the string a into b, where an edit puts in, takes "
        "out or changes one character",
        level=9.0,
        solutions=(
            """
            row = list(range(len(b) + 1))
            for i, x in enumerate(a, 1):
                above, row = row, [i]
                for j, y in enumerate(b, 1):
                    row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y)))
            return row[-1]
            """,
            """
            from functools import cache
            @cache
            def cost(i, j):
                if i == 0 or j == 0:
                    return i + j
                if a[i - 1] == b[j - 1]:
                    return cost(i - 1, j - 1)
                return 1 + min(cost(i - 1, j), cost(i, j - 1), cost(i - 1, j - 1))
            return cost(len(a), len(b))
            """,
        ),
        wrong=(
            "return sum(x != y for x, y in zip(a, b)) + abs(len(a) - len(b))",
            """
            from functools import cache
            @cache
            def cost(i, j):
                if i == 0 or j == 0:
                    return i + j
                if a[i - 1] == b[j - 1]:
                    return cost(i - 1, j - 1)
                return 1 + min(cost(i - 1, j), cost(i, j - 1))
            return cost(len(a), len(b))
            """,
            "return max(len(a), len(b)) - len(set(a) & set(b))",
        ),
        example=("cat", "cut"),
        edges=(
            ("", ""),
            ("", "abc"),
            ("abc", ""),
            ("kitten", "sitting"),
            ("flaw", "lawn"),
            ("abc", "abc"),
            ("ab", "ba"),
            ("aaa", "a"),
        ),
        draw=together(texts("abc", 7, 2), texts("abc", 7, 2)),
    ),
    CodeProblem(
        form="OrderOfTasks",
        names=("order_of_tasks", "task_order", "schedule"),
        signature="n, pairs",
        statement="takes the tasks 0 to n - 1 and a list of pairs [a, b] that say that a must come before b, and "
        "returns an order of all the tasks, at every place the smallest task that may come next, or [] where there is "
        "none",
        level=9.5,
        solutions=(
            """
            out = []
            while len(out) < n:
                free = [t for t in range(n) if t not in out and all(a in out for a, b in pairs if b == t)]
                if not free:
                    return []
                out.append(free[0])
            return out
            """,
            """
            import heapq
            waits = [0] * n
            for _, b in pairs:
                waits[b] += 1
            ready = [t for t in range(n) if waits[t] == 0]
            heapq.heapify(ready)
            out = []
            while ready:
                task = heapq.heappop(ready)
                out.append(task)
                for a, b in pairs:
                    if a == task:
                        waits[b] -= 1
                        if waits[b] == 0:
                            heapq.heappush(ready, b)
            return out if len(out) == n else []
            """,
        ),
        wrong=(
            """
            waits = [0] * n
            for _, b in pairs:
                waits[b] += 1
            ready = [t for t in range(n) if waits[t] == 0]
            out = []
            while ready:
                task = ready.pop(0)
                out.append(task)
                for a, b in pairs:
                    if a == task:
                        waits[b] -= 1
                        if waits[b] == 0:
                            ready.append(b)
            return out if len(out) == n else []
            """,
            """
            out = []
            while len(out) < n:
                free = [t for t in range(n) if t not in out and all(a in out for a, b in pairs if b == t)]
                if not free:
                    return out
                out.append(free[0])
            return out
            """,
            "return sorted(range(n), key=lambda t: sum(b == t for _, b in pairs))",
        ),
        example=(2, [[1, 0]]),
        edges=(
            (1, []),
            (3, []),
            (3, [[0, 1], [1, 0]]),
            (4, [[3, 1]]),
            (4, [[2, 0], [0, 1], [3, 2]]),
            (5, [[0, 4], [4, 1], [2, 3]]),
            (3, [[2, 1], [2, 1]]),
        ),
        draw=_draw_tasks,
    ),
    CodeProblem(
        form="CountQueens",
        names=("count_queens", "queens", "placings"),
        signature="n",
        statement="returns in how many ways n queens can stand on an n by n chessboard so that none attacks another",
        level=9.5,
        solutions=(
            """
            def place(row, columns, rising, falling):
                if row == n:
                    return 1
                return sum(
                    place(row + 1, columns | {c}, rising | {row + c}, falling | {row - c})
                    for c in range(n)
                    if c not in columns and row + c not in rising and row - c not in falling
                )
            return place(0, frozenset(), frozenset(), frozenset())
            """,
            """
            import itertools
            return sum(
                len({c + r for r, c in enumerate(p)}) == len({c - r for r, c in enumerate(p)}) == n
                for p in itertools.permutations(range(n))
            )
            """,
        ),
        wrong=(
            "import math\nreturn math.factorial(n)",
            """
            import itertools
            return sum(len({c + r for r, c in enumerate(p)}) == n for p in itertools.permutations(range(n)))
            """,
            """
            import itertools
            return sum(
                all(abs(a - b) != 1 for a, b in zip(p, p[1:])) for p in itertools.permutations(range(n))
            )
            """,
        ),
        example=(1,),
        edges=((0,), (2,), (3,), (4,), (5,), (6,)),
        draw=numbers(7, 7),
    ),
    CodeProblem(
        form="PalindromeCuts",
        names=("palindrome_cuts", "fewest_cuts", "cut_to_palindromes"),
        signature="s",
        statement="returns the smallest number of cuts that divide the string s, which is not empty, into parts that "
        "each read the same backwards. s may have 60 letters",
        level=10.0,
        solutions=(
            """
            cuts = [-1]
            for end in range(1, len(s) + 1):
                cuts.append(min(cuts[start] + 1 for start in range(end) if s[start:end] == s[start:end][::-1]))
            return cuts[-1]
            """,
            """
            cuts = list(range(-1, len(s)))
            for middle in range(len(s)):
                for low, high in ((middle, middle), (middle, middle + 1)):
                    while low >= 0 and high < len(s) and s[low] == s[high]:
                        cuts[high + 1] = min(cuts[high + 1], cuts[low] + 1)
                        low, high = low - 1, high + 1
            return cuts[-1]
            """,
        ),
        wrong=(
            """
            count = 0
            while s:
                size = max(k for k in range(1, len(s) + 1) if s[:k] == s[:k][::-1])
                s = s[size:]
                count += 1
            return count - 1
            """,
            "return 0 if s == s[::-1] else len(s) - 1",
            "return 0 if s == s[::-1] else 1",
        ),
        example=("aab",),
        edges=(
            ("a",),
            ("ab",),
            ("noon",),
            ("abab",),
            ("aabab",),
            ("banana",),
            ("aaaba",),
            ("abcde",),
            ("cabababcbc",),
            ("abcaab" * 10,),
        ),
        draw=chosen("abacdc", "aabbaa", "xyxyy", "bananas", "levels", "abcbaab", "noonmoon"),
    ),
)
