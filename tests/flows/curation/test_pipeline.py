"""The curation's steps in order, on a scripted engine: what is kept, what is reused, what survives an interrupt."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.progress import Silence, watched_by
from learnable.data.records import Sampling
from learnable.data.store import Store
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.protocol import Answer, GroupRequest
from learnable.rollouts.scripted import ScriptedEngine

SCRIPT = {"always": ["yes"], "never": ["no"], **{f"sometimes {i}": ["yes", "no"] for i in range(8)}}


class CountingEngine(ScriptedEngine):
    """Keeps the requests that it gets."""

    policy_id = ""

    def __init__(self, script: dict[str, list[str]], policy_id: str) -> None:
        super().__init__(script)
        self.policy_id = policy_id
        self.requests: list[GroupRequest] = []

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        listed = list(requests)
        self.requests.extend(listed)
        return super().generate(listed, sampling)


class InterruptedEngine(CountingEngine):
    """Is stopped by Ctrl-C after three groups."""

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        for number, group in enumerate(super().generate(requests, sampling)):
            if number == 3:
                raise KeyboardInterrupt
            yield group


@pytest.fixture
def settings(tmp_path: Path) -> CurateSettings:
    policy = tmp_path / "policy"
    policy.mkdir()
    (policy / "config.json").write_text("{}")
    (policy / "model.safetensors").write_bytes(b"weights")
    rows = [{"prompt": text, "answer": "yes", "verifier": "choice", "form": text.split()[0]} for text in SCRIPT]
    (tmp_path / "q.jsonl").write_text("\n".join(json.dumps(row) for row in [*rows, rows[0]]))
    return CurateSettings(
        prompts=PromptSettings(location=str(tmp_path / "q.jsonl")),
        policy=str(policy),
        store=str(tmp_path / "store"),
        budget=SamplingBudget("fixed"),
        workers=0,
        test_share=0.25,
    )


@pytest.fixture
def engine_of(settings: CurateSettings) -> Callable[..., CountingEngine]:
    from learnable.data.policies import find_policy

    return lambda kind=CountingEngine: kind(SCRIPT, find_policy(settings.policy).policy_id)


def test_only_prompts_with_variance_are_kept(
    settings: CurateSettings, engine_of: Callable[..., CountingEngine]
) -> None:
    with use_engine(engine_of(), settings):
        report = run_curation(settings)
    assert report.totals.decisions == {"keep": 8, "too_easy": 1, "too_hard": 1}
    assert report.totals.duplicates == 1
    assert report.totals.rollouts == 160
    curated = open_curated(report.curated)
    kept = pl.concat([pl.DataFrame(curated.read("train")), pl.DataFrame(curated.read("test"))])
    assert set(kept["prompt"]) == {text for text in SCRIPT if text.startswith("sometimes")}
    rows = {name: part.rows for name, part in curated.manifest.parts.items()}
    assert rows["train"] == rows["control"] == 8 - rows["test"]
    assert 0 < rows["test"] < 8
    assert {row["prompt"]: row["decision"] for row in curated.read("rejects").to_pylist()} == {
        "always": "too_easy",
        "never": "too_hard",
    }
    shown = curated.read("demonstrations").to_pylist()
    assert {row["completion"] for row in shown} == {"yes"}
    assert [row["prompt_id"] for row in shown] == curated.read("train")["prompt_id"].to_pylist()
    pairs = curated.read("preferences").to_pylist()
    assert [row["prompt_id"] for row in pairs] == curated.read("train")["prompt_id"].to_pylist()
    ends = ("chosen", "rejected", "chosen_reward", "rejected_reward", "margin")
    assert {tuple(row[name] for name in ends) for row in pairs} == {("yes", "no", 1.0, 0.0, 1.0)}


def test_a_second_run_pays_nothing_and_decides_the_same(
    settings: CurateSettings, engine_of: Callable[..., CountingEngine]
) -> None:
    with use_engine(engine_of(), settings):
        first = run_curation(settings)
    with use_engine(engine_of(), settings):
        second = run_curation(settings)
    idle = engine_of()
    with use_engine(idle, settings):
        grown = run_curation(replace(settings, group_size=20))
    assert second.curated == first.curated
    assert second.forms == first.forms
    assert {(request.first_index, request.group_size) for request in idle.requests} == {(16, 4)}
    assert grown.totals.rollouts == 200


def test_an_interrupt_loses_no_finished_group(
    settings: CurateSettings, engine_of: Callable[..., CountingEngine]
) -> None:
    broken = engine_of(InterruptedEngine)
    with use_engine(broken, settings), pytest.raises(InterruptedRunError, match="48 new rollouts are safe"):
        run_curation(settings)
    assert not Store(settings.store).curated.exists()
    again = engine_of()
    with use_engine(again, settings):
        report = run_curation(settings)
    assert len(again.requests) == len(SCRIPT) - 3
    assert report.totals.generated == 16 * len(again.requests)
    assert report.totals.decisions == {"keep": 8, "too_easy": 1, "too_hard": 1}


def test_worker_processes_score_as_the_caller_does(
    settings: CurateSettings, engine_of: Callable[..., CountingEngine], tmp_path: Path
) -> None:
    reports = []
    for workers in (0, 1):
        run = replace(settings, workers=workers, store=str(tmp_path / f"store-{workers}"))
        with use_engine(engine_of(), run):
            reports.append(run_curation(run).forms)
    assert reports[0] == reports[1]


def test_a_prompt_longer_than_the_context_is_skipped_and_named(
    settings: CurateSettings, engine_of: Callable[..., CountingEngine]
) -> None:
    class Listener(Silence):
        def __init__(self) -> None:
            self.warnings: list[str] = []

        def warn(self, text: str) -> None:
            self.warnings.append(text)

    engine, listener = engine_of(), Listener()
    engine.max_context = 2
    with use_engine(engine, settings), watched_by(listener):
        report = run_curation(settings)
    assert report.totals.decisions == {"not_scored": 8, "too_easy": 1, "too_hard": 1}
    assert any("8 prompts skipped" in text and "q.jsonl, line 3" in text for text in listener.warnings)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group_size": 1}, "`group_size` 1"),
        ({"test_share": 1.0}, "`test_share` 1"),
        ({"name": "../up"}, "`name` '../up'"),
        ({"sampling": Sampling(temperature=0)}, "`temperature` 0"),
        ({"sampling": Sampling(max_tokens=0)}, "`max_tokens` 0"),
    ],
)
def test_settings_that_cannot_work_say_so(settings: CurateSettings, change: dict[str, object], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        replace(settings, **change)  # type: ignore[arg-type]


def test_a_bad_spec_names_its_line(settings: CurateSettings, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"prompt": "2 + 2 = ", "verifier": "arithmetic", "spec": {"anser": 4}}\n')
    with pytest.raises(LearnableError, match=r"bad\.jsonl, line 1: .*answer"):
        run_curation(replace(settings, prompts=PromptSettings(location=str(tmp_path / "bad.jsonl"))))
