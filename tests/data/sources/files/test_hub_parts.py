"""Data sets on the hub that have several parts: one is named behind a colon. The hub is made up here."""

from __future__ import annotations

from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.data.sources.files import data_sets
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.prompts import file_prompts

WORKED = [{"question": f"How many is {n}?", "answer": f"It is so.\n#### {n}"} for n in range(3)]


class Streamed(list[dict[str, Any]]):
    column_names = ("question", "answer")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None, str]]:
    """Return what `datasets` is told to open."""
    told: list[tuple[str, str | None, str]] = []

    def load(name: str, part: str | None = None, *, split: str, streaming: bool) -> Streamed:
        told.append((name, part, split))
        if part is None:
            raise ValueError("Config name is missing.\nPlease pick one among ['main', 'other']\nExample of usage: ...")
        return Streamed(WORKED)

    monkeypatch.setattr(data_sets, "_look_on_hub", lambda *_: None)
    monkeypatch.setattr("datasets.load_dataset", load)
    return told


def test_a_part_is_named_behind_a_colon(opened: list[tuple[str, str | None, str]]) -> None:
    prompts = list(file_prompts("org/name:main", Columns()))
    assert [prompt.spec["answer"] for prompt in prompts] == [0, 1, 2]
    assert prompts[0].source == "org/name:main, row 1"
    assert set(opened) == {("org/name", "main", "train")}


def test_without_a_part_there_are_names_and_the_way_to_give_one(opened: list[tuple[str, str | None, str]]) -> None:
    with pytest.raises(
        LearnableError, match=r"one among \['main', 'other'\]: name one behind a colon, as in org/name:"
    ):
        list(file_prompts("org/name", Columns()))
    assert opened == [("org/name", None, "train")]
