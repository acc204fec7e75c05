"""What is found again, and under which cap on tokens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.ledger.partition import Chunk
from learnable.data.ledger.upkeep import compact, find_damage
from learnable.data.records import Rollout, Score
from learnable.data.store import Store
from tests.data.ledger.rollouts_for_tests import DRAW, prompt, rollout, scored, under
from tests.support.rows import count_text_bytes

VERSIONS = {"poetry": "1"}


def test_rollouts_come_back_as_they_went(store: Store) -> None:
    written = [rollout(index) for index in range(3)]
    store.ledger.append_rollouts(DRAW, written)
    store.ledger.append_rollouts(DRAW, [rollout(text="other")])
    stored, redrawn = store.ledger.find_rollouts(DRAW, [prompt()])
    assert redrawn.is_empty()
    [texts] = store.ledger.read_completions(DRAW, stored)
    assert texts.rows() == [(one.rollout_id, one.completion) for one in written]
    for column in ("rollout_id", "completion_id", "question_id", "rollout_index", "max_tokens", "seed", "num_tokens"):
        assert stored[column].to_list() == [getattr(one, column) for one in written]
    assert set(stored["prompt_id"]) == {prompt().prompt_id}


@pytest.mark.parametrize("has_index", [True, False])
def test_prompts_in_the_order_of_the_files_are_looked_up_in_parts_and_each_file_is_read_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, has_index: bool
) -> None:
    for number in (3, 0, 4, 1, 5, 2):
        store.ledger.append_rollouts(DRAW, [rollout(index, text=f"p{number}") for index in range(2)])
    if has_index:
        store.ledger.close()
    ledger = Store(store.root).ledger
    prompts = [prompt("of none"), *(prompt(f"p{number}") for number in range(6))]
    order = ledger.order_by_file(DRAW, prompts)
    assert order.tolist() == [4, 1, 5, 2, 6, 3, 0]
    read = Mock(side_effect=Chunk.read)
    monkeypatch.setattr(Chunk, "read", lambda chunk: read(chunk))
    for start in range(0, len(prompts), 2):
        ledger.find_rollouts(DRAW, [prompts[place] for place in order[start : start + 2]])
    assert read.call_count == 6


def test_after_the_keys_are_learnt_no_file_is_read_for_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("one", "other"):
        store.ledger.append_rollouts(DRAW, [rollout(text=text)])
        store.ledger.append_scores(DRAW, VERSIONS, scored([rollout(text=text)], Score(1.0, True), prompt(text)))
    ledger = Store(store.root).ledger
    ledger.learn_keys(DRAW, VERSIONS)
    read = Mock(side_effect=Chunk.read)
    monkeypatch.setattr(Chunk, "read", lambda chunk: read(chunk))
    stored, _ = ledger.find_rollouts(DRAW, [prompt("other")])
    assert ledger.find_scores(DRAW, stored, VERSIONS).height == 1
    assert read.call_count == 2  # of four files


def test_texts_that_are_not_wanted_are_not_kept_in_memory(store: Store) -> None:
    store.ledger.append_rollouts(DRAW, [replace(rollout(index), completion=f"{index:0100d}") for index in range(500)])
    stored, _ = store.ledger.find_rollouts(DRAW, [prompt()])
    [texts] = store.ledger.read_completions(DRAW, stored.head(3))
    assert count_text_bytes(texts) < 1000


def test_a_policy_is_known_by_its_weights_and_not_by_its_name(store: Store) -> None:
    store.ledger.append_rollouts(DRAW, [rollout()])
    renamed = type(DRAW)("elsewhere/copy@abc", DRAW.sampling)
    assert store.ledger.find_rollouts(renamed, [prompt()])[0].height == 1


def test_another_policy_or_temperature_has_rollouts_of_its_own(store: Store) -> None:
    store.ledger.append_rollouts(DRAW, [rollout()])
    other = type(DRAW)("other", DRAW.sampling)
    warmer = type(DRAW)(DRAW.policy_id, type(DRAW.sampling)(temperature=1.5, max_tokens=64))
    assert all(store.ledger.find_rollouts(draw, [prompt()])[0].is_empty() for draw in (other, warmer))


@pytest.mark.parametrize(
    ("written", "cap", "stands"),
    [
        (rollout(end="stop", tokens=60), 64, True),
        (rollout(end="stop", tokens=60), 128, True),  # it ended by itself
        (rollout(end="stop", tokens=60), 32, False),  # it would have been cut
        (rollout(end="stop", tokens=20), 32, True),
        (rollout(end="length", tokens=64), 64, True),  # as it was cut
        (rollout(end="length", tokens=64), 128, False),  # it may go on
        (rollout(end="length", tokens=64), 32, False),
    ],
)
def test_a_rollout_stands_where_it_would_be_the_same(store: Store, written: Rollout, cap: int, stands: bool) -> None:
    store.ledger.append_rollouts(DRAW, [written])
    stored, redrawn = store.ledger.find_rollouts(under(cap), [prompt()])
    assert (stored.height, redrawn.height) == ((1, 0) if stands else (0, 1))
    if not stands:
        assert redrawn["seed"].to_list() == [100]


def test_a_longer_draw_takes_the_place_of_the_cut_one_only_under_its_cap(store: Store) -> None:
    store.ledger.append_rollouts(DRAW, [rollout(end="length", tokens=64)])
    store.ledger.append_rollouts(under(128), [rollout(tokens=100, cap=128)])
    for cap in (64, 128):
        stored, redrawn = store.ledger.find_rollouts(under(cap), [prompt()])
        assert stored["max_tokens"].to_list() == [cap]
        assert redrawn.is_empty()


def test_the_first_that_was_written_counts(store: Store) -> None:
    first = rollout(tokens=2)
    store.ledger.append_rollouts(DRAW, [first])
    store.ledger.append_rollouts(under(128), [rollout(tokens=3, cap=128)])
    stored, _ = store.ledger.find_rollouts(under(128), [prompt()])
    assert stored["rollout_id"].to_list() == [first.rollout_id]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([16, 32, 64]), st.integers(1, 64)), max_size=12))
def test_what_stands_and_what_is_drawn_again_equal_a_plain_loop(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, int, int]]
) -> None:
    written = [
        rollout(index, end="length" if tokens >= cap else "stop", tokens=min(tokens, cap), cap=cap)
        for index, cap, tokens in drawn
    ]
    store = Store(tmp_path_factory.mktemp("s"))
    with store.hold(wait=0, on_wait=print):
        for one in written:
            store.ledger.append_rollouts(DRAW, [one])
    first: dict[int, Rollout] = {}
    cut: dict[int, Rollout] = {}
    for one in written:
        fits = one.num_tokens <= 32 if one.finish_reason == "stop" else one.max_tokens == 32
        (first if fits else cut).setdefault(one.rollout_index, one)
    stored, redrawn = store.ledger.find_rollouts(under(32), [prompt()])
    assert dict(zip(stored["rollout_index"], stored["rollout_id"], strict=True)) == {
        index: one.rollout_id for index, one in first.items()
    }
    assert set(redrawn["rollout_index"]) == set(cut) - set(first)


def test_scores_of_another_version_and_errors_are_scored_again(store: Store) -> None:
    one, two = rollout(0), rollout(1)
    store.ledger.append_rollouts(DRAW, [one, two])
    scores = [
        *scored([one], Score(0.5, False, {"rhyme": 0.5})),
        *scored([two], Score.unscored("broke")),
        *scored([one], Score(0.9, True)),
    ]
    store.ledger.append_scores(DRAW, VERSIONS, scores)
    stored, _ = store.ledger.find_rollouts(DRAW, [prompt()])
    assert store.ledger.find_scores(DRAW, stored, {"poetry": "2"}).is_empty()
    [row] = store.ledger.find_scores(DRAW, stored, VERSIONS).to_dicts()
    assert (row["rollout_id"], row["reward"]) == (one.rollout_id, 0.5)
    assert row["components"] == {"rhyme": 0.5}


def test_names_with_slashes_and_colons_are_folders(store: Store) -> None:
    mine = prompt(verifier="my.module:Judge")
    store.ledger.append_rollouts(DRAW, [rollout()])
    store.ledger.append_scores(DRAW, {"my.module:Judge": "a/b"}, scored([rollout()], Score(1.0, True), mine))
    stored, _ = store.ledger.find_rollouts(DRAW, [mine])
    assert store.ledger.find_scores(DRAW, stored, {"my.module:Judge": "a/b"})["reward"].to_list() == [1.0]


def test_prompts_with_one_question_share_its_rollouts_and_each_has_its_own_scores(store: Store) -> None:
    mended = prompt(answer=2)
    store.ledger.append_rollouts(DRAW, [rollout()])
    store.ledger.append_scores(DRAW, VERSIONS, scored([rollout()], Score(0.0, False)))
    stored, _ = store.ledger.find_rollouts(DRAW, [prompt(), mended])
    assert stored.select("prompt_id", "rollout_id").rows() == [
        (prompt().prompt_id, rollout().rollout_id),
        (mended.prompt_id, rollout().rollout_id),
    ]
    assert store.ledger.find_scores(DRAW, stored, VERSIONS)["prompt_id"].to_list() == [prompt().prompt_id]
    store.ledger.append_scores(DRAW, VERSIONS, scored([rollout()], Score(1.0, True), mended))
    found = store.ledger.find_scores(DRAW, stored, VERSIONS)
    assert dict(zip(found["prompt_id"], found["reward"], strict=True)) == {prompt().prompt_id: 0, mended.prompt_id: 1}
    assert len(list(store.ledger.read_completions(DRAW, stored))) == 1


def test_an_empty_ledger_answers(store: Store) -> None:
    stored, redrawn = store.ledger.find_rollouts(DRAW, [prompt()])
    assert stored.is_empty()
    assert redrawn.is_empty()
    assert store.ledger.find_scores(DRAW, stored, VERSIONS).is_empty()
    assert list(store.ledger.read_completions(DRAW, stored)) == []


def test_only_the_holder_of_the_store_appends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(RuntimeError, match="hold"):
        Store(tmp_path / "s").ledger.append_rollouts(DRAW, [rollout()])


@pytest.mark.parametrize("merged", [False, True])
def test_token_ids_come_back_as_they_went_beside_rows_that_have_none(store: Store, merged: bool) -> None:
    ids = [[5, 6, 2], [7], None, None]
    written = [replace(rollout(index), token_ids=one) for index, one in enumerate(ids)]
    store.ledger.append_rollouts(DRAW, written[:3])
    store.ledger.append_rollouts(DRAW, written[3:])  # of an engine that tells of no tokens
    if merged:
        assert compact(store.ledger) == (2, 1)
    store.ledger.open(lambda: None)
    stored, _ = store.ledger.find_rollouts(DRAW, [prompt()])
    found = pl.concat(store.ledger.read_completions(DRAW, stored, tokens=True))
    assert found.columns == ["rollout_id", "completion", "token_ids"]
    assert dict(found.select("rollout_id", "token_ids").rows()) == {
        one.rollout_id: tokens for one, tokens in zip(written, ids, strict=True)
    }
    assert list(find_damage(store.ledger)) == []


def test_a_thought_is_kept_apart_from_its_answer(store: Store) -> None:
    told = replace(rollout(), reasoning="<think>so</think>", reasoning_tokens=2)
    store.ledger.append_rollouts(DRAW, [told])
    stored, _ = store.ledger.find_rollouts(DRAW, [prompt()])
    assert stored["reasoning_tokens"].to_list() == [2]
    [texts] = store.ledger.read_completions(DRAW, stored, reasoning=True)
    assert texts.rows() == [(told.rollout_id, told.completion, "<think>so</think>")]


def test_the_last_error_of_a_verifier_stands_where_there_is_no_score(store: Store) -> None:
    rolled = [rollout(index) for index in range(2)]
    store.ledger.append_rollouts(DRAW, rolled)
    for reason in ("first", "second", "third"):
        failed = Score(None, None, verdict="verifier_error", reason=reason)
        store.ledger.append_scores(DRAW, VERSIONS, scored(rolled, failed))
    store.ledger.append_scores(DRAW, VERSIONS, scored(rolled[1:], Score(1.0, True)))
    stored, _ = store.ledger.find_rollouts(DRAW, [prompt()])
    found = store.ledger.find_scores(DRAW, stored, VERSIONS, errors=True)
    by_index = dict(found.select("rollout_id", "reason").iter_rows())
    assert [by_index[one.rollout_id] for one in rolled] == ["third", ""]
    assert store.ledger.find_scores(DRAW, stored, VERSIONS)["rollout_id"].to_list() == [rolled[1].rollout_id]
