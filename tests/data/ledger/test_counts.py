"""Counts of other models in a store: how they are merged, matched with prompts, and noted once."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.ledger.counts import find_counts, store_counts
from learnable.data.ledger.ledger import Draw
from learnable.data.records import Message, PassCount, Prompt, Rollout, Sampling, Score, text_key
from learnable.data.store import Store

DRAW = Draw("mine@1", Sampling())
COUNTED = {"policy": "a", "k": 8.0, "passes": 3.0}


def ask(text: str, *, is_chat: bool = False) -> Prompt:
    question = (Message("system", "Be short."), Message("user", text)) if is_chat else text
    return Prompt(question, "number", {"answer": 1}, "f", "F")


def answer(draw: Draw, prompt: Prompt, rewards: list[float | None]) -> tuple[Draw, list[tuple[Rollout, Prompt, Score]]]:
    sampling = draw.sampling
    rows = [
        (
            Rollout(prompt.question_id, draw.policy_id, sampling.sampling_id, 16, index, "1", "stop", 1),
            prompt,
            Score(reward, bool(reward), verdict="verifier_error" if reward is None else "scored"),
        )
        for index, reward in enumerate(rewards)
    ]
    return draw, rows


def write(store: Store, draw: Draw, rows: list[tuple[Rollout, Prompt, Score]], version: str = "1") -> None:
    store.ledger.append_rollouts(draw, [row[0] for row in rows])
    store.ledger.append_scores(draw, {"number": version}, rows)


def test_an_import_replaces_what_it_says_anew_and_the_same_again_changes_nothing(tmp_path: Path) -> None:
    root = UPath(tmp_path)
    first = [PassCount("x", "a", 4, 1), PassCount("x", "a", 4, 2), PassCount("y", "b", 8, 8)]
    summary = store_counts(root, first)
    assert (summary.counts, summary.prompts, summary.models, summary.new, summary.changed) == (2, 2, ["a", "b"], 2, 0)
    stored = (tmp_path / "counts/imported.parquet").read_bytes()
    again = store_counts(root, first)
    assert (again.new, again.changed) == (0, 0)
    assert (tmp_path / "counts/imported.parquet").read_bytes() == stored
    later = store_counts(root, [PassCount("y", "b", 8, 7), PassCount("z", "b", 8, 0)])
    assert (later.new, later.changed) == (1, 1)
    rows = pl.read_parquet(tmp_path / "counts/imported.parquet").rows()
    assert rows == [("x", "a", 8, 3), ("y", "b", 8, 7), ("z", "b", 8, 0)]


def test_counts_are_those_of_a_text_of_a_chats_last_message_or_of_an_id(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    plain, chat, named, other = ask("Add 1  and 2."), ask("Add 1 and 2.", is_chat=True), ask("Add 3."), ask("Add 4.")
    with store.hold(wait=0, on_wait=print):
        store_counts(store.root, [PassCount(key, "a", 8, 3) for key in (text_key("Add 1 and 2.\n"), named.prompt_id)])
        found = find_counts(store.ledger, DRAW, [plain, chat, named, other])
    told = sorted(found.to_dicts(), key=lambda row: str(row["prompt_id"]))
    assert told == [{"prompt_id": name, **COUNTED} for name in sorted(p.prompt_id for p in (plain, chat, named))]


def test_others_in_the_ledger_are_counted_once_a_rollout_and_noted_at_first_sight(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    known, unknown, later = ask("Add 1."), ask("Add 2."), ask("Add 3.")
    other, warm = Draw("other@2", Sampling()), Draw("mine@1", Sampling(temperature=0.5))
    with store.hold(wait=0, on_wait=print):
        write(store, *answer(other, known, [1.0, 0.0, None, 0.5]))
        write(store, *answer(other, known, [1.0, 0.0, None, 0.5]), version="2")
        write(store, *answer(warm, known, [1.0]))
        write(store, *answer(DRAW, known, [0.0] * 9))
        found = find_counts(store.ledger, DRAW, [known, unknown])
        names = {row["policy"]: (row["k"], row["passes"]) for row in found.to_dicts()}
        assert names == {"other@2": (3.0, 1.5), "mine@1": (1.0, 1.0)}
        write(store, *answer(other, unknown, [1.0]))
        write(store, *answer(other, later, [1.0]))
        assert find_counts(store.ledger, DRAW, [known, unknown]).equals(found)
        more = find_counts(store.ledger, DRAW, [unknown, later])
    assert more.to_dicts() == [{"prompt_id": later.prompt_id, "policy": "other@2", "k": 1.0, "passes": 1.0}]


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "counts").mkdir()
    (tmp_path / "counts/imported.parquet").write_bytes(b"nothing")
    with pytest.raises(LearnableError, match=r"imported\.parquet.*move it away, and import again"):
        store_counts(UPath(tmp_path), [PassCount("x", "a", 4, 1)])
