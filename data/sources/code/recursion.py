"""Recursion: lists in lists, and everything that can be chosen or put in order."""

from __future__ import annotations

import random
from typing import Any

from learnable.data.sources.code.inputs import chosen, lists, numbers, together
from learnable.data.sources.code.problem import CodeProblem


def _draw_nested(rng: random.Random) -> list[Any]:
    return [_nested(rng, 3)]


def _nested(rng: random.Random, depth: int) -> list[Any]:
    inner = depth > 0
    return [
        _nested(rng, depth - 1) if inner and rng.random() < 0.4 else rng.randint(0, 9) for _ in range(rng.randint(0, 3))
    ]


NESTED: tuple[tuple[list[Any]], ...] = (
    ([],),
    ([1],),
    ([1, [2, 3]],),
    ([[[]]],),
    ([[1, [2]], 3, [[4]]],),
    ([[], [[5, 5]], 6],),
    ([1, [2, [3, [4]]], 9],),
)

RECURSION = (
    CodeProblem(
        form="NestedSum",
        names=("nested_sum", "sum_all", "deep_sum"),
        signature="xs",
        statement="returns the sum of all the numbers in the list xs, in the lists in it, and so on to any depth",
        level=5.0,
        solutions=(
            "return sum(NAME(x) if isinstance(x, list) else x for x in xs)",
            """
            total, waiting = 0, list(xs)
            while waiting:
                x = waiting.pop()
                if isinstance(x, list):
                    waiting.extend(x)
                else:
                    total += x
            return total
            """,
        ),
        wrong=(
            "return sum(x for x in xs if not isinstance(x, list))",
            "return sum(sum(x) if isinstance(x, list) else x for x in xs)",
        ),
        example=([1, [2]],),
        edges=NESTED,
        draw=_draw_nested,
    ),
    CodeProblem(
        form="FlattenList",
        names=("flatten", "flat", "unnest"),
        signature="xs",
        statement="returns one list of all the numbers in the list xs and in the lists in it, to any depth, in order",
        level=5.5,
        solutions=(
            """
            out = []
            for x in xs:
                if isinstance(x, list):
                    out.extend(NAME(x))
                else:
                    out.append(x)
            return out
            """,
            """
            waiting, out = [xs], []
            while waiting:
                x = waiting.pop()
                if isinstance(x, list):
                    waiting.extend(reversed(x))
                else:
                    out.append(x)
            return out
            """,
        ),
        wrong=(
            "out = []\nfor x in xs:\n    out += x if isinstance(x, list) else [x]\nreturn out",
            "out = []\nfor x in xs:\n    out += sorted(set(NAME(x))) if isinstance(x, list) else [x]\nreturn out",
        ),
        example=([[1], 2],),
        edges=NESTED,
        draw=_draw_nested,
    ),
    CodeProblem(
        form="ListDepth",
        names=("list_depth", "levels", "how_deep"),
        signature="xs",
        statement="returns how deep lists are nested in the list xs: 1 where it holds no list, 2 where it holds a list "
        "that holds none, and so on",
        level=6.0,
        solutions=(
            "return 1 + max((NAME(x) for x in xs if isinstance(x, list)), default=0)",
            """
            depth, level = 0, [xs]
            while level:
                depth += 1
                level = [x for inner in level for x in inner if isinstance(x, list)]
            return depth
            """,
        ),
        wrong=(
            "return max((1 + NAME(x) for x in xs if isinstance(x, list)), default=0)",
            "return 1 + sum(NAME(x) for x in xs if isinstance(x, list))",
            "return 1 + (NAME(xs[0]) if xs and isinstance(xs[0], list) else 0)",
        ),
        example=([1, [2]],),
        edges=NESTED,
        draw=_draw_nested,
    ),
    CodeProblem(
        form="WaysToClimb",
        names=("ways_to_climb", "count_ways", "stair_ways"),
        signature="n",
        statement="returns in how many ways n stairs can be climbed with steps of 1 to {0} stairs at a time. The order "
        "of the steps counts, and there is one way to climb none",
        level=6.0,
        solutions=(
            """
            ways = [1]
            for i in range(1, n + 1):
                ways.append(sum(ways[max(0, i - {0}):i]))
            return ways[n]
            """,
            """
            if n == 0:
                return 1
            return sum(NAME(n - step) for step in range(1, {0} + 1) if step <= n)
            """,
        ),
        wrong=(
            "if n <= 1:\n    return n\nreturn sum(NAME(n - step) for step in range(1, {0} + 1) if step <= n)",
            "return 2 ** (n - 1) if n else 1",
            "if n < 2:\n    return 1\nreturn sum(NAME(n - step) for step in range(1, {0}) if step <= n)",
        ),
        example=(2,),
        edges=((0,), (1,), (3,), (4,), (5,), (7,), (10,)),
        draw=numbers(6, 12),
        parameters=((2,), (3,), (4,)),
    ),
    CodeProblem(
        form="Permutations",
        names=("arrangements", "permutations", "all_orders"),
        signature="s",
        statement="returns the sorted list of the different strings that can be made by putting the letters of s in "
        "any order",
        level=7.0,
        solutions=(
            "import itertools\nreturn sorted(set(map(''.join, itertools.permutations(s))))",
            """
            if s == "":
                return [""]
            out = []
            for c in sorted(set(s)):
                i = s.index(c)
                out += [c + rest for rest in NAME(s[:i] + s[i + 1:])]
            return out
            """,
        ),
        wrong=(
            "import itertools\nreturn sorted(map(''.join, itertools.permutations(s)))",
            "import itertools\nreturn list(dict.fromkeys(map(''.join, itertools.permutations(s))))",
            "return sorted({s[i:] + s[:i] for i in range(len(s))})",
        ),
        example=("ab",),
        edges=(("",), ("a",), ("ba",), ("abc",), ("aab",), ("dcba",)),
        draw=chosen("cab", "aabb", "abca", "xyzx", "zy", "noon", "bbb"),
    ),
    CodeProblem(
        form="TowerMoves",
        names=("tower_moves", "hanoi", "move_tower"),
        signature="n",
        statement="returns the shortest list of moves that brings a tower of n discs from peg '{0}' to peg '{1}' by "
        "way of peg '{2}', one disc at a time and never a larger disc on a smaller one. A move is a list of two pegs",
        level=7.5,
        solutions=(
            """
            def move(k, start, goal, spare):
                if k == 0:
                    return []
                return move(k - 1, start, spare, goal) + [[start, goal]] + move(k - 1, spare, goal, start)
            return move(n, "{0}", "{1}", "{2}")
            """,
            """
            moves, waiting = [], [(n, "{0}", "{1}", "{2}")]
            while waiting:
                k, start, goal, spare = waiting.pop()
                if k == 1:
                    moves.append([start, goal])
                elif k > 1:
                    waiting += [(k - 1, spare, goal, start), (1, start, goal, spare), (k - 1, start, spare, goal)]
            return moves
            """,
        ),
        wrong=(
            """
            def move(k, start, goal, spare):
                if k == 0:
                    return []
                return move(k - 1, start, goal, spare) + [[start, goal]] + move(k - 1, spare, goal, start)
            return move(n, "{0}", "{1}", "{2}")
            """,
            """
            def move(k, start, goal, spare):
                if k == 0:
                    return []
                return move(k - 1, start, spare, goal) + [[start, goal]] + move(k - 1, spare, goal, start)
            return move(n, "{0}", "{2}", "{1}")
            """,
        ),
        example=(1,),
        edges=((0,), (2,), (3,), (4,), (5,)),
        draw=numbers(6, 6),
        parameters=(("A", "C", "B"), ("A", "B", "C"), ("left", "right", "middle")),
    ),
    CodeProblem(
        form="CountSubsets",
        names=("count_subsets", "ways_to_pick", "subset_sums"),
        signature="xs, total",
        statement="returns in how many ways values can be picked from the list xs, each place at most once, so that "
        "they add up to total. Equal values at different places are different picks, and picking none adds up to 0",
        level=7.5,
        solutions=(
            "if not xs:\n    return int(total == 0)\nreturn NAME(xs[1:], total) + NAME(xs[1:], total - xs[0])",
            """
            sums = {0: 1}
            for x in xs:
                new = dict(sums)
                for value, ways in sums.items():
                    new[value + x] = new.get(value + x, 0) + ways
                sums = new
            return sums.get(total, 0)
            """,
        ),
        wrong=(
            (
                "if total == 0:\n    return 1\nif not xs or total < 0:\n    return 0\n"
                "return NAME(xs[1:], total) + NAME(xs[1:], total - xs[0])"
            ),
            (
                "if not xs:\n    return int(total == 0)\nif total < 0:\n    return 0\n"
                "return NAME(xs[1:], total) + NAME(xs, total - xs[0]) if xs[0] > 0 else 0"
            ),
            (
                "xs = sorted(set(xs))\nimport itertools\n"
                "return sum(sum(p) == total for k in range(len(xs) + 1) for p in itertools.combinations(xs, k))"
            ),
        ),
        example=([1, 2, 3], 3),
        edges=(
            ([], 0),
            ([], 1),
            ([0], 0),
            ([2, 2], 2),
            ([2, 2, 2], 4),
            ([5, -5, 3], 3),
            ([1, 2, 3, 4], 5),
            ([3, 0, 0], 3),
        ),
        draw=together(lists(-3, 6, 8, 3), numbers(0, 9)),
    ),
    CodeProblem(
        form="GrayCode",
        names=("gray_code", "flip_one", "one_bit_apart"),
        signature="n",
        statement="returns the list of all strings of n binary digits in the order of the reflected Gray code: the "
        "code for n - 1 with 0 in front, then the same code backwards with 1 in front; for n = 0 it is ['']",
        level=8.0,
        solutions=(
            """
            if n == 0:
                return [""]
            rest = NAME(n - 1)
            return ["0" + code for code in rest] + ["1" + code for code in reversed(rest)]
            """,
            'return [format(i ^ (i >> 1), "b").zfill(n) if n else "" for i in range(2 ** n)]',
        ),
        wrong=(
            'return [format(i, "b").zfill(n) if n else "" for i in range(2 ** n)]',
            (
                'if n == 0:\n    return [""]\nrest = NAME(n - 1)\n'
                'return ["0" + code for code in rest] + ["1" + code for code in rest]'
            ),
            'return [format(i ^ (i >> 1), "b").zfill(n) for i in range(2 ** n)]',
        ),
        example=(1,),
        edges=((0,), (2,), (3,), (4,)),
        draw=numbers(5, 7),
    ),
)
