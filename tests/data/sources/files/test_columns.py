from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.sources.files.columns import NoColumnError, carried, column_value, json_ready

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals() | st.datetimes()
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner))


@given(VALUES)
def test_what_is_ready_for_json_survives_it(value: Any) -> None:
    ready = json_ready(value)
    assert json.loads(json.dumps(ready, allow_nan=False)) == ready
    assert json_ready(ready) == ready


@pytest.mark.parametrize(
    ("value", "ready"),
    [
        (Decimal("12"), 12),
        (Decimal("0.10"), 0.1),
        (Decimal("0.1234567890123456789"), "0.1234567890123456789"),
        (Decimal("NaN"), None),
        (float("-inf"), None),
        (datetime(2024, 2, 29, 1, 2, tzinfo=UTC), "2024-02-29T01:02:00+00:00"),
        (time(1, 2), "01:02:00"),
        (timedelta(minutes=2), 120.0),
        (np.int64(3), 3),
        (np.float32("nan"), None),
        (np.array([[1, 2]]), [[1, 2]]),
        ({1: {2}}, {"1": [2]}),
        (complex(1, 2), "(1+2j)"),
        (Counter("a"), {"a": 1}),
    ],
)
def test_values_of_other_kinds(value: Any, ready: Any) -> None:
    assert json_ready(value) == ready
    assert type(json_ready(value)) is type(ready)


def test_a_column_with_the_dot_in_its_name_comes_first() -> None:
    assert column_value({"a.b": 1, "a": {"b": 2}}, "a.b") == 1
    assert column_value({"a": {"b": 2}}, "a.b") == 2
    assert column_value({"a.b": {"x": 1}, "a": {"b": {"c": 3}}}, "a.b.c") == 3


@pytest.mark.parametrize("row", [{}, {"a": "text"}, {"a": "{no json"}, {"a": [1]}, {"a": "[1]"}, {"a": {"c": 1}}])
def test_a_name_that_reaches_nothing(row: dict[str, Any]) -> None:
    with pytest.raises(NoColumnError):
        column_value(row, "a.b")


def test_what_was_read_does_not_go_along() -> None:
    assert carried({"prompt": "x", "id": 1, "tags": ("a",)}, {"prompt"}) == {"id": 1, "tags": ["a"]}
