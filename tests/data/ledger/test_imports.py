"""Imported rollouts: each has one index, whatever stopped the import in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.data.ledger import imports
from learnable.data.ledger.imports import GivenRollout, Imports
from learnable.data.ledger.ledger import Draw
from learnable.data.records import Prompt, Rollout, Sampling, Score
from learnable.data.store import Store

DRAW = Draw("model@abc", Sampling(max_tokens=64))
PROMPTS = [Prompt(f"Q{n}?", "recorded-plain", {}, "f", "f") for n in range(3)]


def given(count: int) -> list[GivenRollout]:
    rows = []
    for number in range(count):
        prompt = PROMPTS[number % 3]
        rollout = Rollout(
            prompt.question_id, DRAW.policy_id, DRAW.sampling.sampling_id, 64, 0, f"text {number}", "stop", 2
        )
        rows.append(GivenRollout(f"key {number}", prompt, rollout, Score(number % 2 / 1, bool(number % 2))))
    return rows


def bring_in(store: Store, rows: list[GivenRollout]) -> int:
    with store.hold(wait=0, on_wait=print):
        return sum(Imports(store.ledger, DRAW, PROMPTS, "1").store(rows))


def read_back(store: Store) -> set[tuple[str, int, str, float]]:
    stored, _ = store.ledger.find_rollouts(DRAW, PROMPTS)
    scores = store.ledger.find_scores(DRAW, stored, {"recorded-plain": "1"})
    texts = [row for part in store.ledger.read_completions(DRAW, stored) for row in part.iter_rows()]
    assert len(texts) == stored.height == scores.height
    named, rewards = dict(texts), dict(scores.select("rollout_id", "reward").iter_rows())
    return {
        (question, index, named[name], rewards[name])
        for question, index, name in stored.select("question_id", "rollout_index", "rollout_id").iter_rows()
    }


@pytest.mark.parametrize("stops_at", range(6))
def test_an_import_that_is_stopped_anywhere_goes_on_to_the_same_ledger(
    stops_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "IMPORTED_AT_ONCE", 5)
    whole = Store(str(tmp_path / "whole"))
    assert bring_in(whole, given(12)) == 12
    torn = Store(str(tmp_path / "torn"))
    writes = 0

    def fail_once(write: str) -> None:
        real = getattr(torn.ledger, write)

        def counted(*arguments: object) -> None:
            nonlocal writes
            writes += 1
            if writes == stops_at + 1:
                raise LearnableError("stopped")
            real(*arguments)

        monkeypatch.setattr(torn.ledger, write, counted)

    fail_once("append_rollouts")
    fail_once("append_scores")
    with pytest.raises(LearnableError, match="stopped"):
        bring_in(torn, given(12))
    bring_in(torn, given(12))
    assert read_back(torn) == read_back(whole)
    assert bring_in(torn, given(12)) == 0
    assert bring_in(torn, given(14)) == 2


def test_what_was_drawn_here_keeps_its_indices(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    own = given(1)[0].rollout
    with store.hold(wait=0, on_wait=print):
        store.ledger.append_rollouts(DRAW, [own])
    bring_in(store, given(12)[3:])
    stored, _ = store.ledger.find_rollouts(DRAW, PROMPTS)
    first = stored.filter(stored["question_id"] == PROMPTS[0].question_id)
    assert sorted(first["rollout_index"]) == [0, 1, 2, 3]


def test_a_damaged_note_of_imports_is_named(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    bring_in(store, given(3))
    [note] = (tmp_path / "imports").rglob("*.parquet")
    note.write_bytes(b"no Parquet")
    with pytest.raises(LearnableError, match=r"cannot read .*000000.parquet.* restore it, or import into another"):
        bring_in(store, given(3))
