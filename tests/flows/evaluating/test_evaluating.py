"""Evaluations of policies with known rates: what is sampled, what is counted, and what a second one costs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.policies import find_policy
from learnable.data.storage.lock import hold_store
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.engines import use_engine
from learnable.flows.evaluating import process
from learnable.flows.evaluating.pipeline import run_evaluation
from learnable.flows.evaluating.process import main
from learnable.flows.evaluating.report import EvalReport
from learnable.flows.settings import CurateSettings, ServerSettings
from learnable.flows.settings.evaluation import EvalSettings
from learnable.train.results.evaluation import SEED_OFFSET, Evaluation, EvaluationSettings, read_evaluation
from tests.flows.rated_for_tests import RatedEngine, ask_rated, make_policy

TEXTS = [f"{family} {number}" for number in range(60) for family in ("sums", "words")]
RATES = dict(zip(TEXTS, np.random.default_rng(2).beta(0.4, 0.4, len(TEXTS)).tolist(), strict=True))
SIZE = 12


@dataclass(frozen=True)
class World:
    """A store with a curated set, made for the first of two policies."""

    folder: Path
    curated: Path

    def evaluate(self, dies_after: int | None = None, **changes: Any) -> tuple[EvalReport, list[RatedEngine]]:
        old, new = (str(self.folder / name) for name in ("old", "new"))
        better = {text: rate**0.5 for text, rate in RATES.items()}
        engines = [RatedEngine(old, RATES, dies_after), RatedEngine(new, better)]
        settings = {"policy": old, "group_size": SIZE, "k": 4, "workers": 0, **changes}
        with answered_by(engines[0], old), answered_by(engines[1], new):
            return run_evaluation(EvalSettings(str(self.curated), **settings)), engines

    def measure(
        self, run: str, dies_after: int | None = None, **changes: Any
    ) -> tuple[Evaluation, RatedEngine, list[dict[str, Any]]]:
        """Evaluate as a training in the folder `run` does, before it trains."""
        old, folder = str(self.folder / "old"), self.folder / "runs" / run
        folder.mkdir(parents=True, exist_ok=True)
        sampling = open_curated(self.curated).manifest.sampling
        settings = EvaluationSettings(
            str(self.curated), old, sampling, SIZE, 0, None, str(folder / "before.json"), store=str(self.store)
        )
        replace(settings, **changes).write(folder / "settings.json")
        engine, events = RatedEngine(old, RATES, dies_after), list[dict[str, Any]]()
        with answered_by(engine, old):
            main(folder / "settings.json", events.append)
        return read_evaluation(folder / "before.json"), engine, events

    @property
    def store(self) -> Path:
        return self.folder / "store"


@contextmanager
def answered_by(engine: RatedEngine, policy: str) -> Iterator[None]:
    with use_engine(engine, CurateSettings(policy=policy)):
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    old = make_policy(folder, "old")
    make_policy(folder, "new")
    settings = replace(ask_rated(folder, TEXTS, old), budget=SamplingBudget("fixed"), group_size=8, test_share=0.4)
    with use_engine(RatedEngine(old, RATES), settings):
        run_curation(settings)
    return folder


@pytest.fixture
def world(made: Path, tmp_path: Path) -> World:
    shutil.copytree(made, tmp_path / "copy")
    return World(tmp_path / "copy", tmp_path / "copy" / "store" / "curated" / "q")


def list_files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*.parquet")}


def without_costs(report: EvalReport) -> dict[str, Any]:
    plain = report.to_json()
    return {name: value for name, value in plain.items() if name not in ("seconds", "generated")}


def test_every_held_out_prompt_is_answered_anew_and_the_curation_s_rollouts_are_left_alone(world: World) -> None:
    store = world.folder / "store"
    before = list_files(store)
    report, [engine, _] = world.evaluate()
    curated = open_curated(world.curated)
    kept = set(curated.read("test")["prompt_id"].to_pylist())
    rejected = set(curated.read_rejected("test")["prompt_id"].to_pylist())
    assert len(kept) > 3
    assert len(rejected) > 3
    assert {prompt.prompt_id: prompt.part for prompt in report.prompts} == {
        **dict.fromkeys(kept, "kept"),
        **dict.fromkeys(rejected, "rejected"),
    }
    requested = {(r.prompt.prompt_id, r.group_size, r.first_index) for r in engine.requests}
    assert requested == {(name, size, 0) for name in kept | rejected for size in (SIZE, 1)}
    added = list_files(store) - before
    assert added
    assert {name.split("/")[0] for name in added} == {"evaluations"}
    assert report.generated == (SIZE + 1) * len(report.prompts) == report.tokens


def test_the_figures_are_those_of_the_completions(world: World) -> None:
    report, _ = world.evaluate()
    everything = report.figures[0]
    passes = [prompt.passes for prompt in report.prompts]
    assert everything.mean_reward.value == pytest.approx(sum(passes) / SIZE / len(passes))
    greedy = [prompt.greedy for prompt in report.prompts if prompt.greedy is not None]
    assert everything.greedy_reward.value == pytest.approx(sum(greedy) / len(passes))
    assert [(row.by, row.name) for row in report.figures] == [
        ("all", ""),
        ("part", "kept"),
        ("part", "rejected"),
        ("family", "sums"),
        ("family", "words"),
    ]
    alone, _ = world.evaluate(held_out="kept")
    assert {prompt.part for prompt in alone.prompts} == {"kept"}
    [kept] = [row for row in report.figures if row.name == "kept"]
    assert alone.figures[0].mean_reward == kept.mean_reward
    assert alone.generated == 0


@pytest.mark.parametrize("families", [("words",), ("words", "sums")])
def test_the_prompts_of_the_named_families_alone_are_answered(world: World, families: tuple[str, ...]) -> None:
    """A limit takes as many of them, and not of what would be measured without them."""
    report, [engine, _] = world.evaluate(families=families)
    curated = open_curated(world.curated)
    rows = [*curated.read("test").to_pylist(), *curated.read_rejected("test").to_pylist()]
    of_families = {row["prompt_id"] for row in rows if row["family"] in families}
    assert {request.prompt.prompt_id for request in engine.requests} == of_families
    assert {prompt.prompt_id for prompt in report.prompts} == of_families
    limited, _ = world.evaluate(families=families, limit=5)
    assert len(limited.prompts) == 5
    assert {prompt.family for prompt in limited.prompts} <= set(families)


def test_families_that_hold_out_no_prompts_are_refused(world: World) -> None:
    with pytest.raises(LearnableError, match="holds out no prompts"):
        world.evaluate(families=("sonnets",))


def test_a_second_evaluation_costs_nothing_and_a_larger_group_only_what_is_new(world: World) -> None:
    first, _ = world.evaluate()
    again, [engine, _] = world.evaluate()
    assert (again.generated, engine.requests) == (0, [])
    assert without_costs(again) == without_costs(first)
    larger, [engine, _] = world.evaluate(group_size=SIZE + 4)
    assert {(request.group_size, request.first_index) for request in engine.requests} == {(4, SIZE)}
    assert larger.generated == 4 * len(first.prompts)
    other, _ = world.evaluate(seed=1)
    assert other.generated == (SIZE + 1) * len(first.prompts)


def test_one_that_was_stopped_goes_on_where_it_was(world: World) -> None:
    with pytest.raises(InterruptedRunError, match=f"stopped: {5 * SIZE} new rollouts are safe"):
        world.evaluate(dies_after=5)
    rest, [engine, _] = world.evaluate()
    assert rest.generated == (SIZE + 1) * len(rest.prompts) - 5 * SIZE
    assert len(engine.requests) == 2 * len(rest.prompts) - 5
    shutil.rmtree(world.folder / "store" / "evaluations")
    assert without_costs(world.evaluate()[0]) == without_costs(rest)


def test_two_policies_are_compared_prompt_by_prompt(world: World, tmp_path: Path) -> None:
    old = str(world.folder / "old")
    report, engines = world.evaluate(policy=str(world.folder / "new"), against=old)
    assert report.against is not None
    assert [len(engine.requests) for engine in engines] == [2 * len(report.prompts)] * 2
    assert report.policy_id == find_policy(str(world.folder / "new")).policy_id
    assert report.against.policy_id == find_policy(old).policy_id
    change = report.against.changes[0]
    assert change.mean_reward.value == pytest.approx(
        report.figures[0].mean_reward.value - report.against.figures[0].mean_reward.value
    )
    assert change.mean_reward.low > 0
    assert report.against.verdict.startswith("held-out reward rose")

    alone, _ = world.evaluate()
    alone.write(tmp_path / "old.json")
    by_file, [engine, _] = world.evaluate(policy=str(world.folder / "new"), against=str(tmp_path / "old.json"))
    assert engine.requests == []
    assert by_file.against == report.against


def test_a_file_of_another_sampling_or_of_something_else_is_refused(world: World, tmp_path: Path) -> None:
    report, _ = world.evaluate(limit=2)
    assert len(report.prompts) == 2
    plain = report.to_json()
    plain["sampling"]["temperature"] = 0.5
    file = tmp_path / "cold.json"
    file.write_text(json.dumps(plain))
    with pytest.raises(LearnableError, match="was sampled otherwise"):
        world.evaluate(against=str(file))
    file.write_text(json.dumps({**report.to_json(), "prompts": []}))
    with pytest.raises(LearnableError, match="no prompt in common"):
        world.evaluate(limit=2, against=str(file))
    file.write_text("{}")
    with pytest.raises(LearnableError, match="is not what learnable eval --output wrote"):
        world.evaluate(against=str(file))


def test_without_greedy_completions_there_is_no_figure_of_them(world: World) -> None:
    report, [engine, _] = world.evaluate(greedy=False, limit=9)
    assert {request.group_size for request in engine.requests} == {SIZE}
    assert {prompt.greedy for prompt in report.prompts} == {None}
    assert report.to_json()["figures"][0]["greedy_reward"] == {"value": None, "low": None, "high": None}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": SIZE + 1}, f"`k` {SIZE + 1} is not among 1 to {SIZE}"),
        ({"held_out": "all"}, "known|kept"),
        ({"limit": 0}, "`limit` 0 is out of range: give 1 or more"),
        ({"confidence": 95.0}, "`confidence` 95 is out of range"),
        ({"policy": "/nowhere"}, "'/nowhere' does not exist"),
        ({"against": "/nowhere"}, "'/nowhere' does not exist"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_sampled(world: World, changes: Any, message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        world.evaluate(**changes)
    assert not (world.folder / "store" / "evaluations").exists()


def test_a_server_has_one_policy(world: World) -> None:
    server = ServerSettings(base_urls=("http://127.0.0.1:9/v1",))
    with pytest.raises(LearnableError, match="give that file to `against`"):
        world.evaluate(engine=server, against=str(world.folder / "new"))


def test_a_set_outside_a_store_needs_one(world: World, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    shutil.copytree(world.curated, alone)
    elsewhere = World(world.folder, alone)
    with pytest.raises(LearnableError, match="lies in no store: give `store`"):
        elsewhere.evaluate()
    report, _ = elsewhere.evaluate(store=str(tmp_path / "mine"))
    assert report.generated
    assert (tmp_path / "mine" / "evaluations" / "seed-0" / "rollouts").is_dir()


def test_the_report_is_plain_data(world: World) -> None:
    report, _ = world.evaluate()
    assert json.loads(json.dumps(report.to_json()))["prompts"][0] == asdict(report.prompts[0])


@pytest.mark.parametrize("held_out", ["kept", "pool"])
def test_a_training_measures_the_completions_that_an_evaluation_would(world: World, held_out: Any) -> None:
    found, engine, events = world.measure("first", held_out=held_out)
    assert {(r.group_size, r.first_index, r.seed) for r in engine.requests} == {
        (size, 0, SEED_OFFSET) for size in (SIZE, 1)
    }
    total = len(found.prompts) * (SIZE + 1)
    assert [(event["done"], event["total"]) for event in events[-1:]] == [(total, total)]
    done = [event["done"] for event in events]
    assert done == sorted(done)
    assert found.tokens == total
    assert found.verifiers.keys() == {"choice"}

    report, [engine, _] = world.evaluate(held_out=held_out)
    assert engine.requests == []
    assert (report.generated, report.tokens, tuple(report.prompts)) == (0, total, found.prompts)


def test_a_second_training_generates_nothing_and_one_after_an_evaluation_neither(world: World) -> None:
    world.evaluate(group_size=SIZE + 4)
    for name in ("first", "second"):
        found, engine, events = world.measure(name)
        assert engine.requests == []
        assert [event["event"] for event in events] == ["rollouts"]
        assert {one.n for one in found.prompts} == {SIZE}


def test_a_training_that_was_stopped_in_its_evaluation_goes_on(world: World) -> None:
    with pytest.raises(InterruptedRunError):
        world.measure("first", dies_after=3)
    found, engine, _ = world.measure("first")
    assert len(engine.requests) == 2 * len(found.prompts) - 3
    shutil.rmtree(world.store / "evaluations")
    assert world.measure("again")[0].prompts == found.prompts


def test_a_store_in_use_is_waited_for_briefly_and_a_run_then_keeps_its_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PATIENCE", 0.0)
    shared = world.store / "evaluations" / "seed-0"
    with hold_store(shared, wait=0), hold_store(world.store, wait=0):
        found, engine, events = world.measure("first")
    assert len(engine.requests) == 2 * len(found.prompts)
    [note] = [event["message"] for event in events if event["event"] == "note"]
    assert "held-out completions are kept in" in note
    assert "is in use by process" in note
    assert not (shared / "rollouts").exists()
    again, engine, _ = world.measure("first")  # where it began
    assert (again.prompts, engine.requests) == (found.prompts, [])
    assert world.measure("second")[1].requests


@pytest.mark.parametrize("is_there", [True, False])
def test_completions_that_the_store_cannot_take_lie_beside_the_output(world: World, is_there: bool) -> None:
    if is_there:
        (world.store / "evaluations").touch()
    _, engine, _ = world.measure("first", store=str(world.store) if is_there else "")
    assert engine.requests
    assert (world.folder / "runs" / "first" / "evaluations" / "seed-0" / "rollouts").is_dir()


def test_one_completion_a_prompt_is_a_group_too(world: World) -> None:
    found, _, _ = world.measure("first", group_size=1, limit=4)
    assert [one.n for one in found.prompts] == [1] * 4
