"""What version 0.1.0 wrote opens, and what it wrote then is written now: stores, manifests, reports and `--json`.

`written_before` was made with the commit before the folders were arranged anew: a curation of 48 prompts by a policy
with known rates, its refresh for a second policy, and what the commands in `commands.json` printed. The counts of
its plan are renewed, since priors are fitted to the end today.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from learnable.cli.app import app
from learnable.data.curated.curated_set import find_versions, open_curated
from learnable.data.records import weights_id
from learnable.data.storage.weights import hash_as_earlier
from learnable.flows.curation.pipeline import run_pipeline
from learnable.flows.engines import use_engine
from learnable.flows.refreshing.pipeline import run_refresh
from learnable.flows.refreshing.pool import RefreshSettings, open_pool
from learnable.flows.settings import CurateSettings
from tests.flows.rated_for_tests import RatedEngine, ask_rated, drifted
from tests.support.figures import FIT_TOLERANCE, check_same_figures, check_same_keys

WRITTEN = Path(__file__).with_name("written_before")
COMMANDS: dict[str, list[str]] = json.loads((WRITTEN / "commands.json").read_text())
TEXTS = [f"{family} {number}" for number in range(24) for family in ("sums", "words")]
RATES = np.clip(np.random.default_rng(5).beta(0.3, 0.3, len(TEXTS)), 1e-6, 1 - 1e-6)
VARYING = (
    (re.compile(r"\d{8}T\d{6}-[0-9a-f]{6}"), "RUN"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"), "TIME"),
    (re.compile(r'"[0-9a-f]{64}"'), '"SHA256"'),
    (re.compile(r'"choice": "\d+"'), '"choice": "VERSION"'),  # it takes fewer hedges for answers since version 3
)
MEASURED = ("seconds", "tokens_per_second", "bytes")
OTHERWISE = ("shelf_life",)  # took the prompts of a refresh for independent
SPLIT = ("train", "test", "control", "demonstrations")  # by problem today, by text before: the pool is the same
RENAMED_COLUMNS = {
    "p_spread": "p_min_std",
    "learnability": "pass_variance",
    "learnability_expected": "expected_within_variance",
}
UNREAD = "extraction_failed: "  # how reasons begin today where there is no answer to judge
NEW_COLUMNS = (
    "problem_id",
    "extraction_failed_share",
    "lengths",  # keys of manifests
    "family_lengths",
    "preferences",  # a part
    "variance_share",
    "opening_n",
    "opening_mean",
    "opening_std",
    "rendered_prompt",
    "usable_groups_per_rollout",
    "reasoning",
    "reasoning_tokens",
    "knob_ranges",
    *(f"zero_std_at_{size}" for size in (2, 4, 8, 16, 32, 64)),
)
# Variances told of the sampler, which gives middling prompts more rollouts; now they tell of the pool.
CORRECTED = ("within_std", "between_std", "f_ratio", "intraclass", "explained")
REJUDGED = ("reward", "components", "reason")  # of poems: their verifier asks for more since version 5
# Learnability was p (1 - p) of graded means, and the forecast took rewards that are not tied to repeat.
CORRECTED_IN = {
    "graded": ("learnability", "forecast"),
    "form": ("declaration", "knobs_mean"),  # handbooks say more of a sonnet
    "verify-poems": ("mean_reward",),
}
DECIDED = {"simulated", "plan", "graded"}  # by another belief since
TOLERANCE_IN = {"graded": 1e-3}  # its priors were fitted to rewards of seven digits
NEW_FINDINGS = ("undecided_prompts",)
DROPPED_COLUMNS = {"cumulative_logprob", "round"}  # they were always null and 0
NEW_LEDGER_COLUMNS = {"reasoning", "reasoning_tokens"}


@pytest.fixture
def earlier_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give policies the ids of then, which rollouts, their random numbers and second chances hang on."""
    monkeypatch.setattr("learnable.data.policies.hash_folder", lambda folder, every_byte: hash_as_earlier(folder)[0])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what was written, where its paths lead to."""
    shutil.copytree(WRITTEN, tmp_path, dirs_exist_ok=True)
    for path in [*tmp_path.glob("store/curated/*/*/manifest.json"), *tmp_path.glob("reports/*.json")]:
        path.write_text(path.read_text().replace("FOLDER", str(tmp_path)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settle(text: str, corrected: Sequence[str] = ()) -> object:
    """Return JSON text as data, without what differs from run to run, or was wrong; the order of its keys stays."""
    read = json.loads(text, object_hook=lambda values: _without_measurements(values, corrected))
    text = json.dumps(read).replace(UNREAD, "")
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    for old, new in RENAMED_COLUMNS.items():
        text = text.replace(f'"{old}": "double"', f'"{new}": "double"')
    return json.loads(text)


def _without_measurements(values: dict[str, Any], corrected: Sequence[str]) -> dict[str, Any]:
    """Leave out what was measured, mended or split."""
    left_out = {*MEASURED, *OTHERWISE, *SPLIT, *CORRECTED, *corrected}
    if "findings" in values:
        values["findings"] = [row for row in values["findings"] if row["code"] not in NEW_FINDINGS]
    known = {key: value for key, value in values.items() if key not in NEW_COLUMNS}
    return {key: None if key in left_out else value for key, value in known.items()}


def rated(policy: str, rates: np.ndarray) -> RatedEngine:  # type: ignore[type-arg]
    return RatedEngine(policy, dict(zip(TEXTS, rates.tolist(), strict=True)))


def without_score(line: str) -> dict[str, Any]:
    """Return a scored line without what its poem is worth."""
    return {key: value for key, value in json.loads(line).items() if key not in REJUDGED}


def report_of(report: object) -> object:
    return report.to_json() if hasattr(report, "to_json") else report


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_print_what_they_printed(name: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app(COMMANDS[name])
    assert ended.value.code in (None, 0)
    before = (folder / "reports" / f"{name}.json").read_text()
    printed, printed_before = (settle(text, CORRECTED_IN.get(name, ())) for text in (capfd.readouterr().out, before))
    if name in DECIDED:
        check_same_keys(printed, printed_before)
        return
    check_same_figures(printed, printed_before, TOLERANCE_IN.get(name, FIT_TOLERANCE))
    for scores in folder.glob("*.out.jsonl"):
        before = (folder / "reports" / scores.name).read_text()
        if name == "verify-poems":
            assert list(map(without_score, scores.read_text().splitlines())) == list(
                map(without_score, before.splitlines())
            )
        else:
            assert scores.read_text().replace(UNREAD, "") == before


@pytest.mark.usefixtures("earlier_ids")
def test_a_curation_says_and_writes_what_it_said_and_wrote(folder: Path) -> None:
    settings = replace(ask_rated(Path(), TEXTS, "old"), policy=str(folder / "old"), store="fresh")
    with use_engine(rated(settings.policy or "", RATES), settings):
        report = json.dumps(report_of(run_pipeline(settings)))
    before = (folder / "reports" / "curate.json").read_text()
    check_same_keys(settle(report.replace("fresh/", "store/")), settle(before))
    after, before = folder / "fresh/curated/q/v0001", folder / "store/curated/q/v0001"
    check_same_manifest(after, before)
    assert whole_pool(after).schema == whole_pool(before).schema
    for table in ("rollouts", "scores"):
        before, after = (ledger_table(folder / store / table) for store in ("store", "fresh"))
        common = before.select("rollout_id").join(after.select("rollout_id"), on="rollout_id")
        assert common.height > before.height / 2
        now, then = (one.join(common, on="rollout_id", how="semi") for one in (after, before))
        assert set(now.columns) - set(then.columns) <= {"token_ids"}  # which only engines that tell of tokens fill
        assert now.select(then.columns).equals(then)


def test_a_store_of_before_is_not_sampled_again(folder: Path) -> None:
    """Another belief stops some groups later: those go on from where they stood."""
    settings = replace(ask_rated(Path(), TEXTS, "old"), policy=str(folder / "old"), store="store")
    engine = rated(settings.policy or "", RATES)
    with use_engine(engine, settings):
        report = run_pipeline(settings)
    assert all(request.first_index > 0 for request in engine.requests)
    assert weights_id(report.policy) != "e50c48832f9534cb"
    before, after = (
        pl.read_parquet(folder / f"store/curated/q/{version}/train*.parquet") for version in ("v0001", "v0003")
    )
    both = set(after["prompt_id"]) & set(before["prompt_id"])
    assert len(both) > 0.8 * before.height


@pytest.mark.usefixtures("earlier_ids")
def test_a_set_of_before_is_refreshed_as_it_was(folder: Path) -> None:
    written = folder / "written"
    shutil.move(folder / "store/curated/q/v0002", written)
    for table in ("rollouts", "scores"):
        [new] = [path for path in (folder / "store" / table).iterdir() if path.name == "e50c48832f9534cb"]
        shutil.rmtree(new)
    settings = RefreshSettings("store/curated/q", policy=str(folder / "new"), anchors=20, workers=0)
    with use_engine(rated(str(folder / "new"), drifted(RATES, 0.8, 0.3, seed=6)), open_pool(settings).settings):
        report = json.dumps(report_of(run_refresh(settings)))
    check_same_keys(settle(report), settle((folder / "reports" / "refresh.json").read_text()))
    check_same_manifest(folder / "store/curated/q/v0002", written)


def test_a_refreshed_set_of_before_opens(folder: Path) -> None:
    assert [path.name for path in find_versions("store/curated/q")] == ["v0001", "v0002"]
    pool = open_pool(RefreshSettings("store/curated/q", policy=str(folder / "new"), workers=0))
    assert isinstance(pool.settings, CurateSettings)
    rows = pl.DataFrame(open_curated("store/curated/q").read("train"))
    assert {"p_min_std", "p_keep"} <= set(rows.columns)
    assert "p_spread" not in rows.columns


def check_same_manifest(after: Path, before: Path) -> None:
    check_same_keys(*(settle((version / "manifest.json").read_text()) for version in (after, before)))


def whole_pool(version: Path) -> pl.DataFrame:
    """Return every row of a version, whichever part it is in, without what says on which side of the split it is."""
    shards = [pl.read_parquet(version / f"{part}-00000-of-00001.parquet") for part in ("train", "test", "rejects")]
    rows = pl.concat(shards, how="diagonal").rename(RENAMED_COLUMNS, strict=False)
    return rows.drop("split", *NEW_COLUMNS, strict=False).sort("prompt_id")


def ledger_table(folder: Path) -> pl.DataFrame:
    files = [path for path in folder.rglob("*.parquet") if "e50c48832f9534cb" not in str(path)]
    table = pl.concat([pl.read_parquet(path) for path in files], how="vertical_relaxed")
    if "reason" in table.columns:
        table = table.with_columns(pl.col("reason").str.strip_prefix(UNREAD))
    dropped = {*DROPPED_COLUMNS, *NEW_LEDGER_COLUMNS, "verifier_version"}  # `choice` has a newer one
    return table.drop(*dropped, strict=False).sort("rollout_id")
