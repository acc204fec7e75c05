"""Data sets on the hub that have several parts: one is named behind a colon. The hub is made up here."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.data.sources.files import data_sets
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.prompts import file_prompts

WORKED = [{"question": f"How many is {n}?", "answer": f"It is so.\n#### {n}"} for n in range(3)]


class Streamed(list[dict[str, Any]]):
    column_names = ("question", "answer")


@dataclass
class Builder:
    """What `datasets` makes of a place before anything is read."""

    told: list[tuple[str, str | None, str]]
    name: str
    part: str | None
    files: tuple[str, ...] = ("hf://datasets/org/name@1/data.jsonl",)

    @property
    def config(self) -> SimpleNamespace:
        return SimpleNamespace(data_files={"train": self.files})

    def as_streaming_dataset(self, *, split: str) -> Streamed:
        self.told.append((self.name, self.part, split))
        return Streamed(WORKED)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None, str]]:
    """Return what `datasets` is told to open."""
    told: list[tuple[str, str | None, str]] = []

    def load(name: str, part: str | None = None) -> Builder:
        if part is None:
            raise ValueError("Config name is missing.\nPlease pick one among ['main', 'other']\nExample of usage: ...")
        return Builder(told, name, part, ("/etc/secrets.jsonl",) if part == "local" else Builder.files)

    monkeypatch.setattr(data_sets, "_look_on_hub", lambda *_: None)
    monkeypatch.setattr("datasets.load_dataset_builder", load)
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
    assert opened == []


def test_files_of_this_machine_are_not_read_because_a_data_set_of_the_hub_names_them(
    opened: list[tuple[str, str | None, str]],
) -> None:
    with pytest.raises(LearnableError, match=r"it names '/etc/secrets.jsonl', which lies outside it"):
        list(file_prompts("org/name:local", Columns()))
    assert opened == []
