"""Parts of rewards that never fire, or always do, are named and explained after the pilot, and only once."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
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


def stored_text(prompt: Prompt, rollout_id: str) -> str:
    return f"the stored {rollout_id} of {prompt.text}"


def watch_of(completions: list[str], prompts: int = 10, rollouts: int = 10, shape: object = SHAPE) -> ComponentWatch:
    """Return a watch over so many prompts, each of which got the completions in turn."""
    watch, judge = ComponentWatch(stored_text), find_verifier("number")
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
    assert warning.startswith("sums: form is 0 in all 100 rollouts of 10 prompts so far: it never fires")
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


def stored_scores(components: list[dict[str, float]], prompts: int = 10) -> tuple[dict[str, Prompt], pl.DataFrame]:
    """Return prompts, each with a score of each of these components, and one without a reward."""
    spec = {"answer": 1, "reward": SHAPE}
    found = [Prompt(f"What is {n}?", "number", spec, family="sums", form="sums") for n in range(prompts)]
    rows = [
        (prompt.prompt_id, f"r{number}", 0.0, [{"key": key, "value": value} for key, value in each.items()])
        for prompt in found
        for number, each in enumerate(components)
    ]
    rows.append((found[0].prompt_id, "broken", None, [{"key": "form", "value": 1.0}]))
    parts = pl.List(pl.Struct({"key": pl.String, "value": pl.Float64}))
    schema = {"prompt_id": pl.String, "rollout_id": pl.String, "reward": pl.Float64, "components": parts}
    return {prompt.prompt_id: prompt for prompt in found}, pl.DataFrame(rows, schema, orient="row")


def test_scores_of_earlier_runs_are_seen(told: Told) -> None:
    watch = ComponentWatch(stored_text)
    watch.add_stored(*stored_scores([{"form": 0.0, "tags": 0.5, "right": float(value % 2)} for value in range(10)]))
    watch.tell()
    [warning] = told.warnings
    assert warning.startswith("sums: form is 0 in all 100 rollouts of 10 prompts so far: it never fires")
    assert "reads 'the stored r0 of What is 0?'" in warning
    assert not told.notes


def test_what_an_earlier_run_moved_is_not_constant(told: Told) -> None:
    watch = watch_of(["<answer>{}</answer>", "0"])
    watch.add_stored(*stored_scores([{"form": 1.0}], prompts=1))
    watch.tell()
    assert told.warnings == told.notes == []


def test_a_run_that_looks_again_is_told_what_is_new_alone(told: Told) -> None:
    named: set[tuple[str, str]] = set()
    for parts in ({"form": 0.0}, {"form": 0.0, "tags": 0.0}):
        watch = ComponentWatch(stored_text, named)
        watch.add_stored(*stored_scores([parts] * 10))
        watch.tell()
    assert [warning.split(" is 0")[0] for warning in told.warnings] == ["sums: form", "sums: tags"]


def test_a_reward_s_only_format_part_is_said_to_stop_training(told: Told) -> None:
    only = {"right": {"kind": "correct"}, "form": {"kind": "pattern", "pattern": "^<a>\n"}}
    watch_of(["{}", "-1"], shape=only).tell()
    [warning] = told.warnings
    assert "(its pattern ^<a>\\n has to match from the first character on)" in warning
    assert warning.endswith("so training needs `allow_silent_reward`")
    watch_of(["<answer>{}</answer>", "0"]).tell()  # there the tags are looked at too
    assert "`allow_silent_reward`" not in told.warnings[1]
