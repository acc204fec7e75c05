"""A refresh on a policy with known rates: what is sampled again, what is published, what a second one costs."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from learnable.data.curated.curated_set import POOL_PARTS, CuratedSet, find_versions, open_curated
from learnable.data.curated.manifest import Manifest
from learnable.data.curated.refreshed import Origin
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.policies import bundled_policy_path
from learnable.data.progress import Silence, watched_by
from learnable.data.storage.places import find_place
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows import refresh as flow
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.engines import policy_for, use_engine
from learnable.flows.refreshing.pipeline import run_refresh
from learnable.flows.refreshing.pool import open_pool
from learnable.flows.refreshing.publishing import RefreshReport, describe
from learnable.flows.refreshing.resample import resample
from learnable.flows.run import Run, locked_store, new_run_id
from learnable.flows.scheduling.steps import Tries
from learnable.flows.settings import CurateSettings, RefreshSettings
from tests.flows.rated_for_tests import RatedEngine, ask_rated, drifted, make_policy
from tests.support.warm_starts import Starter

BUDGET = SamplingBudget()
TEXTS = [f"{family} {number}" for number in range(150) for family in ("sums", "words")]


@dataclass(frozen=True)
class World:
    """A curated set of an old policy, and what the new one can do."""

    settings: CurateSettings
    curated: str
    refreshing: RefreshSettings
    rates: dict[str, float]

    def refresh(
        self, settings: RefreshSettings | None = None, dies_after: int | None = None
    ) -> tuple[RefreshReport, RatedEngine]:
        settings = settings or self.refreshing
        engine = RatedEngine(str(settings.policy), self.rates, dies_after)
        with use_engine(engine, open_pool(settings).settings):
            return run_refresh(settings), engine


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("made"), shift=0.8, noise=0.3)


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    return copy_world(made, tmp_path / "copy")


def copy_world(world: World, folder: Path) -> World:
    old = Path(world.settings.store).parent
    shutil.copytree(old, folder)
    there = {
        key: str(folder / Path(str(getattr(world.refreshing, key))).relative_to(old)) for key in ("curated", "policy")
    }
    curated = str(folder / Path(world.curated).relative_to(old))
    settings = replace(world.settings, policy=str(folder / "old"), store=str(folder / "store"))
    return World(settings, curated, replace(world.refreshing, **there), world.rates)


def make_world(folder: Path, shift: float, noise: float, budget: SamplingBudget = BUDGET) -> World:
    rates = np.clip(np.random.default_rng(5).beta(0.3, 0.3, len(TEXTS)), 1e-6, 1 - 1e-6)
    settings = replace(ask_rated(folder, TEXTS, make_policy(folder, "old")), budget=budget)
    with use_engine(RatedEngine(str(settings.policy), dict(zip(TEXTS, rates, strict=True))), settings):
        curated = run_curation(settings).curated
    refresh = RefreshSettings(str(Path(curated).parent), policy=make_policy(folder, "new"), anchors=60, workers=0)
    moved = drifted(rates, shift, noise, seed=6)
    return World(settings, curated, refresh, dict(zip(TEXTS, moved.tolist(), strict=True)))


def run_flow(settings: RefreshSettings) -> RefreshReport:
    """Run the flow's function, its steps as they are."""
    with pytest.MonkeyPatch.context() as patch, watched_by(Silence()):
        patch.setattr(Tries, "as_task", lambda self, function: function)
        return flow.refresh.fn(settings)


def rows_of(curated: CuratedSet) -> pl.DataFrame:
    tables = [pl.DataFrame(curated.read(part)) for part in POOL_PARTS if curated.shards(part)]
    return pl.concat(tables, how="diagonal_relaxed")


def test_a_refresh_asks_few_and_agrees_with_the_truth(world: World) -> None:
    report, engine = world.refresh()
    changed, rows = report.refresh.changed, rows_of(open_curated(report.curated))
    resampled = {request.prompt.prompt_id for request in engine.requests}
    assert changed.prompts == rows.height == len(TEXTS)
    assert changed.resampled_share == round(len(resampled) / len(TEXTS), 4) < 0.5
    assert set(rows.filter(pl.col("certified_by") == "rollouts")["prompt_id"]) == resampled
    moved = rows.filter(pl.col("certified_by") == "moved")
    truth = moved["prompt"].replace_strict(world.rates, return_dtype=pl.Float64).is_between(0.2, 0.8)
    assert ((moved["decision"] == "keep") == truth).mean() > 0.88
    assert abs(moved["p_in_band"].mean() - truth.mean()) < 0.06
    assert 0.3 < np.mean([drift.shift for drift in report.refresh.drift]) < 1.3


def test_the_manifest_says_where_it_came_from_and_what_changed(world: World) -> None:
    before = rows_of(open_curated(world.curated))
    report, _ = world.refresh()
    curated = open_curated(world.refreshing.curated)
    manifest, after = curated.manifest, rows_of(curated)
    both = before.join(after, on="prompt_id", suffix="_after").with_columns(
        pl.col("decision", "decision_after") == "keep"
    )
    assert manifest.parent == "v0001"
    assert manifest.refresh is not None
    assert manifest.refresh.refreshed_from == Origin(
        version="v0001", policy=open_curated(world.curated).manifest.policy.policy_id
    )
    assert manifest.refresh.changed.keep_to_drop == both.filter(pl.col("decision") & ~pl.col("decision_after")).height
    assert manifest.refresh.changed.drop_to_keep == both.filter(~pl.col("decision") & pl.col("decision_after")).height
    assert manifest.refresh == report.refresh
    assert set(manifest.family_lengths or ()) == set(before["family"])
    still = both.filter("decision")["prompt"].replace_strict(world.rates, return_dtype=pl.Float64).is_between(0.2, 0.8)
    in_band = manifest.refresh.still_in_band
    assert in_band is not None
    assert in_band.low <= still.mean() <= in_band.high
    assert in_band.high - in_band.low < 0.3
    shown = curated.read("demonstrations")
    assert set(shown["completion"].to_pylist()) == {"yes"}
    kept_before = set(before.filter(pl.col("decision") == "keep")["prompt_id"])
    measured = after.filter(pl.col("prompt_id").is_in(list(kept_before)) | (pl.col("certified_by") == "rollouts"))
    has_one = measured.filter((pl.col("decision") == "keep") & (pl.col("split") == "train"))
    assert set(shown["prompt_id"].to_pylist()) == set(has_one["prompt_id"])
    pairs = curated.read("preferences")
    assert set(zip(pairs["chosen"].to_pylist(), pairs["rejected"].to_pylist(), strict=True)) == {("yes", "no")}
    assert set(pairs["prompt_id"].to_pylist()) == set(has_one["prompt_id"])
    assert pairs.schema.equals(open_curated(world.curated).read("preferences").schema)


def test_a_refresh_says_what_it_said() -> None:
    """The keys and figures of `--json`, in their order, as they are pinned."""
    tests = Path(__file__).parents[2]
    plain = json.loads((tests / "data/curated/compatibility/refreshed_manifest.json").read_text())
    said = json.loads((tests / "flows/refreshing/compatibility/refresh_report.json").read_text())
    curated = CuratedSet(find_place(said["curated"]), Manifest.from_json(plain))
    report = describe(curated, generated=said["totals"]["generated"], seconds=said["seconds"]).to_json()
    assert json.dumps(report | {"curated": said["curated"]}) == json.dumps(said)


def test_a_second_refresh_generates_nothing_and_publishes_nothing(world: World) -> None:
    first, _ = world.refresh()
    again, idle = world.refresh()
    assert again.curated == first.curated
    assert again.totals.generated == len(idle.requests) == 0
    from_the_first, idle = world.refresh(replace(world.refreshing, curated=world.curated))
    assert from_the_first.curated == first.curated
    assert len(idle.requests) == 0
    assert len(find_versions(world.refreshing.curated)) == 2


def test_an_interrupted_refresh_goes_on_and_ends_the_same(tmp_path: Path, world: World) -> None:
    whole, _ = copy_world(world, tmp_path / "other").refresh()
    for stop in (20, 40):  # among the anchors, and after them
        with pytest.raises(InterruptedRunError, match="the same command goes on"):
            world.refresh(dies_after=stop)
        assert len(find_versions(world.refreshing.curated)) == 1
    rest, _ = world.refresh()
    columns = ["prompt_id", "decision", "certified_by", "p_keep"]
    ours, theirs = (rows_of(open_curated(r.curated)).select(columns).sort("prompt_id") for r in (rest, whole))
    assert ours.equals(theirs)
    assert rest.totals.generated < whole.totals.generated


def test_a_set_for_this_very_policy_has_nothing_to_refresh(world: World) -> None:
    with pytest.raises(LearnableError, match=r"nothing to refresh: .*the policy of `policy`"):
        world.refresh(replace(world.refreshing, policy=world.settings.policy))


def test_a_deployment_looks_for_other_weights_and_ends_well(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    unmoved = replace(world.refreshing, policy=world.settings.policy)
    with use_engine(RatedEngine(str(unmoved.policy), world.rates), open_pool(unmoved).settings):
        with pytest.raises(LearnableError, match="nothing to refresh"):
            run_flow(unmoved)
        monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__ID", "a-deployment")
        ended: Any = run_flow(unmoved)
    assert (ended.name, ended.is_completed()) == ("Unmoved", True)
    assert len(find_versions(world.refreshing.curated)) == 1


def test_a_version_is_told_of_by_the_run_that_published_it_alone(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    report, _ = world.refresh()
    shown: list[tuple[str, str]] = []
    monkeypatch.setattr(flow, "show_version", lambda curated, run_id, *_: shown.append((curated, run_id)))
    later = replace(world.refreshing, policy=make_policy(Path(world.curated).parent, "later"))
    for settings in (world.refreshing, replace(world.refreshing, curated=world.curated), later, later):
        engine = RatedEngine(str(settings.policy), world.rates)
        with use_engine(engine, open_pool(settings).settings):
            made = run_flow(settings)
    assert shown[0] == shown[1] == (report.curated, "")
    assert shown[2] == (made.curated, made.run_id)
    assert shown[3] == (made.curated, "")


def test_a_chain_of_refreshes_goes_on_from_moved_rows(tmp_path: Path, world: World) -> None:
    world.refresh()
    third = replace(world.refreshing, policy=make_policy(tmp_path, "third"))
    report, _ = world.refresh(third)
    assert Path(report.curated).name == "v0003"
    assert report.refresh.refreshed_from.version == "v0002"
    assert report.refresh.changed.prompts == len(TEXTS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": None}, "`policy` is missing"),
        ({"anchors": 0}, "`anchors` 0"),
    ],
)
def test_settings_that_cannot_work_say_so(world: World, change: dict[str, object], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        replace(world.refreshing, **change)  # type: ignore[arg-type]


def test_a_set_without_certificates_says_so(world: World) -> None:
    manifest = Path(world.curated) / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"beliefs"', '"opinions"'))
    with pytest.raises(LearnableError, match="has no beliefs: its prompts are not certified"):
        world.refresh()


def test_a_policy_that_is_nowhere_is_named(world: World) -> None:
    with pytest.raises(LearnableError, match="policy '/nowhere' does not exist"):
        run_refresh(replace(world.refreshing, policy="/nowhere"))


def test_a_preset_chooses_among_measured_and_moved_rows_together(world: World) -> None:
    """The set is as its manifest says: the best 30 of all that the band keeps, measured or moved."""
    manifest = Path(world.curated) / "manifest.json"
    whole = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(whole | {"preset": whole["preset"] | {"top": 30, "top_of": "kept"}}))
    report, _ = world.refresh()
    rows = rows_of(open_curated(report.curated))
    assert report.totals.kept == 30
    kept, spare = (rows.filter(pl.col("decision") == name) for name in ("keep", "over_quota"))
    assert spare.height > 10
    assert kept["expected_within_variance"].min() >= spare["expected_within_variance"].max()
    assert set(kept["certified_by"]) == {"rollouts", "moved"}


def test_fixed_groups_stay_fixed(tmp_path: Path) -> None:
    folder = tmp_path / "fixed"
    folder.mkdir()
    world = make_world(folder, shift=0.5, noise=0.3, budget=SamplingBudget(sampling="fixed"))
    _, engine = world.refresh()
    assert {(request.first_index, request.group_size) for request in engine.requests} == {(0, 16)}
    rows = rows_of(open_curated(world.refreshing.curated))
    measured = rows.filter(pl.col("certified_by") == "rollouts")
    kept = measured["mean"].is_between(0.2, 0.8) & (measured["std"] >= 0.1)
    assert ((measured["decision"] == "keep") == kept).all()


@pytest.mark.e2e
def test_the_command_refreshes_for_a_policy_whose_weights_have_moved(tmp_path: Path, starter: Starter) -> None:
    """Real vLLM: the bundled policy, and a copy whose matrices are shaken a little."""
    short = ("--max-tokens", "16", "--store", str(tmp_path / "store"))
    first = run_learnable(starter, "find", "--family", "arithmetic", "--limit", "80", *short, "--no-prefect")
    policy = shake(tmp_path / "shaken")
    command = ("refresh", "--curated", first["curated"], "--policy", str(policy), "--anchors", "20")
    report = run_learnable(starter, *command)
    assert Path(report["curated"]).name == "v0002"
    assert report["changed"]["prompts"] == 80
    assert report["totals"]["generated"] > 0
    assert run_learnable(starter, *command, "--no-prefect")["curated"] == report["curated"]


def shake(folder: Path) -> Path:
    """Copy the bundled policy with a little noise in every matrix."""
    import torch
    from safetensors.torch import load_file, save_file

    shutil.copytree(bundled_policy_path(), folder)
    torch.manual_seed(0)
    weights = load_file(folder / "model.safetensors")
    moved = {
        name: value + 0.03 * value.std() * torch.randn_like(value) for name, value in weights.items() if value.ndim > 1
    }
    save_file(weights | moved, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def run_learnable(starter: Starter, *arguments: str) -> dict[str, Any]:
    done = starter.run([sys.executable, "-m", "learnable", *arguments, "--json"])
    assert done.returncode == 0, done.stderr[-3000:]
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_what_else_the_ledger_holds_changes_no_answer(world: World) -> None:
    """Or a refresh that goes on would learn another drift from its anchors than it did at first."""
    pool = open_pool(world.refreshing)
    prompts = list(pool.prompts.values())[:30]
    more = replace(pool.settings, budget=SamplingBudget(sampling="fixed"), group_size=40)
    engine = RatedEngine(str(world.refreshing.policy), world.rates)
    decided = []
    with use_engine(engine, pool.settings), locked_store(pool.settings) as store:
        for settings in (pool.settings, more, pool.settings):
            run = Run(new_run_id(), settings, policy_for(settings), store)
            decided.append(resample(run, prompts).decided)
    assert decided[1]["n"].min() == 40 > decided[0]["n"].min()
    assert decided[2].equals(decided[0])
