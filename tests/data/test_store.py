"""Where a store may be, and what holding it leaves behind."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Message, Prompt
from learnable.data.store import Store
from learnable.data.tables import prompts_table


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def hold(root: object) -> None:
    with Store(str(root)).hold(wait=0, on_wait=print):
        pass


def test_a_locked_store_leaves_its_lock_and_its_format(tmp_path: Path) -> None:
    with Store(tmp_path / "s").hold(wait=0, on_wait=print):
        assert (tmp_path / "s" / ".reserve").is_file()
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == [".lock", "format.json"]


def test_what_a_killed_run_left_half_made_goes(tmp_path: Path) -> None:
    left = [
        tmp_path / "s/rollouts/p/t/.00000000.parquet.ab.partial",
        tmp_path / "s/curated/set/.staging-1/train.parquet",
    ]
    kept = tmp_path / "s/curated/set/v0001/manifest.json"
    for path in [*left, kept]:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"half")
    hold(tmp_path / "s")
    assert kept.exists()
    assert not any(path.exists() for path in left)
    assert not left[1].parent.exists()


def test_groups_are_written_by_run(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    with store.hold(wait=0, on_wait=print):
        store.write_groups("run-1", pl.DataFrame({"prompt_id": ["p"]}))
    assert pl.read_parquet(tmp_path / "s" / "groups" / "run-1.parquet")["prompt_id"].to_list() == ["p"]


def test_a_read_only_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere, whatever the mode
    with pytest.raises(LearnableError, match="`store`"):
        hold(tmp_path / "s")


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("")
    with pytest.raises(LearnableError, match=r"store .*s' cannot be made"):
        hold(tmp_path / "s")


def test_a_store_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LearnableError, match=r"nowhere' does not exist: give `store`"):
        Store(tmp_path / "nowhere").open()


@pytest.mark.parametrize("name", ["", " "])
def test_a_store_without_a_name_is_refused(name: str) -> None:
    with pytest.raises(LearnableError, match="the store has no name: give `store` a folder or a URL"):
        Store(name)


def test_an_unknown_protocol_is_named() -> None:
    with pytest.raises(LearnableError, match=r"store 'nosuch://bucket' is not a place"):
        Store("nosuch://bucket")


def test_text_and_chat_prompts_do_not_mix() -> None:
    text = Prompt("hi", "choice", {"answer": "x"}, family="f", form="F")
    chat = replace(text, prompt=(Message("user", "hi"),))
    assert prompts_table([chat]).column("prompt").to_pylist() == [[{"role": "user", "content": "hi"}]]
    with pytest.raises(LearnableError, match="one type"):
        prompts_table([text, chat])
