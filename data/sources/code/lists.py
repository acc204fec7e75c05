"""Lists: what is in them, how often and in which order."""

from __future__ import annotations

from learnable.data.sources.code.inputs import lists, sorted_lists, together
from learnable.data.sources.code.problem import CodeProblem

SHIFTS = tuple((k,) for k in (2, 3, 4, 5))

LISTS = (
    CodeProblem(
        form="LastItem",
        names=("last_item", "last", "final_value"),
        signature="xs",
        statement="returns the last value of the list xs, or {0} where the list is empty",
        level=1.0,
        solutions=("return xs[-1] if xs else {0}", "result = {0}\nfor x in xs:\n    result = x\nreturn result"),
        wrong=("return xs[-1]", "return xs[0] if xs else {0}", "return max(xs) if xs else {0}"),
        example=([4, 1],),
        edges=(([],), ([7],), ([1, 2, 3],), ([9, 5, 6],), ([3, 8, 0],), ([2, -4],)),
        draw=lists(-9, 9, 6),
        parameters=((0,), (-1,), (100,), (None,)),
    ),
    CodeProblem(
        form="CountEqual",
        names=("count_equal", "occurrences", "how_often"),
        signature="xs",
        statement="returns how many values of the list xs are equal to {0}",
        level=1.5,
        solutions=("return xs.count({0})", "return sum(1 for x in xs if x == {0})"),
        wrong=("return {0} in xs", "return sum(1 for x in xs if x >= {0})", "return len(xs)"),
        example=([1, 9],),
        edges=(([],), ([2, 3, 2, 4, 3, 2],), ([3, 5, 3, 7, 7, 7],), ([5, 5, 4, 4, 4, 5],), ([8, 8],), ([1],)),
        draw=lists(1, 6, 10, 2),
        parameters=SHIFTS,
    ),
    CodeProblem(
        form="EveryNth",
        names=("every_nth", "take_every", "skip_through"),
        signature="xs",
        statement="returns a list of the first value of xs and of every {0}-th value after it",
        level=2.5,
        solutions=("return xs[::{0}]", "return [x for i, x in enumerate(xs) if i % {0} == 0]"),
        wrong=("return xs[{0} - 1::{0}]", "return xs[::{0} - 1]", "return [x for x in xs if x % {0} == 0]"),
        example=([6, 7, 8],),
        edges=(([],), ([1],), ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],), ([5, 4, 3, 2, 1, 0],)),
        draw=lists(0, 20, 14, 4),
        parameters=SHIFTS,
    ),
    CodeProblem(
        form="RemoveDuplicates",
        names=("remove_duplicates", "unique", "first_of_each"),
        signature="xs",
        statement="returns the values of the list xs without repeats, in the order in which they first come",
        level=4.0,
        solutions=(
            "return list(dict.fromkeys(xs))",
            "out = []\nfor x in xs:\n    if x not in out:\n        out.append(x)\nreturn out",
        ),
        wrong=(
            "return sorted(set(xs))",
            "return [x for i, x in enumerate(xs) if i == 0 or x != xs[i - 1]]",
            "return [x for x in xs if xs.count(x) == 1]",
        ),
        example=([2, 2, 1],),
        edges=(([],), ([3],), ([3, 1, 3, 2, 1],), ([5, 5, 5],), ([9, 8, 7, 8, 9],)),
        draw=lists(0, 6, 12, 3),
    ),
    CodeProblem(
        form="RunningTotals",
        names=("running_totals", "add_up", "partial_sums"),
        signature="xs",
        statement="returns the list of running totals of xs: each value is the sum of xs up to that place and {0}",
        level=4.0,
        solutions=(
            "out, total = [], {0}\nfor x in xs:\n    total += x\n    out.append(total)\nreturn out",
            "return [{0} + sum(xs[:i + 1]) for i in range(len(xs))]",
        ),
        wrong=(
            "return [{0} + sum(xs[:i]) for i in range(len(xs))]",
            "return [sum(xs[:i + 1]) for i in range(len(xs))]",
            "return {0} + sum(xs)",
        ),
        example=([1, 1],),
        edges=(([],), ([4],), ([1, 2, 3],), ([5, -5, 2],), ([0, 0, 1],)),
        draw=lists(-9, 9, 8, 2),
        parameters=((1,), (5,), (10,), (100,)),
    ),
    CodeProblem(
        form="SecondLargest",
        names=("second_largest", "runner_up", "next_to_top"),
        signature="xs",
        statement="returns the second largest of the different values in the list xs, or None where there are fewer "
        "than two",
        level=4.5,
        solutions=(
            "values = sorted(set(xs))\nreturn values[-2] if len(values) > 1 else None",
            """
            best = second = None
            for x in xs:
                if best is None or x > best:
                    best, second = x, best
                elif x < best and (second is None or x > second):
                    second = x
            return second
            """,
        ),
        wrong=(
            "return sorted(xs)[-2] if len(xs) > 1 else None",
            "return sorted(set(xs))[-2]",
            """
            best = second = 0
            for x in xs:
                if x > best:
                    best, second = x, best
                elif best > x > second:
                    second = x
            return second
            """,
        ),
        example=([3, 9, 4],),
        edges=(([],), ([5],), ([5, 5],), ([1, 2],), ([7, 7, 3],), ([-5, -2, -9],), ([4, 8, 8, 6],)),
        draw=lists(-9, 9, 7, 2),
    ),
    CodeProblem(
        form="RotateLeft",
        names=("rotate_left", "turn_list", "shift_left"),
        signature="xs",
        statement="returns the list xs turned {0} places to the left: what leaves at the front comes back at the end",
        level=4.5,
        solutions=(
            "if not xs:\n    return []\nk = {0} % len(xs)\nreturn xs[k:] + xs[:k]",
            "out = list(xs)\nfor _ in range({0}):\n    out = out[1:] + out[:1]\nreturn out",
        ),
        wrong=(
            "return xs[{0} - 1:] + xs[:{0} - 1]",
            "if not xs:\n    return []\nk = {0} % len(xs)\nreturn xs[-k:] + xs[:-k]",
            "return xs[{0}:]",
        ),
        example=([1, 2, 3, 4, 5, 6, 7],),
        edges=(
            ([],),
            ([1],),
            ([1, 2],),
            ([1, 2, 3],),
            ([4, 3, 2, 1],),
            ([1, 2, 3, 4, 5],),
            ([9, 8, 7, 6, 5, 4, 3, 2],),
        ),
        draw=lists(0, 30, 9, 3),
        parameters=SHIFTS,
    ),
    CodeProblem(
        form="SplitInChunks",
        names=("in_chunks", "split_list", "groups_of"),
        signature="xs",
        statement="returns the list xs cut into lists of {0} values each, the last one with what is left",
        level=5.0,
        solutions=(
            "return [xs[i:i + {0}] for i in range(0, len(xs), {0})]",
            """
            out = []
            for x in xs:
                if not out or len(out[-1]) == {0}:
                    out.append([])
                out[-1].append(x)
            return out
            """,
        ),
        wrong=(
            "return [xs[i:i + {0}] for i in range(0, len(xs) - {0} + 1, {0})]",
            "return [xs[i:i + {0}] for i in range(len(xs))]",
            "return [xs[i::{0}] for i in range({0})]",
        ),
        example=([7, 8, 9],),
        edges=(([],), ([1],), ([1, 2, 3, 4, 5, 6],), ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],)),
        draw=lists(0, 9, 12, 4),
        parameters=SHIFTS,
    ),
    CodeProblem(
        form="MergeSorted",
        names=("merge_sorted", "merge", "join_sorted"),
        signature="a, b",
        statement="returns one rising list with the values of the rising lists a and b; a value that both have comes "
        "once for each time it is there",
        level=5.5,
        solutions=(
            "return sorted(a + b)",
            """
            out = []
            while a and b:
                out.append(a.pop(0) if a[0] <= b[0] else b.pop(0))
            return out + a + b
            """,
        ),
        wrong=(
            "return a + b",
            "return sorted(set(a + b))",
            "out = []\nwhile a and b:\n    out.append(a.pop(0) if a[0] <= b[0] else b.pop(0))\nreturn out",
        ),
        example=([2], [1]),
        edges=(([], []), ([1, 3], [2, 4]), ([1, 1], [1]), ([5], []), ([], [2, 3]), ([1, 9], [2, 3, 4])),
        draw=together(sorted_lists(0, 20, 6), sorted_lists(0, 20, 6)),
    ),
    CodeProblem(
        form="PairsWithSum",
        names=("pairs_with_sum", "count_pairs", "matching_pairs"),
        signature="xs",
        statement="returns how many pairs of places i < j there are with xs[i] + xs[j] equal to {0}",
        level=6.0,
        solutions=(
            "return sum(xs[i] + xs[j] == {0} for i in range(len(xs)) for j in range(i + 1, len(xs)))",
            """
            seen, pairs = {}, 0
            for x in xs:
                pairs += seen.get({0} - x, 0)
                seen[x] = seen.get(x, 0) + 1
            return pairs
            """,
        ),
        wrong=(
            "return sum(a + b == {0} for a in xs for b in xs) // 2",
            "return sum({0} - x in xs for x in xs) // 2",
            "return len({(min(x, {0} - x)) for x in xs if {0} - x in xs})",
        ),
        example=([1, 2],),
        edges=(
            ([],),
            ([5],),
            ([3],),
            ([4],),
            ([6],),
            ([5, 5, 5, 5],),
            ([3, 3, 3, 3],),
            ([4, 4, 4, 4],),
            ([6, 6, 6, 6],),
            ([1, 9, 5, 7, 11, 2, 4],),
        ),
        draw=lists(0, 10, 12, 4),
        parameters=((6,), (8,), (10,), (12,)),
    ),
    CodeProblem(
        form="MovingSums",
        names=("moving_sums", "window_sums", "sums_of_neighbours"),
        signature="xs",
        statement="returns the list of the sums of every {0} neighbouring values of xs, in order, and [] for shorter "
        "lists",
        level=5.5,
        solutions=(
            "return [sum(xs[i:i + {0}]) for i in range(len(xs) - {0} + 1)]",
            """
            out, total = [], 0
            for i, x in enumerate(xs):
                total += x
                if i >= {0}:
                    total -= xs[i - {0}]
                if i >= {0} - 1:
                    out.append(total)
            return out
            """,
        ),
        wrong=(
            "return [sum(xs[i:i + {0}]) for i in range(len(xs) - {0})]",
            "return [sum(xs[i:i + {0}]) for i in range(len(xs))]",
            "return [sum(xs[i:i + {0}]) for i in range(0, len(xs) - {0} + 1, {0})]",
        ),
        example=([1, 2, 3, 4, 5],),
        edges=(([],), ([1],), ([1, 2, 3, 4, 5, 6],), ([4, -4, 2, 8, 0, 1, 3],), ([1, 1, 1],)),
        draw=lists(-9, 20, 10, 2),
        parameters=SHIFTS,
    ),
    CodeProblem(
        form="MostCommon",
        names=("most_common", "mode", "most_frequent"),
        signature="xs",
        statement="returns the value that comes most often in the list xs, which is not empty, and the smallest of "
        "them where several come as often",
        level=5.0,
        solutions=(
            "return min(xs, key=lambda x: (-xs.count(x), x))",
            """
            counts = {}
            for x in xs:
                counts[x] = counts.get(x, 0) + 1
            most = max(counts.values())
            return min(x for x in counts if counts[x] == most)
            """,
        ),
        wrong=("return max(xs, key=xs.count)", "return max(set(xs))", "return max(xs.count(x) for x in xs)"),
        example=([6, 2, 6],),
        edges=(([1],), ([3, 1, 3, 1],), ([5, 5, 2],), ([9, 8, 7],), ([-1, -2, -2, -1, 4],)),
        draw=lists(0, 5, 10, 3),
    ),
)
