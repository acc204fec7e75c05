"""The registry of checks: every module's are known by name, and none is passed over in silence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from benchmarks.checks import Figure, at_least, at_most, between
from benchmarks.decisions.truth_forecast import chance_of_zero_std
from benchmarks.truth import MODULES, describe, measure, read_checks


def nothing(seed: int) -> Iterator[Figure]:
    yield from ()


def something(seed: int) -> Iterator[Figure]:
    yield at_most("seed", seed, 1)


def module_of(monkeypatch: pytest.MonkeyPatch, name: str, *checks: object) -> str:
    module = ModuleType(name)
    module.CHECKS = checks  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, name, module)
    return name


def test_every_module_has_checks_of_its_own() -> None:
    assert len(read_checks(MODULES)) >= len(MODULES)


def test_a_module_without_checks_or_with_anothers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    empty, one, two = (
        module_of(monkeypatch, name, *checks)
        for name, checks in (("checks_none", ()), ("checks_one", (something,)), ("checks_two", (something,)))
    )
    assert list(read_checks([one])) == ["something"]
    with pytest.raises(ValueError, match="checks_none has no checks"):
        read_checks([one, empty])
    with pytest.raises(ValueError, match="checks_two has a check 'something'"):
        read_checks([one, two])


def test_a_check_that_measures_nothing_is_an_error() -> None:
    assert [found.holds for found in measure("something", something, 2)] == [False]
    with pytest.raises(ValueError, match="'nothing' measured nothing"):
        list(measure("nothing", nothing, 1))


def test_bounds_hold_or_not_and_never_for_nan() -> None:
    nan = float("nan")
    assert [at_most("x", value, 2).holds for value in (2, 3, nan)] == [True, False, False]
    assert [at_least("x", value, 2).holds for value in (2, 1, nan)] == [True, False, False]
    assert [between("x", value, 1, 2).holds for value in (1, 2, 3, nan)] == [True, True, False, False]
    assert describe(at_most("rows lost", 3, 2, "of 7")).split() == "MISSES rows lost 3.0000 at most 2 of 7".split()


def test_without_credit_the_number_of_cases_does_not_matter() -> None:
    rates, cases = np.array([0.3, 0.8, 0.5]), np.array([3, 1, 3])
    by_hand = [sum(chance**4 for chance in (0.343, 0.441, 0.189, 0.027)), 0.8**4 + 0.2**4, 2 * 0.125**4 + 2 * 0.375**4]
    assert chance_of_zero_std(rates, cases, 0.5, 4) == pytest.approx(by_hand)
    of_one_case = rates**4 + (1 - rates) ** 4
    assert chance_of_zero_std(rates ** (1 / cases), cases, 0.0, 4) == pytest.approx(of_one_case)
