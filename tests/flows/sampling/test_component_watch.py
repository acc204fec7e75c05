"""Parts of rewards that never fire, or always do, are named and explained after the pilot, and only once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from learnable.data.records import Prompt, Rollout, Score
from learnable.flows.sampling import component_watch
from learnable.flows.sampling.component_watch import ComponentWatch
from learnable.verifiers.registry import find_verifier

SHAPE = {"right": {"kind": "correct"}, "form": {"kind": "format", "weight": 0.2}, "tags": {"kind": "tags"}}


class Told:
    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    found = Told()
    monkeypatch.setattr(component_watch, "progress", lambda: found)
    return found


def watch_of(completions: list[str], prompts: int = 10, rollouts: int = 10, shape: object = SHAPE) -> ComponentWatch:
    """Return a watch over so many prompts, each of which got the completions in turn."""
    watch, judge = ComponentWatch(), find_verifier("number")
    for number in range(prompts):
        prompt = Prompt(f"What is {number}?", "number", {"answer": number, "reward": shape}, family="sums", form="sums")
        texts = [completions[index % len(completions)].format(number) for index in range(rollouts)]
        drawn = [
            (prompt, Rollout(prompt.question_id, "p", "s", 9, index, text, "stop", 3))
            for index, text in enumerate(texts)
        ]
        watch.add(drawn, [judge.score(text, prompt=prompt.text, spec=prompt.spec) for text in texts])
    return watch


def test_the_silent_format_reward_is_named_and_explained(told: Told) -> None:
    watch = watch_of(["<answer>{}</answer>", "<answer>123</answer>"])
    watch.tell()
    [warning] = told.warnings
    assert warning.startswith("sums: form is 0 in all 100 rollouts of 10 prompts of the pilot: it never fires")
    assert "'<answer>0</answer>'" in warning
    assert 'unless "strict" is false; the kind "tags" pays for each tag by itself' in warning
    assert not told.notes


def test_what_always_fires_is_noted(told: Told) -> None:
    watch_of(
        ["<think>\n.\n</think>\n<answer>\n{}\n</answer>\n", "<think>\n.\n</think>\n<answer>\n-1\n</answer>\n"]
    ).tell()
    assert [note.split(" is 1 in all 100 rollouts")[0] for note in told.notes] == ["sums: form", "sums: tags"]
    assert not told.warnings


def test_answers_that_can_all_be_read_are_no_news(told: Told) -> None:
    watch_of(["{}", "-1"], shape="binary").tell()
    assert told.warnings == told.notes == []
    watch_of(["?"], shape="binary").tell()
    assert [warning.split(" is 0 in all 100 rollouts")[0] for warning in told.warnings] == [
        "sums: correct",
        "sums: format",
    ]


def test_it_is_told_once(told: Told) -> None:
    watch = watch_of(["<answer>{}</answer>", "0"])
    watch.tell()
    watch.tell()
    assert len(told.warnings) == 1


@pytest.mark.parametrize(("prompts", "rollouts"), [(7, 50), (10, 9)])
def test_few_rollouts_or_prompts_say_nothing(told: Told, prompts: int, rollouts: int) -> None:
    watch_of(["{}"], prompts, rollouts).tell()
    assert told.warnings == told.notes == []


def test_rollouts_without_a_reward_say_nothing(told: Told) -> None:
    watch = watch_of(["<answer>{}</answer>", "0"], rollouts=9)
    prompt = Prompt("?", "number", {"answer": 1, "reward": SHAPE}, family="sums", form="sums")
    drawn = [(prompt, Rollout(prompt.question_id, "p", "s", 9, index, "", "stop", 3)) for index in range(50)]
    watch.add(drawn, [Score.unscored("broken")] * 50)
    watch.tell()
    assert told.warnings == []
