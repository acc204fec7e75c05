"""Grids of knobs: what users may write, and where families are tried unless they do."""

from __future__ import annotations

from itertools import pairwise

import pytest

from learnable.data.errors import LearnableError
from learnable.verifiers.families.knob_grid import (
    MAX_KNOB_VALUES,
    KnobAxis,
    KnobGrid,
    find_grid,
    find_moved_forms,
    read_axis,
)
from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.families.registry import ALL_FAMILIES, find_family


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2..6", ["2", "3", "4", "5", "6"]),
        ("2..13", [str(value) for value in range(2, 14)]),
        ("0..110", [str(value) for value in range(0, 111, 10)]),
        ("-2..1", ["-2", "-1", "0", "1"]),
        ("2, 5,10", ["2", "5", "10"]),
        ("5,5", ["5"]),
        ("7", ["7"]),
        ("0.5..1.6", ["0.5", "0.6", "0.7", "0.8", "0.9", "1", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"]),
    ],
)
def test_values_of_a_knob(text: str, values: list[str]) -> None:
    assert list(read_axis("k", text).values) == values


def test_a_range_over_powers_of_ten_is_divided_in_equal_ratios() -> None:
    values = [int(value) for value in read_axis("largest", "1..100000").values]
    assert len(values) == MAX_KNOB_VALUES
    assert values[0] == 1
    assert values[-1] == 100_000
    assert all(2 < right / left < 4 for left, right in pairwise(values))


@pytest.mark.parametrize("text", ["6..2", "3..3", "a..b", "1..", "..", "1..inf", "nan..2", "2,,3", ""])
def test_what_is_no_range_says_how_to_write_one(text: str) -> None:
    with pytest.raises(LearnableError, match=r"`knobs` k=.*as in k=2"):
        read_axis("k", text)


def test_cells_and_points_go_together() -> None:
    grid = KnobGrid((read_axis("a", "1..3"), read_axis("b", "5"), read_axis("c", "10,1000")))
    assert grid.cells()[:3] == [
        {"a": "1", "b": "5", "c": "10"},
        {"a": "1", "b": "5", "c": "1000"},
        {"a": "2", "b": "5", "c": "10"},
    ]
    assert grid.points() == [(0, 0, 0), (0, 0, 1), (0.5, 0, 0), (0.5, 0, 1), (1, 0, 0), (1, 0, 1)]
    assert grid.turned == ("a", "c")


def test_a_grid_of_one_or_of_too_many_settings_is_refused() -> None:
    with pytest.raises(LearnableError, match="no knob to turn"):
        KnobGrid((KnobAxis("a", ("1",)),))
    with pytest.raises(LearnableError, match="12 x 12 x 2 settings of the knobs are too many"):
        KnobGrid((read_axis("a", "1..12"), read_axis("b", "1..12"), read_axis("c", "1..2")))


def test_a_value_for_one_knob_leaves_the_usual_range_of_another() -> None:
    assert find_grid("arithmetic", {"digits": "3"}).turned == ("largest",)
    assert find_grid("arithmetic", {"digits": "3..5"}).turned == ("digits",)
    assert find_grid("arithmetic", {"arithmetic.largest": "5,9"}).turned == ("arithmetic.largest",)
    with pytest.raises(LearnableError, match=r"give one a range, as in `knobs` NAME=LOW\.\.HIGH"):
        find_grid("arithmetic", {"largest": "5"})


@pytest.mark.parametrize("family", sorted(name for name, family in ALL_FAMILIES.items() if family.usual_ranges))
def test_every_usual_range_makes_prompts_all_along(family: str) -> None:
    grid = find_grid(family, {})
    forms = find_moved_forms(family, grid)
    assert set(forms) <= set(find_family(family).forms)
    counts = [sum(1 for _ in builtin_prompts(families=[family], limit=8, knobs=knobs)) for knobs in grid.cells()]
    assert len(counts) > 4
    assert min(counts) > 4


def test_forms_that_no_knob_moves_are_left_out() -> None:
    moved = find_moved_forms("arithmetic", find_grid("arithmetic", {}))
    assert moved == ["Addition", "Subtraction", "Multiplication"]
    assert find_moved_forms("arithmetic", find_grid("arithmetic", {"digits": "2..4"})) == ["LargeSums", "LargeProducts"]
    assert find_moved_forms("counting", find_grid("counting", {})) == ["WordCount"]
