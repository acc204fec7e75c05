"""How floating-point columns are added up: exactly, so that equal rows give equal bits in any order."""

from __future__ import annotations

import polars as pl

_UNIT = 2.0**-80


def exact_sum(values: pl.Expr) -> pl.Expr:
    """Return the sum, rounded once: the same bits however the rows are ordered, chunked or shared among threads.

    Polars adds floats in parts, and which part comes first is up to its threads. Whole numbers do not care, so
    this counts in units of 2^-80. Sums may reach 10^14; polars raises `InvalidOperationError` for infinities.

    >>> pl.DataFrame({"x": [0.1] * 10}).select(exact_sum(pl.col("x")), plain=pl.col("x").cum_sum().last()).row(0)
    (1.0, 0.9999999999999999)
    """
    return (values / _UNIT).round().cast(pl.Int128).sum().cast(pl.Float64) * _UNIT


def exact_mean(values: pl.Expr) -> pl.Expr:
    """Return the mean of the values that are not null, from `exact_sum`; null where there are none."""
    return pl.when(values.count() > 0).then(exact_sum(values) / values.count())
