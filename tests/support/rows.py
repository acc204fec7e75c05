"""Rows of certified prompts that are to be the same."""

from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal

BY_FORMULA = ("ci_low", "ci_high", "std_low", "std_high")  # version 0.1.0 found them by bisection, to 1e-12
MEAN_TOLERANCE = 1e-9
STD_TOLERANCE = 1e-6  # a root: next to 0 it magnifies what the bisection left


def check_same_rows(new: pl.DataFrame, old: pl.DataFrame) -> None:
    """See that columns are equal to the last digit, and ends of intervals to what a bisection leaves."""
    assert new.columns == old.columns
    assert new.drop(BY_FORMULA, strict=False).equals(old.drop(BY_FORMULA, strict=False))
    for names, tolerance in ((BY_FORMULA[:2], MEAN_TOLERANCE), (BY_FORMULA[2:], STD_TOLERANCE)):
        there = [name for name in names if name in old.columns]
        assert_frame_equal(new.select(there), old.select(there), rel_tol=0, abs_tol=tolerance)


def count_text_bytes(frame: pl.DataFrame) -> int:
    """Return the bytes that a frame's columns of text keep in memory, those of rows that are not in it among them."""
    texts = [frame[name].rechunk() for name, kind in frame.schema.items() if kind == pl.String]
    arrays = [text.to_arrow(compat_level=pl.CompatLevel.newest()) for text in texts]
    return sum(buffer.size for array in arrays for buffer in array.buffers() if buffer)
