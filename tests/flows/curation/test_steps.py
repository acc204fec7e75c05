from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.data.progress import Silence, watched_by
from learnable.data.records import Prompt
from learnable.flows.curation.steps import DROPPED, read_prompts, screen
from learnable.flows.settings import CurateSettings, PromptSettings
from tests.support.domains import needs_poems


class Listener(Silence):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def sentence(seed: object, words: int = 40) -> str:
    rng = random.Random(f"{seed}")
    return " ".join("".join(rng.choices("abcdefghijklmnop", k=6)) for _ in range(words))


def ask(text: str) -> Prompt:
    return Prompt(text, "choice", {"answer": "A"}, "f", "F")


def write_items(path: Path, texts: Sequence[str]) -> str:
    path.write_text(
        "".join(json.dumps({"task_id": f"{path.stem}:{i}", "prompt": t}) + "\n" for i, t in enumerate(texts))
    )
    return str(path)


def test_contaminated_first_then_duplicates_of_what_is_left(tmp_path: Path) -> None:
    leaked, twice = sentence("leaked"), sentence("twice")
    prompts = [
        ask(leaked),
        ask(sentence("clean")),
        ask(twice),
        ask(f"{sentence('before', 9)} {leaked}"),
        ask(leaked.upper()),
        ask(twice + "!"),
        ask(twice.rsplit(" ", 1)[0]),
    ]
    sets = [
        write_items(tmp_path / "one.jsonl", [sentence("other"), leaked]),
        write_items(tmp_path / "two.jsonl", [sentence("before", 9) + " end"]),
    ]
    listener = Listener()
    with watched_by(listener):
        dropped = screen([*prompts, prompts[0]], sets)
    ids = [prompt.prompt_id for prompt in prompts]
    assert dropped.columns == list(DROPPED)
    assert dropped.select("prompt_id", "decision", "collides_with").rows() == [
        (ids[0], "contaminated", "one:one:1"),
        (ids[3], "contaminated", "one:one:1"),
        (ids[4], "contaminated", "one:one:1"),
        (ids[5], "duplicate", ids[2]),
        (ids[6], "duplicate", ids[2]),
    ]
    assert listener.notes == ["5 of 7 prompts dropped before any rollout: 3 contaminated (one 3), 2 duplicates"]


def test_no_prompt_is_the_duplicate_of_a_contaminated_one(tmp_path: Path) -> None:
    # The second is a near duplicate of the first, but has too little of the item itself.
    text = sentence("pool", 60)
    words = text.split()
    first, second = ask(text), ask(" ".join([*words[:20], "other", *words[21:]]))
    item = " ".join([sentence("x", 20), *words[14:27], sentence("y", 20)])
    dropped = screen([first, second], [write_items(tmp_path / "items.jsonl", [item])])
    assert dropped["prompt_id"].to_list() == [first.prompt_id]
    assert screen([first, second])["prompt_id"].to_list() == [second.prompt_id]


def test_near_duplicates_may_stay() -> None:
    prompts = [ask(sentence(1)), ask(sentence(1) + " more"), ask(sentence(1) + "?")]
    assert screen(prompts)["prompt_id"].to_list() == [prompts[1].prompt_id, prompts[2].prompt_id]
    assert screen(prompts, near=None)["prompt_id"].to_list() == [prompts[2].prompt_id]


def test_nothing_to_drop() -> None:
    listener = Listener()
    with watched_by(listener):
        assert screen([ask(sentence(1))]).rows() == []
    assert listener.notes == []


def test_a_missing_set_is_named() -> None:
    with pytest.raises(LearnableError, match=r"none\.jsonl"):
        screen([ask("x")], ["none.jsonl"])


@needs_poems
@pytest.mark.parametrize("knob", ["poetry.topics", "topics"])
@pytest.mark.parametrize("wording", ["plain", "natural"])
def test_poems_are_about_as_many_topics_as_the_knob_says(wording: str, knob: str) -> None:
    wanted = PromptSettings(forms=("haiku",), wording=wording, knobs={knob: "2"})
    pool = read_prompts(CurateSettings(prompts=wanted)).prompts
    assert len({prompt.spec["topic"] for prompt in pool}) == 2
    assert all(str(prompt.spec["topic"]) in prompt.text for prompt in pool)
