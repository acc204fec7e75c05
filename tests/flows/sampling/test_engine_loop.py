"""An engine that fails is tried again for what is still missing; one that is gone stops the run; no error is a zero."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError, NothingAnsweredError
from learnable.data.policies import find_policy
from learnable.data.progress import Silence, watched_by
from learnable.data.records import Prompt, Sampling
from learnable.data.store import Store
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.engines import use_engine
from learnable.flows.sampling import engine_loop as rollout
from learnable.flows.sampling.missing import MissingRollouts
from learnable.flows.settings import CurateSettings
from learnable.rollouts.protocol import Answer, EngineError, GroupRequest, Refusal
from learnable.rollouts.scripted import ScriptedEngine
from tests.flows.questions_for_tests import ask

TEXTS = [f"question {number}" for number in range(12)]


class Shaky(ScriptedEngine):
    """Fails after every `good` groups, or for good after the first ones; refuses some prompts; counts its answers."""

    def __init__(self, policy_id: str, good: int, refused: frozenset[str] = frozenset()) -> None:
        super().__init__({text: ["yes", "no"] for text in TEXTS})
        self.policy_id = policy_id
        self.good, self.refused = good, refused
        self.dies = False
        self.answered: list[str] = []

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        for number, request in enumerate(requests):
            if number == self.good or (self.dies and len(self.answered) == self.good):
                raise EngineError("the device is gone")
            if request.prompt.text in self.refused:
                yield Refusal(request, "longer than the context")
                continue
            self.answered.append(request.prompt.text)
            yield from super().generate([request], sampling)


class Listener(Silence):
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CurateSettings:
    monkeypatch.setattr(rollout, "FIRST_DELAY", 0.0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return ask(tmp_path, TEXTS, str(tmp_path / "store"))


def shaky(settings: CurateSettings, good: int, refused: frozenset[str] = frozenset()) -> Shaky:
    return Shaky(find_policy(settings.policy).policy_id, good, refused)


def count_stored(settings: CurateSettings) -> int:
    return sum(pl.read_parquet(path).height for path in Path(settings.store).glob("rollouts/**/*.parquet"))


def test_an_engine_that_fails_is_sent_the_rest(settings: CurateSettings) -> None:
    engine, listener = shaky(settings, good=5), Listener()
    with use_engine(engine, settings), watched_by(listener):
        report = run_curation(settings)
    assert sorted(engine.answered) == sorted(TEXTS)
    assert report.totals.rollouts == 12 * 16 == count_stored(settings)
    assert report.totals.errors == 0
    assert [text for text in listener.warnings if "is tried again" in text] == [
        "the device is gone; the engine is tried again in 0 s for 7 groups",
        "the device is gone; the engine is tried again in 0 s for 2 groups",
    ]


def test_an_engine_that_is_gone_stops_the_run_and_costs_nothing(settings: CurateSettings) -> None:
    engine = shaky(settings, good=5)
    engine.dies = True
    with use_engine(engine, settings), pytest.raises(LearnableError) as stopped:
        run_curation(settings)
    assert "failed 4 times in a row, last with: the device is gone. 80 rollouts of this run are in" in str(
        stopped.value
    )
    assert "112 are still missing and were not scored: the same command goes on" in str(stopped.value)
    assert count_stored(settings) == 80
    assert not Store(settings.store).curated.exists()
    again = shaky(settings, good=99)
    with use_engine(again, settings):
        run_curation(settings)
    assert len(again.answered) == 7


def test_a_refused_prompt_is_missing_and_never_scored(settings: CurateSettings) -> None:
    engine = shaky(settings, good=99, refused=frozenset(TEXTS[:1]))
    with use_engine(engine, settings):
        report = run_curation(settings)
    assert report.totals.decisions["not_scored"] == 1
    assert report.totals.errors == 16
    assert report.totals.rollouts == 11 * 16 == count_stored(settings)
    [reject] = [row for row in open_curated(report.curated).read("rejects").to_pylist() if row["prompt"] == TEXTS[0]]
    assert (reject["decision"], reject["mean"], reject["n_engine_error"]) == ("not_scored", None, 16)
    willing = shaky(settings, good=99)
    with use_engine(willing, settings):
        run_curation(settings)
    assert willing.answered == TEXTS[:1]


@pytest.mark.parametrize("group_size", [2, 20])  # too few to judge, and 240 rollouts
def test_an_engine_that_refuses_everything_stops_the_run(settings: CurateSettings, group_size: int) -> None:
    settings = replace(settings, group_size=group_size)
    engine = shaky(settings, good=99, refused=frozenset(TEXTS))
    with use_engine(engine, settings), pytest.raises(NothingAnsweredError, match=r"none of .* \(.* x longer than the"):
        run_curation(settings)
    assert not Store(settings.store).curated.exists()


def test_a_pool_that_has_some_answers_is_decided_by_them(settings: CurateSettings) -> None:
    with use_engine(shaky(settings, good=99, refused=frozenset(TEXTS[1:])), settings):
        report = run_curation(replace(settings, group_size=2))
    assert report.totals.decisions["not_scored"] == 11


@pytest.mark.parametrize(("many", "times"), [(10, 1), (1000, 0)])
def test_large_requests_alone_are_set_aside(
    settings: CurateSettings, monkeypatch: pytest.MonkeyPatch, many: int, times: int
) -> None:
    """A round of a few thousand groups is garbage soon; what is set aside stays."""
    called: list[int] = []
    monkeypatch.setattr(rollout, "MANY", many)
    monkeypatch.setattr(rollout, "set_aside", lambda: called.append(1))
    with use_engine(shaky(settings, good=99), settings):
        run_curation(settings)
    assert len(called) == times


def test_what_is_set_aside_is_never_counted(settings: CurateSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting walks through all of it, once a round: a million prompts have thousands of rounds."""
    monkeypatch.setattr("gc.get_freeze_count", lambda: pytest.fail("all objects of the run were counted"))
    with use_engine(shaky(settings, good=99), settings):
        run_curation(settings)


def test_what_nobody_needs_is_not_awaited() -> None:
    is_over = False
    queue = rollout.RequestQueue(0, lambda: is_over)
    prompt = Prompt("question", "choice", {"choice": "yes"}, "f", "f")
    queue.add([MissingRollouts(prompt, first, 4, ahead=True) for first in (4, 8, 12)])
    assert next(queue).first_index == 4
    is_over = True
    with pytest.raises(rollout.NothingNeededError):
        next(queue)
    assert queue.drop() == 12
    with pytest.raises(StopIteration):
        next(queue)
