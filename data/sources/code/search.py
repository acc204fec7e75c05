"""Searching lists: places, stretches, intervals."""

from __future__ import annotations

from learnable.data.sources.code.inputs import lists, mapped, numbers, sorted_lists, together
from learnable.data.sources.code.problem import CodeProblem

SEARCH = (
    CodeProblem(
        form="FirstNotLess",
        names=("first_not_less", "insert_place", "find_place"),
        signature="xs, x",
        statement="returns the first place, from 0, in the rising list xs whose value is not less than x, or the "
        "length of the list where there is none",
        level=5.5,
        solutions=(
            """
            low, high = 0, len(xs)
            while low < high:
                middle = (low + high) // 2
                if xs[middle] < x:
                    low = middle + 1
                else:
                    high = middle
            return low
            """,
            "return sum(value < x for value in xs)",
        ),
        wrong=(
            "return sum(value <= x for value in xs)",
            "return xs.index(x) if x in xs else len(xs)",
            (
                "low, high = 0, len(xs) - 1\nwhile low < high:\n    middle = (low + high) // 2\n"
                "    if xs[middle] < x:\n        low = middle + 1\n    else:\n        high = middle\nreturn low"
            ),
        ),
        example=([1, 5, 9], 5),
        edges=(
            ([], 3),
            ([4], 3),
            ([4], 4),
            ([4], 5),
            ([1, 3, 3, 3, 7], 3),
            ([1, 3, 5], 4),
            ([2, 4, 6], 9),
            ([2, 4], 1),
        ),
        draw=together(sorted_lists(0, 15, 9), numbers(0, 15)),
    ),
    CodeProblem(
        form="LongestRise",
        names=("longest_rise", "rising_run", "longest_climb"),
        signature="xs",
        statement="returns the length of the longest stretch of neighbouring values in the list xs in which every "
        "value is larger than the one before it by {0} or more",
        level=6.0,
        solutions=(
            """
            best = length = 0
            for i, x in enumerate(xs):
                length = length + 1 if i and x - xs[i - 1] >= {0} else 1
                best = max(best, length)
            return best
            """,
            """
            if not xs:
                return 0
            cuts = [0] + [i for i in range(1, len(xs)) if xs[i] - xs[i - 1] < {0}] + [len(xs)]
            return max(b - a for a, b in zip(cuts, cuts[1:]))
            """,
        ),
        wrong=(
            (
                "best = length = 0\nfor i, x in enumerate(xs):\n"
                "    length = length + 1 if i and x - xs[i - 1] >= {0} else 0\n    best = max(best, length)\n"
                "return best"
            ),
            (
                "best = length = 0\nfor i, x in enumerate(xs):\n"
                "    length = length + 1 if i and x - xs[i - 1] > {0} else 1\n    best = max(best, length)\n"
                "return best"
            ),
            "return 1 + sum(b - a >= {0} for a, b in zip(xs, xs[1:]))",
        ),
        example=([1, 9],),
        edges=(
            ([],),
            ([5],),
            ([1, 2, 3, 1, 2],),
            ([2, 4, 6, 8, 1, 9],),
            ([1, 4, 7, 3, 6],),
            ([9, 8, 7],),
            ([1, 6, 11, 2, 20],),
        ),
        draw=lists(0, 15, 10, 3),
        parameters=((1,), (2,), (3,)),
    ),
    CodeProblem(
        form="BestStretch",
        names=("best_stretch_sum", "largest_run_sum", "max_stretch"),
        signature="xs",
        statement="returns the largest sum of one or more neighbouring values of the list xs, which is not empty",
        level=7.0,
        solutions=(
            (
                "best = total = xs[0]\nfor x in xs[1:]:\n    total = max(x, total + x)\n    best = max(best, total)\n"
                "return best"
            ),
            "return max(sum(xs[i:j]) for i in range(len(xs)) for j in range(i + 1, len(xs) + 1))",
        ),
        wrong=(
            "best = total = 0\nfor x in xs:\n    total = max(0, total + x)\n    best = max(best, total)\nreturn best",
            "return sum(x for x in xs if x > 0) or max(xs)",
            "return max(sum(xs[:i]) for i in range(1, len(xs) + 1))",
        ),
        example=([2, -1, 3],),
        edges=(([5],), ([-3],), ([-3, -1, -2],), ([1, -5, 4],), ([-2, 1, -3, 4, -1, 2, 1, -5, 4],), ([3, -1, 3],)),
        draw=lists(-9, 9, 10, 3),
    ),
    CodeProblem(
        form="MergeIntervals",
        names=("merge_intervals", "join_ranges", "combine"),
        signature="ranges",
        statement="takes a list of ranges [first, last] and returns the rising list of ranges that cover the same "
        "points, with ranges that overlap or touch at a point made one",
        level=7.0,
        solutions=(
            """
            out = []
            for first, last in sorted(ranges):
                if out and first <= out[-1][1]:
                    out[-1][1] = max(out[-1][1], last)
                else:
                    out.append([first, last])
            return out
            """,
            """
            events = sorted([(first, 0) for first, _ in ranges] + [(last, 1) for _, last in ranges])
            out, open_now = [], 0
            for point, closes in events:
                if closes:
                    open_now -= 1
                    if open_now == 0:
                        out[-1].append(point)
                else:
                    if open_now == 0:
                        out.append([point])
                    open_now += 1
            return out
            """,
        ),
        wrong=(
            (
                "out = []\nfor a, b in sorted(ranges):\n    if out and a <= out[-1][1]:\n        out[-1][1] = b\n"
                "    else:\n        out.append([a, b])\nreturn out"
            ),
            (
                "out = []\nfor a, b in sorted(ranges):\n    if out and a < out[-1][1]:\n"
                "        out[-1][1] = max(out[-1][1], b)\n    else:\n        out.append([a, b])\nreturn out"
            ),
            (
                "out = []\nfor a, b in ranges:\n    if out and a <= out[-1][1]:\n"
                "        out[-1][1] = max(out[-1][1], b)\n    else:\n        out.append([a, b])\nreturn out"
            ),
        ),
        example=([[1, 3], [2, 5]],),
        edges=(
            ([],),
            ([[1, 2]],),
            ([[1, 9], [2, 3]],),
            ([[1, 2], [2, 3]],),
            ([[5, 6], [1, 2]],),
            ([[1, 2], [3, 4]],),
            ([[4, 7], [1, 4], [9, 9]],),
        ),
        draw=mapped(lists(0, 20, 5, 2), lambda starts: [[start, start + start * 7 % 5 + 1] for start in starts]),
    ),
    CodeProblem(
        form="FewestCoins",
        names=("fewest_coins", "make_change", "coin_count"),
        signature="coins, total",
        statement="returns the smallest number of coins with which total can be paid, when there are as many as one "
        "likes of each value in the list coins, or -1 where it cannot be paid",
        level=8.0,
        solutions=(
            """
            need = [0]
            for amount in range(1, total + 1):
                options = [need[amount - coin] for coin in coins if coin <= amount and need[amount - coin] >= 0]
                need.append(min(options) + 1 if options else -1)
            return need[total]
            """,
            """
            reached, steps = {0}, 0
            while total not in reached:
                more = {amount + coin for amount in reached for coin in coins if amount + coin <= total}
                if more <= reached:
                    return -1
                reached |= more
                steps += 1
            return steps
            """,
        ),
        wrong=(
            (
                "used = 0\nfor coin in sorted(coins, reverse=True):\n    used += total // coin\n    total %= coin\n"
                "return -1 if total else used"
            ),
            """
            ways = [1] + [0] * total
            for coin in coins:
                for amount in range(coin, total + 1):
                    ways[amount] += ways[amount - coin]
            return ways[total]
            """,
        ),
        example=([1, 2], 3),
        edges=(
            ([1, 2, 5], 0),
            ([2], 3),
            ([1, 3, 4], 6),
            ([5, 2], 6),
            ([1, 5, 10, 25], 63),
            ([7, 3], 5),
            ([], 4),
            ([9, 6, 1], 12),
        ),
        draw=together(mapped(lists(1, 12, 4, 2), lambda values: sorted(set(values))), numbers(5, 40)),
    ),
)
