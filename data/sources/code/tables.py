"""Tables of values: columns, walks, neighbours and ways through."""

from __future__ import annotations

import random
from typing import Any

from learnable.data.sources.code.inputs import grids
from learnable.data.sources.code.problem import CodeProblem


def _draw_maze(rng: random.Random) -> list[Any]:
    width, height = rng.randint(2, 6), rng.randint(2, 6)
    return [["".join(rng.choice("...#") for _ in range(width)) for _ in range(height)]]


TABLES = (
    CodeProblem(
        form="TransposeTable",
        names=("transpose", "flip_table", "columns_to_rows"),
        signature="rows",
        statement="takes a list of rows of the same length and returns the list of its columns, [] for no rows",
        level=5.0,
        solutions=(
            "return [list(column) for column in zip(*rows)]",
            "return [[row[i] for row in rows] for i in range(len(rows[0]))] if rows else []",
        ),
        wrong=(
            "return [[rows[j][i] for j in range(len(rows))] for i in range(len(rows))]",
            "return [row[::-1] for row in rows]",
            "return [list(column)[::-1] for column in zip(*rows)]",
        ),
        example=([[1, 2], [3, 4]],),
        edges=(([],), ([[7]],), ([[1, 2, 3]],), ([[1], [2]],), ([[1, 2], [3, 4], [5, 6]],)),
        draw=grids(range(10), 4),
    ),
    CodeProblem(
        form="SpiralOrder",
        names=("spiral", "walk_spiral", "spiral_order"),
        signature="rows",
        statement="returns the values of a table, a list of rows of the same length, in the order of a walk from its "
        "top left corner to the right and then clockwise inwards",
        level=7.5,
        solutions=(
            """
            out = []
            while rows:
                out += rows.pop(0)
                rows = [list(column) for column in zip(*rows)][::-1]
            return out
            """,
            """
            if not rows:
                return []
            out, seen, i, j, di, dj = [], set(), 0, 0, 0, 1
            for _ in range(len(rows) * len(rows[0])):
                out.append(rows[i][j])
                seen.add((i, j))
                a, b = i + di, j + dj
                if not (0 <= a < len(rows) and 0 <= b < len(rows[0])) or (a, b) in seen:
                    di, dj = dj, -di
                i, j = i + di, j + dj
            return out
            """,
        ),
        wrong=(
            "return [value for row in rows for value in row]",
            "return [value for i, row in enumerate(rows) for value in (row[::-1] if i % 2 else row)]",
            (
                "out = []\nwhile rows:\n    out += rows.pop(0)\n"
                "    rows = [list(column)[::-1] for column in zip(*rows)]\nreturn out"
            ),
        ),
        example=([[1, 2], [4, 3]],),
        edges=(
            ([],),
            ([[1, 2, 3]],),
            ([[1], [2], [3]],),
            ([[1, 2, 3], [4, 5, 6], [7, 8, 9]],),
            ([[1, 2, 3, 4], [5, 6, 7, 8]],),
            ([[1, 2], [3, 4], [5, 6]],),
        ),
        draw=grids(range(10), 4),
    ),
    CodeProblem(
        form="LifeStep",
        names=("life_step", "next_generation", "step"),
        signature="rows",
        statement="returns the next generation of Conway's Game of Life on a table of 0 and 1, outside of which all "
        "is 0: a 1 with two or three 1s among its eight neighbours stays, a 0 with three becomes 1, all else becomes 0",
        level=8.0,
        solutions=(
            """
            height, width = len(rows), len(rows[0])
            def around(i, j):
                return sum(rows[a][b] for a in range(max(0, i - 1), min(height, i + 2))
                           for b in range(max(0, j - 1), min(width, j + 2))) - rows[i][j]
            return [[int(around(i, j) == 3 or (rows[i][j] == 1 and around(i, j) == 2)) for j in range(width)]
                    for i in range(height)]
            """,
            """
            alive = {(i, j) for i, row in enumerate(rows) for j, value in enumerate(row) if value}
            counts = {}
            for i, j in alive:
                for a in (-1, 0, 1):
                    for b in (-1, 0, 1):
                        if a or b:
                            counts[i + a, j + b] = counts.get((i + a, j + b), 0) + 1
            out = []
            for i, row in enumerate(rows):
                out.append([1 if counts.get((i, j)) == 3 or ((i, j) in alive and counts.get((i, j)) == 2) else 0
                            for j in range(len(row))])
            return out
            """,
        ),
        wrong=(
            """
            height, width = len(rows), len(rows[0])
            def around(i, j):
                places = [(a % height, b % width) for a in (i - 1, i, i + 1) for b in (j - 1, j, j + 1)]
                return sum(rows[a][b] for a, b in places) - rows[i][j]
            return [[int(around(i, j) == 3 or (rows[i][j] == 1 and around(i, j) == 2)) for j in range(width)]
                    for i in range(height)]
            """,
            """
            height, width = len(rows), len(rows[0])
            for i in range(height):
                for j in range(width):
                    near = sum(rows[a][b] for a in range(max(0, i - 1), min(height, i + 2))
                               for b in range(max(0, j - 1), min(width, j + 2))) - rows[i][j]
                    rows[i][j] = int(near == 3 or (rows[i][j] == 1 and near == 2))
            return rows
            """,
        ),
        example=([[1, 1], [1, 0]],),
        edges=(
            ([[1]],),
            ([[0, 1, 0], [0, 1, 0], [0, 1, 0]],),
            ([[1, 1], [1, 1]],),
            ([[1, 0, 1], [0, 0, 0], [1, 0, 1]],),
            ([[1, 1, 1, 1]],),
            ([[0, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 1]],),
        ),
        draw=grids((0, 1), 5),
    ),
    CodeProblem(
        form="CountIslands",
        names=("count_islands", "islands", "pieces_of_land"),
        signature="rows",
        statement="takes a table of 0 (water) and 1 (land) and returns the number of islands: pieces of land that hang "
        "together up, down, left and right, but not across corners",
        level=8.5,
        solutions=(
            """
            land = {(i, j) for i, row in enumerate(rows) for j, value in enumerate(row) if value}
            count = 0
            while land:
                waiting = [land.pop()]
                count += 1
                while waiting:
                    i, j = waiting.pop()
                    for place in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
                        if place in land:
                            land.remove(place)
                            waiting.append(place)
            return count
            """,
            """
            label = {(i, j): (i, j) for i, row in enumerate(rows) for j, value in enumerate(row) if value}
            def root(place):
                while label[place] != place:
                    place = label[place]
                return place
            for i, j in list(label):
                for other in ((i + 1, j), (i, j + 1)):
                    if other in label:
                        label[root(other)] = root((i, j))
            return sum(place == parent for place, parent in label.items())
            """,
        ),
        wrong=(
            "return sum(value for row in rows for value in row)",
            """
            count = 0
            for i, row in enumerate(rows):
                for j, value in enumerate(row):
                    count += value and not (i and rows[i - 1][j]) and not (j and row[j - 1])
            return int(count)
            """,
            """
            land = {(i, j) for i, row in enumerate(rows) for j, value in enumerate(row) if value}
            count = 0
            while land:
                waiting = [land.pop()]
                count += 1
                while waiting:
                    i, j = waiting.pop()
                    for place in [(i + a, j + b) for a in (-1, 0, 1) for b in (-1, 0, 1)]:
                        if place in land:
                            land.remove(place)
                            waiting.append(place)
            return count
            """,
        ),
        example=([[1, 0, 1]],),
        edges=(
            ([[0]],),
            ([[1]],),
            ([[1, 1], [1, 1]],),
            ([[1, 0], [0, 1]],),
            ([[0, 1], [1, 1]],),
            ([[1, 0, 1], [1, 1, 1]],),
            ([[1, 1, 0], [0, 0, 0], [1, 0, 1]],),
        ),
        draw=grids((0, 1), 5),
    ),
    CodeProblem(
        form="ShortestWay",
        names=("shortest_way", "steps_through", "escape"),
        signature="rows",
        statement="takes a list of strings of the same length, in which # is a wall and . is free, and returns the "
        "smallest number of steps up, down, left or right from the top left to the bottom right corner, or -1 where "
        "there is no way. Both corners must be free",
        level=9.0,
        solutions=(
            """
            free = {(i, j) for i, row in enumerate(rows) for j, c in enumerate(row) if c == "."}
            goal = (len(rows) - 1, len(rows[0]) - 1)
            if (0, 0) not in free or goal not in free:
                return -1
            reached, border, steps = {(0, 0)}, {(0, 0)}, 0
            while border and goal not in reached:
                near = {(i + a, j + b) for i, j in border for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0))}
                border = (near & free) - reached
                reached |= border
                steps += 1
            return steps if goal in reached else -1
            """,
            """
            height, width = len(rows), len(rows[0])
            far = height * width + 1
            cost = [[far] * width for _ in rows]
            cost[0][0] = 0
            for _ in range(height * width):
                for i in range(height):
                    for j in range(width):
                        for a, b in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
                            if 0 <= a < height and 0 <= b < width and rows[i][j] == rows[a][b] == ".":
                                cost[i][j] = min(cost[i][j], cost[a][b] + 1)
            if rows[0][0] == "#" or rows[-1][-1] == "#" or cost[-1][-1] >= far:
                return -1
            return cost[-1][-1]
            """,
        ),
        wrong=(
            "return len(rows) + len(rows[0]) - 2",
            """
            height, width = len(rows), len(rows[0])
            def ways(i, j):
                if i == height or j == width or rows[i][j] == "#":
                    return 99
                if (i, j) == (height - 1, width - 1):
                    return 0
                return 1 + min(ways(i + 1, j), ways(i, j + 1))
            best = ways(0, 0)
            return best if best < 99 else -1
            """,
        ),
        example=(["..", ".."],),
        edges=(
            (["."],),
            (["#"],),
            ([".#", "#."],),
            (["...", "##.", "..."],),
            ([".#...", ".#.#.", "...#."],),
            (["..#", "...", "#.."],),
            ([".....", "####.", ".....", ".####", "....."],),
            (["..", ".#"],),
        ),
        draw=_draw_maze,
    ),
)
