"""Answers in any order, a run cut short anywhere: every prompt gets the same rollouts, and nothing is paid twice."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from learnable.data.errors import InterruptedRunError
from learnable.data.policies import find_policy
from learnable.data.records import Sampling
from learnable.filters.stopping import schedule as module
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.protocol import Answer, EngineError, GroupRequest, Refusal
from learnable.rollouts.scripted import ScriptedEngine
from learnable.rollouts.settings import SimulatedSettings
from learnable.rollouts.simulated import SimulatedEngine
from tests.flows.questions_for_tests import ask

PROMPTS = 160


class Disorder(SimulatedEngine):
    """Has up to `slots` groups in flight and answers any of them next; `stop_after` groups, Ctrl-C; fails at times."""

    def __init__(self, seed: int, slots: int, stop_after: int | None = None, fail_every: int | None = None) -> None:
        super().__init__()
        self.rng, self.slots, self.stop_after, self.fail_every = random.Random(seed), slots, stop_after, fail_every
        self.answered: list[tuple[str, int, int]] = []
        self.in_flight: list[GroupRequest] = []

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        in_flight = self.in_flight = list[GroupRequest]()
        queue = iter(requests)
        while True:
            while len(in_flight) < self.slots and (request := next(queue, None)) is not None:
                in_flight.append(request)
            if not in_flight:
                return
            request = in_flight.pop(self.rng.randrange(len(in_flight)))
            if len(self.answered) == self.stop_after:
                raise KeyboardInterrupt
            self.answered.append((request.prompt.text, request.first_index, request.group_size))
            if self.fail_every and not len(self.answered) % self.fail_every:
                self.answered.pop()
                self.fail_every += 1
                raise EngineError("lost")
            yield from self.answer(request, sampling)

    def answer(self, request: GroupRequest, sampling: Sampling) -> Iterator[Answer]:
        return super().generate([request], sampling)

    @property
    def rollouts(self) -> set[tuple[str, int]]:
        return {(text, index) for text, first, size in self.answered for index in range(first, first + size)}

    @property
    def drawn(self) -> int:
        return sum(size for *_, size in self.answered)


@pytest.fixture(params=["passes", "graded", "families"])
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> CurateSettings:
    """Settings of the default mode, over a pool of several cohorts."""
    monkeypatch.setattr(module, "ROUND_ROLLOUTS", 120)
    monkeypatch.setattr("learnable.flows.sampling.engine_loop.NEWS", 3)
    monkeypatch.setattr("learnable.flows.sampling.engine_loop.FIRST_DELAY", 0.0)
    knobs = {"simulated.spread": "0.2"} if request.param == "graded" else {}
    if request.param == "families":
        rows = [
            {"prompt": f"task {i}", "verifier": "simulated", "spec": {"rate": i % 10 / 10}, "family": f"f{i % 2}"}
            for i in range(PROMPTS)
        ]
        (tmp_path / "prompts.jsonl").write_text("\n".join(map(json.dumps, rows)))
        prompts = PromptSettings(location=str(tmp_path / "prompts.jsonl"))
    else:
        prompts = PromptSettings(families=("simulated",), limit=PROMPTS, knobs=knobs)
    return CurateSettings(prompts=prompts, engine=SimulatedSettings(), store=str(tmp_path / "store"), workers=0)


def run(settings: CurateSettings, engine: Disorder) -> tuple[CurationReport, pl.DataFrame]:
    with use_engine(engine, settings):
        report = run_curation(settings)
    groups = pl.read_parquet(Path(settings.store) / "groups" / f"{report.run_id}.parquet")
    return report, groups.sort("prompt_id").select("prompt_id", "n", "mean", "decision", "p_in_band")


def test_the_order_of_answers_and_a_kill_anywhere_decide_nothing(settings: CurateSettings, tmp_path: Path) -> None:
    plain = Disorder(0, slots=1)
    _, expected = run(settings, plain)
    for seed, slots in ((1, 7), (2, 400)):
        store = replace(settings, store=str(tmp_path / f"store-{seed}"))
        first, rest = Disorder(seed, slots, stop_after=50 * seed), Disorder(seed, slots, fail_every=41)
        with pytest.raises(InterruptedRunError):
            run(store, first)
        report, groups = run(store, rest)
        assert groups.equals(expected)
        assert first.rollouts | rest.rollouts == plain.rollouts
        assert first.drawn + rest.drawn == plain.drawn
        idle = Disorder(seed, slots)
        again, same = run(store, idle)
        assert idle.answered == []
        assert again.curated == report.curated
        assert same.equals(expected)


class Eager(Disorder):
    """Has slots for more than the pool, so that blocks are made ahead from the first answer to the last."""

    @property
    def idle_slots(self) -> int:
        return 4 * (self.slots - len(self.in_flight))


def test_what_is_made_ahead_decides_nothing(settings: CurateSettings, tmp_path: Path) -> None:
    plain = Disorder(0, slots=1)
    _, expected = run(settings, plain)
    ahead = replace(settings, store=str(tmp_path / "ahead"))
    drawn = 0
    for seed, stop_after in enumerate((40, 170, 90, None)):
        engine = Eager(seed, slots=60, stop_after=stop_after, fail_every=53)
        if stop_after:
            with pytest.raises(InterruptedRunError):
                run(ahead, engine)
        else:
            report, groups = run(ahead, engine)
            assert groups.equals(expected)
        drawn += engine.drawn
    idle = Eager(0, slots=60)
    again, same = run(ahead, idle)
    assert idle.answered == []
    assert same.equals(expected)
    assert again.curated == report.curated
    unneeded = drawn - plain.drawn
    assert unneeded > 40, "nothing was made ahead"
    assert report.totals.unneeded == again.totals.unneeded == unneeded
    assert report.totals.rollouts == plain.drawn


class Refusing(Disorder):
    """Refuses some prompts from their second block on."""

    def answer(self, request: GroupRequest, sampling: Sampling) -> Iterator[Answer]:
        if request.first_index and not int(request.prompt.question_id[:4], 16) % 16:
            yield Refusal(request, "no")
            return
        yield from super().answer(request, sampling)


class EagerRefusing(Refusing, Eager):
    pass


def test_what_is_refused_ahead_of_any_need_is_given_up_when_it_is_needed(
    settings: CurateSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("learnable.flows.sampling.error_watch.MAX_ERRORS", 1.0)
    plain, expected = run(settings, Refusing(0, slots=1))
    assert plain.totals.errors
    ahead = replace(settings, store=str(tmp_path / "ahead"))
    assert run(ahead, EagerRefusing(1, slots=60))[1].equals(expected)


class Choosy(Disorder):
    """Answers yes or no, by what was asked alone."""

    def __init__(self, seed: int, settings: CurateSettings) -> None:
        super().__init__(seed, slots=400)
        self.policy_id = find_policy(settings.policy).policy_id  # type: ignore[misc]

    def answer(self, request: GroupRequest, sampling: Sampling) -> Iterator[Answer]:
        script = {request.prompt.text: ["yes"] + ["no"] * (len(request.prompt.text) % 4)}
        for group in ScriptedEngine(script).generate([request], sampling):
            assert isinstance(group, list)
            yield [replace(rollout, policy_id=self.policy_id) for rollout in group]


def test_prompts_that_share_a_question_share_its_rollouts_also_on_their_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROUND_ROLLOUTS", 120)
    settings = replace(ask(tmp_path, [], str(tmp_path / "store")), budget=SamplingBudget())
    rows = [
        {"prompt": f"task {'x' * (i % 80)}", "answer": ("yes", "no")[i // 80], "verifier": "choice"}
        for i in range(PROMPTS)
    ]
    Path(settings.prompts.location or "").write_text("\n".join(map(json.dumps, rows)))
    engine, idle = Choosy(1, settings), Choosy(1, settings)
    report, groups = run(settings, engine)
    assert report.totals.prompts == PROMPTS
    assert len(engine.rollouts) == engine.drawn < groups["n"].sum()
    assert run(settings, idle)[1].equals(groups)
    assert idle.answered == []
