"""How many completions of a form hold no answer that could be read."""

from __future__ import annotations

import polars as pl
import pytest

from learnable.data.curated.manifest import SummaryRow
from learnable.filters.decisions.triage import count_unread
from learnable.flows.curation.inspection import with_unread
from learnable.flows.curation.report import is_unread


def scores(*rows: tuple[str, str, float | None, str | None]) -> pl.DataFrame:
    schema = {"family": pl.String, "form": pl.String, "reward": pl.Float64, "reason": pl.String}
    return pl.DataFrame(rows, schema, orient="row")


COUNTED = count_unread(
    scores(
        ("sums", "Addition", 0.0, "extraction_failed: no number found"),
        ("sums", "Addition", 0.0, "extraction_failed: names several numbers"),
        ("sums", "Addition", 0.0, "answered 3"),
        ("sums", "Addition", 1.0, ""),
        ("sums", "Subtraction", 1.0, None),
        ("sums", "Subtraction", 0.0, "answered no number found"),
        ("words", "Yes", None, "extraction_failed: but the verifier failed"),
        ("words", "No", 0.0, "extraction_failed: names several choices"),
    )
)


def test_answers_that_could_not_be_read_are_counted_by_form() -> None:
    assert sorted(COUNTED.iter_rows()) == [
        ("sums", "Addition", 4, 2),
        ("sums", "Subtraction", 2, 0),
        ("words", "No", 1, 1),
    ]


@pytest.mark.parametrize(
    ("row", "share", "many"),
    [
        (SummaryRow(family="sums", form="Addition"), 0.5, True),
        (SummaryRow(family="sums", form="Subtraction"), 0.0, False),
        (SummaryRow(family="sums"), 2 / 6, True),
        (SummaryRow(family="words", form="Yes"), None, False),
        (SummaryRow(family="others"), None, False),
    ],
)
def test_forms_and_families_have_their_share(row: SummaryRow, share: float | None, many: bool) -> None:
    [found] = with_unread([row], COUNTED)
    assert found.extraction_failed_share == share
    assert is_unread(found) is many
