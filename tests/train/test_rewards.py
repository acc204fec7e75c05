from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from learnable.data.dialogue.thinking import USUAL_TAGS
from learnable.data.records import Score
from learnable.train import rewards
from learnable.train.rewards import judge_answers, pass_reward, read_last_turn, remember_mastered, verifier_reward
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
    assert log.metrics["rewards/verifier_reward/between_group_std"] == pytest.approx(0.25)
    assert log.metrics["rewards/verifier_reward/zero_std_share"] == 0.5
    assert log.metrics["rewards/verifier_reward/unscored_share"] == 0.0
    assert log.metrics["component/arithmetic/correct"] == 0.75
    assert log.extra["verdict"] == ["scored"] * 4


@pytest.mark.parametrize(("column", "gain"), [("certified_reward", 0.7 - 0.3), ("certified_pass_rate", 0.5 - 0.3)])
def test_the_log_gets_the_gain_over_what_certificates_promise(
    monkeypatch: pytest.MonkeyPatch, column: str, gain: float
) -> None:
    """Whatever is trained: a certificate is of graded rewards, or of passes, and so is the gain."""
    monkeypatch.setattr(rewards, "score_completions", lambda *_: [Score(0.5, False), Score(0.9, True)])
    rows: dict[str, Any] = {"prompts": ["p"] * 2, "completions": ["c"] * 2, "verifier": ["v"] * 2, "spec": ["{}"] * 2}
    for reward in (verifier_reward, pass_reward):
        log = Log()
        reward(**rows, **{column: [0.3] * 2}, log_metric=log.metric, log_extra=log.column)
        assert log.metrics[f"rewards/{reward.__name__}/reward_gain"] == pytest.approx(gain)


def test_groups_are_measured_over_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process has the rest of group b, and group c: means of 1/2, 1/2 and 0, where it has 0 and 0 alone."""
    import torch.distributed as dist

    def gather(parts: list[Any], own: Any) -> None:
        keys = [own[0][-1], own[0][-1].replace('"b"', '"c"')]
        parts[:] = [own, (keys, [Score(0.0, False)] * 2)]

    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(dist, "all_gather_object", gather)
    log, rows = Log(), {"verifier": ["arithmetic"] * 3, "spec": [SEVEN] * 3}
    got = verifier_reward(["a", "a", "b"], ["7", "8", "7"], **rows, log_metric=log.metric, log_extra=log.column)

    assert got == [1.0, 0.0, 1.0]
    assert log.metrics["rewards/verifier_reward/between_group_std"] == pytest.approx(np.std([0.5, 0.5, 0.0]))
    assert log.metrics["rewards/verifier_reward/within_group_std"] == pytest.approx(1 / 3)
    assert log.metrics["rewards/verifier_reward/zero_std_share"] == pytest.approx(1 / 3)
    assert log.extra["passed"] == [True, False, True]  # TRL gathers these itself


def test_the_two_rewards_log_under_their_own_names() -> None:
    log = Log()
    pass_reward(["a"], ["7"], verifier=["arithmetic"], spec=[SEVEN], log_metric=log.metric, log_extra=log.column)

    assert log.metrics["rewards/pass_reward/pass_rate"] == 1.0
    assert log.extra["passed"] == [True]


def test_a_thought_is_not_judged() -> None:
    judged: list[object] = []

    def reward(completions: list[str], **columns: object) -> list[float | None]:
        judged.extend([*completions, columns])
        return [1.0] * len(completions)

    answers = judge_answers(reward, USUAL_TAGS)
    chat = [{"role": "assistant", "content": "<think>8</think>9"}]
    assert answers(prompts=["p"] * 3, completions=["<think>7</think>8", chat, "5"]) == [1.0] * 3
    assert judged == ["8", "9", "5", {"prompts": ["p"] * 3}]
    assert answers.__name__ == "reward"  # TRL names its logs by it
    assert judge_answers(reward, None) is reward


def test_the_log_tells_how_texts_repeat_and_differ() -> None:
    rows: dict[str, Any] = {"prompts": ["a", "a"], "verifier": ["arithmetic"] * 2, "spec": [SEVEN] * 2}
    log = Log()
    verifier_reward(completions=["7 7 7 7 7", "7 8"], log_metric=log.metric, **rows)
    assert log.metrics["rewards/verifier_reward/repeated_ngrams"] == 0.5  # of words: TRL tells no tokens here
    assert log.metrics["rewards/verifier_reward/distinct_ngrams"] == pytest.approx(2 / 5)

    log = Log()
    pass_reward(completions=["7", "7"], completion_ids=[[7, 0], [7, 0]], log_metric=log.metric, **rows)
    assert log.metrics["rewards/pass_reward/distinct_ngrams"] == 0.5
    assert "rewards/pass_reward/repeated_ngrams" not in log.metrics


def test_what_was_mastered_and_is_forgotten_is_logged_at_each_look() -> None:
    size, reward = 8, remember_mastered(verifier_reward)
    rows: dict[str, Any] = {"prompts": ["a"] * size + ["b"] * size, "verifier": ["arithmetic"] * 2 * size}
    rows |= {"spec": [SEVEN] * 2 * size, "log_extra": None}

    def look(of_a: int, **columns: Any) -> dict[str, float]:
        log = Log()
        completions = ["7"] * of_a + ["8"] * (size - of_a) + ["7"] * (size - 1) + ["8"]
        got = reward(completions=completions, log_metric=log.metric, **rows, **columns)
        assert got == [float(text == "7") for text in completions]
        return {
            name: value for name, value in log.metrics.items() if name.endswith(("mastered_share", "forgotten_share"))
        }

    marked = {"held_out": ["held_out"] * 2 * size}
    assert look(size) == {}  # training is not watched
    assert look(3, **marked) == {"held_out/mastered_share": 0.0, "held_out/forgotten_share": 0.0}
    assert look(size, **marked) == {"held_out/mastered_share": 0.5, "held_out/forgotten_share": 0.0}
    assert look(4, **marked) == {"held_out/mastered_share": 0.0, "held_out/forgotten_share": 0.0}
    assert look(3, **marked) == {"held_out/mastered_share": 0.0, "held_out/forgotten_share": 0.5}
    came_mastered = {"held_out": ["review"] * 2 * size}
    assert look(3, **came_mastered) == {"review/mastered_share": 0.0, "review/forgotten_share": 0.5}
    assert reward.__name__ == "verifier_reward"  # TRL names its logs by it


def test_the_table_of_completions_keeps_its_columns_at_a_look() -> None:
    log = Log()
    remember_mastered(verifier_reward)(
        prompts=["a"], completions=["7"], verifier=["arithmetic"], spec=[SEVEN], held_out=["held_out"],
        log_metric=log.metric, log_extra=log.column,
    )  # fmt: skip
    assert log.extra["passed"] == [True]
