from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from learnable.data import tables
from learnable.data.errors import LearnableError
from learnable.data.records import Message, Prompt, Rollout, Score
from learnable.data.store import Store
from learnable.data.tables import prompts_table, write_parquet

ROLLOUT = Rollout("p0", "policy", "sampling", 64, 0, "4", "stop", 2, seed=11)


def rollouts(count: int) -> list[Rollout]:
    return [replace(ROLLOUT, rollout_index=index, completion=str(index)) for index in range(count)]


def test_rollouts_come_back_as_they_went(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    store.append_rollouts("run", rollouts(3))
    store.append_rollouts("run", [replace(ROLLOUT, prompt_id="other"), replace(ROLLOUT, policy_id="other")])
    found = store.find_rollouts("policy", "sampling", ["p0"]).sort("rollout_index")
    rows = [Rollout(**{key: value for key, value in row.items() if key != "rollout_id"}) for row in found.to_dicts()]
    assert rows == rollouts(3)
    assert found["rollout_id"].to_list() == [rollout.rollout_id for rollout in rollouts(3)]


def test_a_key_paid_for_twice_counts_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append_rollouts("run-1", [ROLLOUT])
    store.append_rollouts("run-2", [replace(ROLLOUT, completion="late")])
    assert store.find_rollouts("policy", "sampling", ["p0"])["completion"].to_list() == ["4"]


def test_rollouts_that_the_engine_failed_are_still_owed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append_rollouts("run", [replace(ROLLOUT, finish_reason="error")])
    assert store.find_rollouts("policy", "sampling", ["p0"]).is_empty()


def test_scores_of_another_version_and_errors_are_not_reused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    good = Score(0.5, False, {"rhyme": 0.5})
    store.append_scores("run", [("r0", "poetry", "1", good), ("r1", "poetry", "2", Score.unscored("broke"))])
    ids = pl.Series(["r0", "r1"])
    assert store.find_scores(ids, {"poetry": "2"}).is_empty()
    [row] = store.find_scores(ids, {"poetry": "1"}).to_dicts()
    assert row["reward"] == 0.5
    assert row["components"] == {"rhyme": 0.5}


def test_an_empty_store_answers(tmp_path: Path) -> None:
    assert Store(tmp_path).find_rollouts("policy", "sampling", ["p0"]).is_empty()
    assert Store(tmp_path).find_scores(pl.Series([], dtype=pl.String), {}).is_empty()


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tables.pq, "write_table", full)
    with pytest.raises(LearnableError, match="No space left on device"):
        write_parquet(prompts_table([]), tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere, whatever the mode
    with pytest.raises(LearnableError, match="--store"):
        Store(tmp_path / "s")


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("")
    with pytest.raises(LearnableError, match=r"store .*s' cannot be made"):
        Store(tmp_path / "s")


def test_text_and_chat_prompts_do_not_mix() -> None:
    text = Prompt("hi", "choice", {"answer": "x"}, family="f", form="F")
    chat = replace(text, prompt=(Message("user", "hi"),))
    assert prompts_table([chat]).column("prompt").to_pylist() == [[{"role": "user", "content": "hi"}]]
    with pytest.raises(LearnableError, match="one type"):
        prompts_table([text, chat])
