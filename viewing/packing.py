"""How data stands in the page: parts as JSON, gzipped, in base64, which a browser unpacks without any network."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files

import polars as pl

from learnable.data.records import JsonObject

DIGITS = 4  # significant ones of a figure: a screen shows three
PAGE = "page.html"
FIRST, LATER = "<!--first-->", "<!--later-->"  # where parts go: before the script, which needs them, and after it
NO_NETWORK, OWN_SERVER = "connect-src 'none'", "connect-src 'self'"


def encode_columns(rows: pl.DataFrame) -> JsonObject:
    """Return a table by column: once what all rows share, names as `levels` with `codes` (-1 for none), else a list.

    >>> rows = pl.DataFrame({"form": ["b", "a", None, "b"], "mean": [0.123456, None, 1, 0], "n": [8] * 4})
    >>> for name, column in encode_columns(rows)["columns"].items():
    ...     print(name, column)
    form {'levels': ['a', 'b'], 'codes': [1, 0, -1, 1]}
    mean [0.1235, None, 1.0, 0.0]
    n {'all': 8}
    """
    return {"rows": rows.height, "columns": {name: _encode(rows[name]) for name in rows.columns}}


def _encode(column: pl.Series) -> object:
    if column.dtype.is_float():
        column = column.fill_nan(None).round_sig_figs(DIGITS)
    if len(column) and column.n_unique() == 1:
        return {"all": column[0]}
    if column.dtype != pl.String or column.n_unique() * 4 > len(column) + 8:
        return column.to_list()
    levels = sorted(column.drop_nulls().unique())
    codes = {level: code for code, level in enumerate(levels)}
    return {"levels": levels, "codes": [codes.get(value, -1) for value in column.to_list()]}


def pack(value: object) -> str:
    """Return a value as JSON in gzip in base64; equal values give equal text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=5, mtime=0)).decode()


def pack_each(values: Iterable[object]) -> list[str]:
    """Return each value packed; while one is compressed, the next is written as JSON."""
    with ThreadPoolExecutor(2, thread_name_prefix="packing") as pool:
        return list(pool.map(pack, values))


@cache
def read_page() -> str:
    """Return the page without data, as it was built from `viewing/page`."""
    return (files("learnable.viewing") / PAGE).read_text(encoding="utf-8")


def fill_page(first: Mapping[str, str], later: Mapping[str, str]) -> Iterator[str]:
    """Yield the page with packed parts in it, each by its name, piece by piece.

    The script runs as soon as a browser has read the `first` ones, and gets the `later` ones when it asks for them.
    """
    before, first_place, rest = read_page().partition(FIRST)
    script, later_place, after = rest.partition(LATER)
    yield before
    yield from _name_parts(first)
    yield first_place + script
    yield from _name_parts(later)
    yield later_place + after


def _name_parts(parts: Mapping[str, str]) -> Iterator[str]:
    for name, text in parts.items():
        yield f'<script type="text/plain" id="data-{name}">{text}</script>\n'
