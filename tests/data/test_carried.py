"""What users' columns become in a curated set."""

from __future__ import annotations

from typing import Any

import pytest

from learnable.data.progress import Silence, watched_by
from learnable.data.records import Prompt
from learnable.data.tables import carried_table


class Heard(Silence):
    """Remembers notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.mark.parametrize(
    ("values", "written", "told"),
    [
        ([5, "5"], ["5", "5"], True),
        (["5", {"a": 1}, None], ["5", '{"a":1}', None], True),
        ([["a"], "a"], ['["a"]', "a"], True),
        (["5", "6"], ["5", "6"], False),
        ([5, 6.5], [5.0, 6.5], False),
    ],
)
def test_mixed_types_keep_their_values(values: list[Any], written: list[Any], told: bool) -> None:
    prompts = [
        Prompt(f"{number}?", "number", {"answer": 1}, "a", "a", columns={"extra": value})
        for number, value in enumerate(values)
    ]
    heard = Heard()
    with watched_by(heard):
        assert carried_table(prompts)["extra"].to_pylist() == written
    assert [note for note in heard.notes if "'extra' has values of several types" in note] == heard.notes
    assert bool(heard.notes) is told
