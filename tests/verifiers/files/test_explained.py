"""What `learnable explain` shows of an answer, and of a completion that no answer is read from."""

from __future__ import annotations

import pytest

from learnable.verifiers.files.explained import ExplainedAnswer


@pytest.mark.parametrize(
    ("rule", "read", "expected", "labels"),
    [
        ("boxed", "7", "7", ["rule", "read", "expected"]),
        ("auto", None, "7", ["rule", "read", "expected"]),
        ("", None, "7", ["rule", "read", "expected"]),
        ("", None, None, []),
    ],
)
def test_nothing_is_said_of_an_answer_where_none_is_read(
    rule: str, read: str | None, expected: str | None, labels: list[str]
) -> None:
    found = ExplainedAnswer("instructions", rule, read, expected, 0.5, False, {"a": 0.5}, "scored", "why")
    assert [label for label, _ in found.rows()] == [*labels, "  a", "reward", "reason"]
