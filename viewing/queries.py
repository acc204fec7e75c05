"""Which prompts of a table are listed, and in which order: what the page asks `learnable view` for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from learnable.data.errors import LearnableError
from learnable.viewing.summary import KEPT


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for: the fields are those of the page's address.

    `form` is a form, or `family:` and a family; `decision` a decision, `rejected` or `changed`. `measure` is a column
    of figures whose values must lie from `low` to `high`. `sort` is a column, empty for the set's own order.
    """

    text: str = ""
    scope: str = "both"
    form: str = ""
    decision: str = ""
    measure: str = ""
    low: float | None = None
    high: float | None = None
    sort: str = ""
    descending: bool = False

    @property
    def in_completions(self) -> bool:
        """Whether completions have to be searched for its text."""
        return bool(self.text) and self.scope != "prompts"

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Query:
        """Read the parameters of a request. Raises `LearnableError` for a bound that is no number."""
        return cls(
            text=given.get("text", "").strip().lower(),
            scope=given.get("scope", "both"),
            form=given.get("form", ""),
            decision=given.get("decision", ""),
            measure=given.get("measure", ""),
            low=_parse_bound("min", given),
            high=_parse_bound("max", given),
            sort=given.get("sort", ""),
            descending=given.get("descending") == "true",
        )


def _parse_bound(name: str, given: Mapping[str, str]) -> float | None:
    text = given.get(name, "")
    try:
        return float(text) if text else None
    except ValueError:
        raise LearnableError(f"parameter {name!r} is {text!r}: give a number") from None


def find_places(rows: pl.DataFrame, query: Query, hits: pl.Series | None) -> pl.Series:
    """Return the places of the rows that a query asks for, in its order; rows without a value to sort by are last.

    `hits` has the ids of the prompts that its text was found in, None where it has none.
    """
    tests = [*_list_tests(rows, query)]
    if hits is not None:
        tests.append(pl.col("prompt_id").is_in(hits.implode()))
    found = rows.lazy().with_row_index("place").filter(*tests)
    if query.sort in rows.columns:
        found = found.sort(query.sort, "place", descending=[query.descending, False], nulls_last=True)
    return found.select("place").collect()["place"]


def _list_tests(rows: pl.DataFrame, query: Query) -> list[pl.Expr]:
    tests: list[pl.Expr] = []
    if query.form:
        family = query.form.removeprefix("family:")
        tests.append(pl.col("family") == family if family != query.form else pl.col("form") == query.form)
    if query.decision == "rejected":
        tests.append(~KEPT.fill_null(False))
    elif query.decision == "changed":
        tests.append(pl.col("before").ne_missing(pl.col("decision")))
    elif query.decision:
        tests.append(pl.col("decision") == query.decision)
    if query.measure in rows.columns and rows.schema[query.measure].is_numeric():
        if query.low is not None:
            tests.append(pl.col(query.measure) >= query.low)
        if query.high is not None:
            tests.append(pl.col(query.measure) <= query.high)
    return tests
