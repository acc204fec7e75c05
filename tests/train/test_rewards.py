from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.dialogue.thinking import USUAL
from learnable.data.records import Score
from learnable.train import rewards
from learnable.train.rewards import (
    judge_answers,
    measure_components,
    measure_groups,
    pass_reward,
    read_last_turn,
    verifier_reward,
)
from learnable.verifiers.pool.scoring import ScoringPool

SEVEN = json.dumps({"answer": 7})


@pytest.fixture(autouse=True)
def _in_this_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Score in this thread: the processes of the real pool have tests of their own."""
    with ScoringPool(workers=0) as pool:
        monkeypatch.setattr(rewards, "open_scoring_pool", lambda: pool)
        yield


class Log:
    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}
        self.extra: dict[str, list[Any]] = {}

    def metric(self, name: str, value: float) -> None:
        self.metrics[name] = value

    def column(self, name: str, values: list[Any]) -> None:
        self.extra[name] = values


def test_each_row_is_judged_by_its_own_verifier_and_spec() -> None:
    got = verifier_reward(
        prompts=["3 + 4 = ", "3 + 4 = ", "Which?"],
        completions=["7", "8", "red"],
        verifier=["arithmetic", "arithmetic", "choice"],
        spec=[SEVEN, json.dumps({"answer": 8}), json.dumps({"answer": "red", "choices": ["red", "blue"]})],
        form=["a", "b", "c"],
        trainer_state=None,
    )

    assert got == [1.0, 1.0, 1.0]


def test_chat_is_judged_by_its_read_last_turn() -> None:
    got = verifier_reward(
        prompts=[[{"role": "system", "content": "9"}, {"role": "user", "content": "3 + 4 = "}]],
        completions=[[{"role": "assistant", "content": "7"}]],
        verifier=["arithmetic"],
        spec=[{"answer": 7, "unused": None}],
    )

    assert got == [1.0]


def test_content_blocks_are_read_as_text() -> None:
    assert read_last_turn([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}]) == "a"
    assert read_last_turn([]) == ""


def test_what_cannot_be_scored_is_none_and_never_zero() -> None:
    got = verifier_reward(["p", "p"], ["7", "7"], verifier=["arithmetic", "no such"], spec=[SEVEN, SEVEN])

    assert got == [1.0, None]


def test_a_passing_share_below_one_is_graded_by_one_and_refused_by_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        rewards, "score_completions", lambda *_: [Score(0.6, False), Score(0.9, True), Score(0.4, None)]
    )
    rows: dict[str, Any] = {"prompts": ["p"] * 3, "completions": ["c"] * 3, "verifier": ["v"] * 3, "spec": ["{}"] * 3}

    assert verifier_reward(**rows) == [0.6, 0.9, 0.4]
    assert pass_reward(**rows) == [0.0, 1.0, None]


def test_the_log_gets_std_within_groups_and_the_reasons() -> None:
    log = Log()
    verifier_reward(
        prompts=["a", "a", "b", "b"],
        completions=["7", "8", "7", "7"],
        verifier=["arithmetic"] * 4,
        spec=[SEVEN] * 4,
        log_metric=log.metric,
        log_extra=log.column,
    )

    assert log.metrics["rewards/verifier_reward/within_group_std"] == pytest.approx(0.25)
    assert log.metrics["rewards/verifier_reward/zero_std_share"] == 0.5
    assert log.metrics["rewards/verifier_reward/unscored_share"] == 0.0
    assert log.metrics["component/arithmetic/correct"] == 0.75
    assert log.extra["verdict"] == ["scored"] * 4


def test_the_two_rewards_log_under_their_own_names() -> None:
    log = Log()
    pass_reward(["a"], ["7"], verifier=["arithmetic"], spec=[SEVEN], log_metric=log.metric, log_extra=log.column)

    assert log.metrics["rewards/pass_reward/pass_rate"] == 1.0
    assert not log.extra


@given(st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.floats(0, 1)), min_size=1, max_size=40))
def test_measure_groups_equal_a_plain_loop(rows: list[tuple[str, float | None]]) -> None:
    metrics = dict(measure_groups([key for key, _ in rows], [Score(reward, None) for _, reward in rows]))
    stds = []
    for key in "abc":
        known = [reward for other, reward in rows if other == key and reward is not None]
        if known:
            stds.append(np.std(known))

    assert metrics["unscored_share"] == pytest.approx(sum(reward is None for _, reward in rows) / len(rows))
    assert ("within_group_std" in metrics) == bool(stds)
    if stds:
        assert metrics["within_group_std"] == pytest.approx(np.mean(stds), abs=1e-12)


def test_components_are_averaged_over_the_completions_that_have_them() -> None:
    scores = [
        Score(1.0, True, {"lines": 1.0}),
        Score(0.5, False, {"lines": 0.0, "rhyme": 1.0}),
        Score.unscored("broken"),
    ]

    assert dict(measure_components(["poetry"] * 3, scores)) == {
        "component/poetry/lines": 0.5,
        "component/poetry/rhyme": 1.0,
    }


def test_a_thought_is_not_judged() -> None:
    judged: list[object] = []

    def reward(completions: list[str], **columns: object) -> list[float | None]:
        judged.extend([*completions, columns])
        return [1.0] * len(completions)

    answers = judge_answers(reward, USUAL)
    chat = [{"role": "assistant", "content": "<think>8</think>9"}]
    assert answers(prompts=["p"] * 3, completions=["<think>7</think>8", chat, "5"]) == [1.0] * 3
    assert judged == ["8", "9", "5", {"prompts": ["p"] * 3}]
    assert answers.__name__ == "reward"  # TRL names its logs by it
    assert judge_answers(reward, None) is reward
