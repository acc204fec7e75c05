"""The best of very many: picks, areas, windows."""

from __future__ import annotations

from learnable.data.sources.code.inputs import lists, texts, together
from learnable.data.sources.code.problem import CodeProblem

BEST = (
    CodeProblem(
        form="TrappedWater",
        names=("trapped_water", "rain_between", "water_held"),
        signature="heights",
        statement="takes the heights of walls of width 1 that stand side by side and returns how many units of rain "
        "stay between them; water flows off at both ends",
        level=8.5,
        solutions=(
            "return sum(min(max(heights[:i + 1]), max(heights[i:])) - h for i, h in enumerate(heights))",
            """
            total, left, right = 0, 0, len(heights) - 1
            high_left = high_right = 0
            while left <= right:
                if high_left <= high_right:
                    high_left = max(high_left, heights[left])
                    total += high_left - heights[left]
                    left += 1
                else:
                    high_right = max(high_right, heights[right])
                    total += high_right - heights[right]
                    right -= 1
            return total
            """,
        ),
        wrong=(
            "return sum(max(heights) - h for h in heights)",
            "return sum(max(heights[:i + 1]) - h for i, h in enumerate(heights))",
            "return sum(max(0, min(a, c) - b) for a, b, c in zip(heights, heights[1:], heights[2:]))",
        ),
        example=([2, 0, 1],),
        edges=(
            ([],),
            ([3],),
            ([1, 2, 3],),
            ([3, 0, 3],),
            ([0, 1, 0, 2, 1, 0, 1, 3, 2, 1, 2, 1],),
            ([4, 2, 0, 3, 2, 5],),
            ([5, 1, 1, 4],),
        ),
        draw=lists(0, 7, 10, 3),
    ),
    CodeProblem(
        form="RisingPick",
        names=("longest_rising_pick", "rising_subsequence", "pick_rising"),
        signature="xs",
        statement="returns the largest number of values that can be picked from the list xs, in order but not "
        "necessarily neighbours, so that each is larger than the one picked before it",
        level=9.0,
        solutions=(
            """
            best = []
            for i, x in enumerate(xs):
                best.append(1 + max((best[j] for j in range(i) if xs[j] < x), default=0))
            return max(best, default=0)
            """,
            """
            import bisect
            ends = []
            for x in xs:
                i = bisect.bisect_left(ends, x)
                ends[i:i + 1] = [x]
            return len(ends)
            """,
        ),
        wrong=(
            (
                "import bisect\nends = []\nfor x in xs:\n    i = bisect.bisect_right(ends, x)\n"
                "    ends[i:i + 1] = [x]\nreturn len(ends)"
            ),
            (
                "best = length = 0\nfor i, x in enumerate(xs):\n"
                "    length = length + 1 if i and x > xs[i - 1] else 1\n    best = max(best, length)\nreturn best"
            ),
            (
                "picked = []\nfor x in xs:\n    if not picked or x > picked[-1]:\n        picked.append(x)\n"
                "return len(picked)"
            ),
        ),
        example=([1, 5, 2],),
        edges=(
            ([],),
            ([4],),
            ([3, 3, 3],),
            ([5, 4, 3],),
            ([10, 9, 2, 5, 3, 7, 101, 18],),
            ([9, 1, 2, 3],),
            ([1, 9, 2, 8, 3, 7],),
        ),
        draw=lists(0, 20, 12, 4),
    ),
    CodeProblem(
        form="LargestRectangle",
        names=("largest_rectangle", "biggest_board", "largest_area"),
        signature="heights",
        statement="takes the heights of boards of width 1 that stand side by side on the ground and returns the area "
        "of the largest upright rectangle that fits inside them",
        level=10.0,
        solutions=(
            """
            best, open_now = 0, []
            for i, height in enumerate(heights + [0]):
                start = i
                while open_now and open_now[-1][1] >= height:
                    start, tall = open_now.pop()
                    best = max(best, tall * (i - start))
                open_now.append((start, height))
            return best
            """,
            """
            size = len(heights)
            left, right = [0] * size, [0] * size
            for i in range(size):
                j = i - 1
                while j >= 0 and heights[j] >= heights[i]:
                    j = left[j]
                left[i] = j
            for i in reversed(range(size)):
                j = i + 1
                while j < size and heights[j] >= heights[i]:
                    j = right[j]
                right[i] = j
            return max((heights[i] * (right[i] - left[i] - 1) for i in range(size)), default=0)
            """,
        ),
        wrong=(
            "return max(heights, default=0)",
            "return min(heights, default=0) * len(heights)",
            """
            best, open_now = 0, []
            for i, height in enumerate(heights):
                start = i
                while open_now and open_now[-1][1] > height:
                    start, tall = open_now.pop()
                    best = max(best, tall * (i - start))
                open_now.append((start, height))
            return best
            """,
        ),
        example=([2, 3],),
        edges=(
            ([],),
            ([4],),
            ([2, 1, 5, 6, 2, 3],),
            ([1, 1, 1, 1, 1],),
            ([5, 4, 3, 2, 1],),
            ([1, 2, 3, 4, 5],),
            ([0, 9, 0],),
            ([3, 3, 0, 4, 4, 4],),
        ),
        draw=lists(0, 9, 14, 4),
    ),
    CodeProblem(
        form="SmallestWindow",
        names=("smallest_window", "shortest_cover", "cover_letters"),
        signature="s, letters",
        statement="returns the shortest unbroken stretch of the string s that has every letter of letters at least as "
        "often as letters has it, the first where several are as short, or '' where there is none",
        level=10.0,
        solutions=(
            """
            need, missing, start, best = {}, len(letters), 0, None
            for c in letters:
                need[c] = need.get(c, 0) + 1
            if not letters:
                return ""
            for end, c in enumerate(s):
                missing -= need.get(c, 0) > 0
                need[c] = need.get(c, 0) - 1
                while missing == 0:
                    if best is None or end - start < best[1] - best[0]:
                        best = (start, end)
                    need[s[start]] += 1
                    missing += need[s[start]] > 0
                    start += 1
            return s[best[0]:best[1] + 1] if best else ""
            """,
            """
            for size in range(len(letters), len(s) + 1):
                for i in range(len(s) - size + 1):
                    part = s[i:i + size]
                    if all(part.count(c) >= letters.count(c) for c in letters):
                        return part
            return ""
            """,
        ),
        wrong=(
            """
            for size in range(len(s) + 1):
                for i in range(len(s) - size + 1):
                    if set(letters) <= set(s[i:i + size]):
                        return s[i:i + size]
            return ""
            """,
            """
            best = ""
            for i in range(len(s)):
                for j in range(i + 1, len(s) + 1):
                    part = s[i:j]
                    if all(part.count(c) >= letters.count(c) for c in letters):
                        if not best or len(part) <= len(best):
                            best = part
            return best
            """,
        ),
        example=("xaby", "ba"),
        edges=(
            ("", "a"),
            ("abc", ""),
            ("adobecodebanc", "abc"),
            ("aa", "aa"),
            ("baca", "aa"),
            ("abba", "ab"),
            ("xyz", "q"),
            ("cabwefgewcwaefgcf", "cae"),
        ),
        draw=together(texts("abc", 12, 5), texts("abc", 3, 1)),
    ),
)
