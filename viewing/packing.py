"""How data stands in the page: columns as JSON, gzipped, in base64, which a browser unpacks without any network."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

import polars as pl

from learnable.data.records import JsonObject

DIGITS = 4  # significant ones of a figure: a screen shows three
PAGE = "page.html"
PLACE = "<!--data-->"  # where the data go
NO_NETWORK, OWN_SERVER = "connect-src 'none'", "connect-src 'self'"


def encode_columns(rows: pl.DataFrame) -> JsonObject:
    """Return a table by column: names as `levels` with `codes` (-1 for none), figures and texts as they are.

    >>> encode_columns(pl.DataFrame({"form": ["b", "a", None, "b"], "mean": [0.123456, None, 1, 0]}))
    {'rows': 4, 'columns': {'form': {'levels': ['a', 'b'], 'codes': [1, 0, -1, 1]}, 'mean': [0.1235, None, 1.0, 0.0]}}
    """
    return {"rows": rows.height, "columns": {name: _encode(rows[name]) for name in rows.columns}}


def _encode(column: pl.Series) -> object:
    if column.dtype.is_float():
        return column.fill_nan(None).round_sig_figs(DIGITS).to_list()
    if column.dtype != pl.String or column.n_unique() * 4 > len(column) + 8:
        return column.to_list()
    levels = sorted(column.drop_nulls().unique())
    codes = {level: code for code, level in enumerate(levels)}
    return {"levels": levels, "codes": [codes.get(value, -1) for value in column.to_list()]}


def pack(value: object) -> str:
    """Return a value as JSON in gzip in base64; equal values give equal text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=5, mtime=0)).decode()


@cache
def read_page() -> str:
    """Return the page without data, as it was built from `viewing/page`."""
    return (files("learnable.viewing") / PAGE).read_text(encoding="utf-8")


def fill_page(parts: Mapping[str, str]) -> Iterator[str]:
    """Yield the page with packed parts in it, each by its name, piece by piece."""
    before, place, after = read_page().partition(PLACE)
    yield before
    for name, text in parts.items():
        yield f'<script type="text/plain" id="data-{name}">{text}</script>\n'
    yield place + after
