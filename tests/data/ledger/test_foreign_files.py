"""What is not a file of the ledger although it has the name of one: set aside, named, and nothing else is lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from learnable.data.errors import LearnableError
from learnable.data.ledger.partition import encode
from learnable.data.ledger.upkeep import find_damage, summarise_ledger
from learnable.data.progress import Silence, watched_by
from learnable.data.records import Score
from learnable.data.schemas import ROLLOUTS
from learnable.data.store import Store
from learnable.data.tables import rollouts_table, scores_table
from tests.data.ledger.rollouts_for_tests import DRAW, prompt, rollout, scored

VERSIONS = {"poetry": "1"}
ROWS = rollouts_table([rollout(7)])
SCORES = scores_table(scored([rollout(7)], Score(1.0, True)), "poetry", "1")
Put = Callable[[Path], object]


class Listener(Silence):
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def as_file(table: pa.Table) -> Put:
    """Write a sound Parquet file under the name that its content gives it."""
    name, data = encode(table, 9, 9)
    return lambda folder: (folder / name).write_bytes(data)


def with_column(name: str, values: list[object]) -> pa.Table:
    return ROWS.set_column(ROWS.schema.get_field_index(name), name, pa.array(values))


EMPTY = "00000009-00000009-e3b0c44298fc1c14.parquet"  # the name of no bytes at all
FOREIGN: dict[str, Put] = {
    "folder": lambda folder: (folder / EMPTY).mkdir(),
    "folder with files": lambda folder: (folder / EMPTY / "more").mkdir(parents=True),
    "pipe": lambda folder: os.mkfifo(folder / EMPTY),
    "link to nothing": lambda folder: (folder / EMPTY).symlink_to("gone"),
    "empty file": lambda folder: (folder / EMPTY).write_bytes(b""),
    "other columns": as_file(pa.table({"x": [1, 2]})),
    "no columns": as_file(pa.table({})),
    "another table of ours": as_file(SCORES),
    "no key of a group": as_file(ROWS.drop_columns(["question_id"])),
    "no column of tokens": as_file(ROWS.drop_columns(["token_ids"])),
    "numbers for texts": as_file(with_column("completion", [5])),
    "texts for numbers": as_file(with_column("rollout_index", ["7"])),
    "a number for a group": as_file(with_column("question_id", [5])),
    "a list for a text": as_file(with_column("finish_reason", [["stop"]])),
    "rows without text": as_file(pa.table({**ROWS.to_pydict(), "completion": [None]}, schema=ROLLOUTS)),
    "rows without index": as_file(pa.table({**ROWS.to_pydict(), "rollout_index": [None]}, schema=ROLLOUTS)),
}


@pytest.fixture
def folder(store: Store) -> Path:
    """The folder of the draw, with two rollouts and their scores in the store."""
    written = [rollout(0), rollout(1)]
    store.ledger.append_rollouts(DRAW, written)
    store.ledger.append_scores(DRAW, VERSIONS, scored(written, Score(0.5, True)))
    return Path(str(store.root)) / "rollouts" / DRAW.folder


@pytest.mark.parametrize("put", FOREIGN.values(), ids=FOREIGN.keys())
def test_it_is_set_aside_when_rollouts_are_looked_up(store: Store, folder: Path, put: Put) -> None:
    put(folder)
    listener = Listener()
    with watched_by(listener):
        stored, redrawn = store.ledger.find_rollouts(DRAW, [prompt()])
        texts = list(store.ledger.read_completions(DRAW, stored, [prompt()]))
    assert stored["rollout_index"].to_list() == [0, 1]
    assert redrawn.is_empty()
    assert sum(part.height for part in texts) == 2
    [warning] = listener.warnings
    [aside] = (store.root / "quarantine").iterdir()
    assert "00000009-00000009-" in warning
    assert "is damaged: it " in warning
    assert f"set aside as quarantine/{aside.name}" in warning
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("put", FOREIGN.values(), ids=FOREIGN.keys())
def test_the_check_sets_it_aside(store: Store, folder: Path, put: Put) -> None:
    put(folder)
    [damage] = find_damage(store.ledger)
    assert damage.moved_to.startswith("quarantine/rollouts__")
    assert summarise_ledger(store.ledger).rollouts == 2
    assert list(find_damage(store.ledger)) == []


@pytest.mark.parametrize("table", [ROWS, pa.table({"x": [1]}), SCORES.drop_columns(["completion_id"])])
def test_it_is_set_aside_when_scores_are_looked_up(store: Store, folder: Path, table: pa.Table) -> None:
    as_file(table)(folder.parents[2] / "scores" / DRAW.folder / "poetry@1")
    stored, _ = store.ledger.find_rollouts(DRAW, [prompt()])
    assert store.ledger.find_scores(DRAW, stored, VERSIONS)["reward"].to_list() == [0.5, 0.5]
    assert len(list((store.root / "quarantine").iterdir())) == 1


def test_a_sound_file_that_may_not_be_read_stays_where_it_is(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold rollouts that were paid for: to make them again is not for a run to decide."""

    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    [path] = folder.iterdir()
    again = Store(store.root)
    monkeypatch.setattr(type(store.root), "read_bytes", refuse)
    with pytest.raises(LearnableError, match=rf"cannot read '{path}' \(Permission denied\): .*move it away"):
        again.ledger.find_rollouts(DRAW, [prompt()])
    assert path.exists()
    assert not (store.root / "quarantine").exists()
