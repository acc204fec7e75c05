"""The number that says how a store and its sets are written: written once, and asked for before anything is read."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest
from upath import UPath

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.data.storage.format import FORMAT_FILE, STORE_FORMAT
from learnable.data.store import Store, find_home
from tests.data.ledger.rollouts_for_tests import DRAW, rollout

READS = f"and this version of Learnable reads format {STORE_FORMAT}: "


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def fill(root: Path, index: int = 0) -> None:
    """Write a rollout into a store."""
    store = Store(root)
    with store.hold(wait=None, on_wait=print):
        store.ledger.append_rollouts(DRAW, [rollout(index)])


def fill_when_told(root: Path, index: int, barrier: multiprocessing.synchronize.Barrier) -> None:
    barrier.wait()
    fill(root, index)


def list_names(root: Path) -> list[str]:
    return sorted(str(path) for path in root.rglob("*"))


def test_a_store_has_its_format_from_the_first_file_on(tmp_path: Path) -> None:
    fill(tmp_path / "s")
    file = tmp_path / "s" / FORMAT_FILE
    assert json.loads(file.read_text()) == {"format": STORE_FORMAT}
    written = file.stat()
    fill(tmp_path / "s", 1)
    assert file.stat().st_ino == written.st_ino
    assert Store(tmp_path / "s").open().ledger.find_rollouts(DRAW, [])[0].is_empty()


def test_processes_that_make_one_store_at_once_all_write_into_it(tmp_path: Path) -> None:
    context, count = multiprocessing.get_context("spawn"), 3
    barrier = context.Barrier(count)
    processes = [context.Process(target=fill_when_told, args=(tmp_path / "s", n, barrier)) for n in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * count
    assert len(list((tmp_path / "s" / "rollouts").rglob("*.parquet"))) == count
    assert json.loads((tmp_path / "s" / FORMAT_FILE).read_text()) == {"format": STORE_FORMAT}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (None, "names no format"),
        ("not json", "names no format"),
        ("[1]", "names no format"),
        (f'{{"format": {STORE_FORMAT + 1}}}', f"is of format {STORE_FORMAT + 1}"),
        ('{"format": true}', "is of format True"),
        ('{"format": "1"}', "is of format '1'"),
    ],
)
def test_a_store_of_another_format_is_refused_and_left_as_it_is(tmp_path: Path, text: str | None, found: str) -> None:
    root = tmp_path / "s"
    fill(root)
    (root / FORMAT_FILE).unlink() if text is None else (root / FORMAT_FILE).write_text(text)
    version = root / "curated" / "q" / "v0001"
    version.mkdir(parents=True)
    (root / "rollouts" / ".left.partial").write_text("of a killed run")
    before = list_names(root)
    said = f"store '{root}' {found}, {READS}give another `store`, or use the version that wrote it"
    for use in (lambda: fill(root), Store(root).open, lambda: find_home(UPath(version))):
        with pytest.raises(LearnableError) as error:
            use()
        assert str(error.value) == said
    assert list_names(root) == before


def test_opening_a_store_writes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "s"
    fill(root)
    before = list_names(root)
    Store(root).open()
    (tmp_path / "empty").mkdir()
    Store(tmp_path / "empty").open()
    assert list_names(root) == before
    assert list_names(tmp_path / "empty") == []


@pytest.mark.parametrize("place", ["local", "memory"])
@pytest.mark.parametrize(("named", "found"), [({}, "names no format"), ({"format": 2}, "is of format 2")])
def test_a_set_of_another_format_is_refused_wherever_it_lies(
    tmp_path: Path, place: str, named: dict[str, int], found: str
) -> None:
    folder = UPath(tmp_path / "set") if place == "local" else UPath("memory://sets/of-another-format")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps({"forms": "as a later version has them", **named}))
    with pytest.raises(LearnableError) as error:
        open_curated(folder)
    fix = "curate it again with find-learnable, or use the version that wrote it"
    assert str(error.value) == f"curated set '{folder}' {found}, {READS}{fix}"
