"""Rows of certified prompts that are to be the same."""

from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal

from tests.support.figures import FIT_TOLERANCE, FITTED


def check_same_rows(new: pl.DataFrame, old: pl.DataFrame) -> None:
    """See that columns are equal to the last digit, and those of a fitted prior to what its early stop left."""
    assert new.columns == old.columns
    assert new.drop(FITTED, strict=False).equals(old.drop(FITTED, strict=False))
    fitted = [name for name in old.columns if name in FITTED]
    assert_frame_equal(new.select(fitted), old.select(fitted), rel_tol=0, abs_tol=FIT_TOLERANCE)


def count_text_bytes(frame: pl.DataFrame) -> int:
    """Return the bytes that a frame's columns of text keep in memory, those of rows that are not in it among them."""
    texts = [frame[name].rechunk() for name, kind in frame.schema.items() if kind == pl.String]
    arrays = [text.to_arrow(compat_level=pl.CompatLevel.newest()) for text in texts]
    return sum(buffer.size for array in arrays for buffer in array.buffers() if buffer)
