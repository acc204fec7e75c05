"""Held out means held out: no problem is on both sides of a split, and no side is empty without a word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from learnable.data.progress import Silence, watched_by
from learnable.data.records import Prompt
from learnable.flows.curation import steps
from learnable.flows.curation.steps import read_prompts
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.verifiers.families.prompts import builtin_prompts
from tests.support.domains import needs_poems


class Listener(Silence):
    """Keeps what was warned of."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def read(**wanted: Any) -> list[Prompt]:
    return read_prompts(CurateSettings(prompts=PromptSettings(**wanted))).prompts


def both_sides(prompts: list[Prompt], what: Callable[[Prompt], object]) -> tuple[int, int]:
    """Return how many held-out prompts there are, and of how many of them what they are about is in train."""
    train = {json.dumps(what(p), sort_keys=True) for p in prompts if p.split == "train"}
    test = [json.dumps(what(p), sort_keys=True) for p in prompts if p.split == "test"]
    return len(test), sum(name in train for name in test)


@pytest.mark.parametrize(
    ("family", "what"),
    [
        ("programs", lambda p: p.spec["cases"]),
        ("code", lambda p: p.spec["cases"]),
        pytest.param("poetry", lambda p: p.spec, marks=needs_poems),
        ("arithmetic", lambda p: p.problem_id),
        ("counting", lambda p: p.problem_id),
        ("comparison", lambda p: p.problem_id),
        ("parity", lambda p: p.problem_id),
        ("mixed", lambda p: p.problem_id),
    ],
)
def test_no_held_out_prompt_has_its_problem_in_train(family: str, what: Callable[[Prompt], object]) -> None:
    held_out, leaked = both_sides(read(families=(family,), limit=512), what)
    assert 60 < held_out < 150
    assert leaked == 0


def test_a_sum_in_other_words_is_the_same_problem(tmp_path: Path) -> None:
    drawn = builtin_prompts(["Addition"], limit=200, knobs={"arithmetic.largest": "7"})
    rows = [{"prompt": p.text, "verifier": p.verifier, "spec": p.spec, "problem": p.problem_id} for p in drawn]
    prompts = read(location=write(tmp_path, rows), split_by="problem")
    sides: dict[tuple[str, ...], set[str]] = {}
    for prompt in prompts:
        sides.setdefault(tuple(sorted(re.findall(r"\d+", prompt.text))), set()).add(prompt.split)
    assert len(sides) < len(prompts) - 20
    assert all(len(found) == 1 for found in sides.values())
    assert {side for found in sides.values() for side in found} == {"train", "test"}


def write(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / "q.jsonl"
    path.write_text("".join(json.dumps({"verifier": "choice", "answer": "yes"} | row) + "\n" for row in rows))
    return str(path)


def test_a_named_column_says_what_is_one_problem(tmp_path: Path) -> None:
    rows = [{"prompt": f"question {n}", "extra": {"group": n % 30}} for n in range(300)]
    prompts = read(location=write(tmp_path, rows), split_by="extra.group")
    held_out, leaked = both_sides(prompts, lambda p: p.columns["extra"]["group"])
    assert held_out > 0
    assert leaked == 0
    assert len({p.problem_id for p in prompts}) == 30


def test_rows_that_name_no_problem_are_problems_of_their_own(tmp_path: Path) -> None:
    rows = [{"prompt": f"question {n}", "group": "" if n % 2 else None} for n in range(20)]
    assert len({p.problem_id for p in read(location=write(tmp_path, rows), split_by="group")}) == 20


def test_near_duplicates_that_stay_are_on_one_side(tmp_path: Path) -> None:
    words = [" ".join(f"w{'abcdefghij'[(n * 7 + i) % 10]}{chr(97 + n % 26)}x{i}" for i in range(40)) for n in range(40)]
    rows = [{"prompt": f"{text} {end}", "about": text} for text in words for end in ("now", "then")]
    held_out, leaked = both_sides(read(location=write(tmp_path, rows)), lambda p: p.columns["about"])
    assert held_out > 0
    assert leaked == 0


def test_a_prompt_stays_on_its_side_where_the_file_grows(tmp_path: Path) -> None:
    rows = [{"prompt": f"question {n}"} for n in range(400)]
    small = {p.prompt_id: p.split for p in read(location=write(tmp_path, rows[:50]))}
    large = {p.prompt_id: p.split for p in read(location=write(tmp_path, rows))}
    assert set(small.values()) == {"train", "test"}
    assert small.items() <= large.items()


def test_what_was_dropped_is_on_the_side_of_what_it_repeats(tmp_path: Path) -> None:
    rows = [{"prompt": f"{mark} question {n}{end}"} for n in range(40) for mark, end in (("A", ""), ("a", " !"))]
    wanted = PromptSettings(location=write(tmp_path, rows), near_duplicates=0.9)
    pool = read_prompts(CurateSettings(prompts=wanted))
    sides = {p.prompt_id: p.split for p in pool.prompts}
    repeats = dict(pool.dropped.select("prompt_id", "collides_with").iter_rows())
    assert len(pool.dropped_prompts) == 40
    assert {p.split for p in pool.dropped_prompts} == {"train", "test"}
    assert all(p.split == sides[repeats[p.prompt_id]] for p in pool.dropped_prompts)


@pytest.mark.parametrize(("rows", "said"), [(3, 0), (4, 1)])
def test_a_limit_reads_so_much_of_the_hub_and_says_so(rows: int, said: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "READ_AHEAD", 3)
    monkeypatch.setattr(steps, "file_prompts", lambda *_: builtin_prompts(families=("arithmetic",), limit=rows))
    settings = CurateSettings(prompts=PromptSettings(location="org/name", limit=2))
    with watched_by(listener := Listener()):
        assert len(read_prompts(settings).prompts) == 2
    assert sum("draws from the first 3 rows of org/name" in text for text in listener.warnings) == said


def warnings_of(settings: CurateSettings) -> list[str]:
    with watched_by(listener := Listener()):
        read_prompts(settings)
    return [text for text in listener.warnings if "held out" in text]


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"forms": ("IsEven",)}, "the 6 prompts are one problem"),
        ({"families": ("arithmetic",), "limit": 1}, "there is one prompt"),
    ],
)
def test_where_nothing_can_be_held_out_it_is_said_before_anything_is_paid(wanted: dict[str, Any], why: str) -> None:
    [said] = warnings_of(CurateSettings(prompts=PromptSettings(**wanted)))
    assert f"nothing is held out, for {why}" in said
    assert "`split_by`" in said
    assert not warnings_of(CurateSettings(prompts=PromptSettings(**wanted), test_share=0.0))


@pytest.mark.parametrize("limit", range(2, 9))
def test_a_small_limit_leaves_no_side_empty(limit: int) -> None:
    assert {p.split for p in read(families=("arithmetic",), limit=limit)} == {"train", "test"}
