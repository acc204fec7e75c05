"""Checks before the first run, held-out prompts that are shared, and how far each run is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from learnable.data.errors import LearnableError
from learnable.train.ablation.planning import read_ablation
from learnable.train.ablation.preparing import PreparedAblation, find_state, prepare_ablation
from learnable.train.settings import TrainSettings

RUNS = '[[run]]\nname = "static"\n[[run]]\nname = "live"\nsampler = "live"\n'


@pytest.fixture
def prepare(make_curated: Any, tiny_policy: Path, tmp_path: Path) -> Callable[..., PreparedAblation]:
    curated = make_curated(tiny_policy)

    def prepare(text: str) -> PreparedAblation:
        file = tmp_path / "mine.toml"
        file.write_text(text)
        return prepare_ablation(read_ablation(str(file), str(curated.parent)), tmp_path / "out")

    return prepare


def test_runs_have_nothing_left_open_and_go_seed_by_seed(
    prepare: Any, tiny_policy: Path, tmp_path: Path, prompts_of_ones: Any
) -> None:
    prepared = prepare("seeds = [0, 7]\nat_step = 3\n[base]\neval_limit = 9\n" + RUNS)

    assert [run.name for run in prepared.runs] == ["static, seed 0", "live, seed 0", "static, seed 7", "live, seed 7"]
    last = prepared.runs[-1]
    assert last.settings.output == str(tmp_path / "out" / "live-seed-7")
    assert (last.settings.seed, last.settings.steps, last.settings.sampler) == (7, 3, "live")
    assert (last.settings.policy, last.settings.batch_size) == (str(tiny_policy), 128)
    assert last.settings.curated == str(tmp_path / "curated" / "ones" / "v0001")  # the version, not the latest of later
    assert last.completions == 3 * 128
    assert prepared.count_evaluated(last) == 2 * 9 * 17
    assert len(prepared.shared) == 9
    assert {run.state for run in prepared.runs} == {"new"}
    assert not (tmp_path / "out").exists()


def test_all_that_cannot_work_is_named_before_anything_is_trained(prepare: Any) -> None:
    text = '[[run]]\nname = "a"\nbatch_size = 30\n[[run]]\nname = "b"\n[[run]]\nname = "c"\ncurated = "gone"\n'
    with pytest.raises(LearnableError) as error:
        prepare(text + 'made_by = "find-learnable --name gone"\n')
    assert "run 'a': `batch_size` 30 does not divide" in str(error.value)
    assert "gone' does not exist" in str(error.value)
    assert "(its set is made by: find-learnable --name gone)" in str(error.value)
    assert "'b'" not in str(error.value)


def test_what_preflight_says_alike_of_several_variants_is_said_once(prepare: Any) -> None:
    remarks = [remark for remark in prepare("[base]\ntemperature = 0.4\n" + RUNS).remarks if "`temperature`" in remark]
    assert len(remarks) == 1
    assert remarks[0].startswith("static, live: ")


def copy_set(curated: Path, name: str, rows: slice) -> Path:
    """Write a set of that name beside another, with some of its held-out prompts."""
    folder = curated.parents[1] / name / "v0001"
    folder.mkdir(parents=True)
    for file in curated.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    shard = folder / "test-00000-of-00001.parquet"
    table = pq.read_table(shard)
    pq.write_table(table.take(list(range(table.num_rows))[rows]), shard)
    return folder


def test_prompts_that_all_runs_hold_out_are_compared_and_there_must_be_some(
    make_curated: Any, tiny_policy: Path, tmp_path: Path, prompts_of_ones: Any
) -> None:
    curated = make_curated(tiny_policy)
    copy_set(curated, "half", slice(4, 12))
    file = tmp_path / "mine.toml"
    file.write_text('[[run]]\nname = "whole"\n[[run]]\nname = "half"\ncurated = "half"\n')
    ablation = read_ablation(str(file), str(curated))

    prepared = prepare_ablation(ablation, tmp_path / "out")

    ids = [prompt.prompt_id for prompt in prompts_of_ones(16, length=6)]
    assert prepared.shared == frozenset(ids[4:12])
    assert prepared.measured == {"whole": 16, "half": 8}

    copy_set(curated, "early", slice(0, 4))
    file.write_text('[[run]]\nname = "half"\ncurated = "half"\n[[run]]\nname = "early"\ncurated = "early"\n')
    with pytest.raises(LearnableError, match=r'no held-out prompt in common, .* give held_out = "pool"'):
        prepare_ablation(read_ablation(str(file), str(curated)), tmp_path / "out")


def test_a_run_goes_from_new_to_started_to_finished_and_on_with_more_steps(tmp_path: Path) -> None:
    settings = TrainSettings("set", str(tmp_path / "run"), steps=4, batch_size=32, seed=1)
    assert find_state(settings) == "new"
    replace(settings, resume=True).write(settings.folder / "settings.json")
    assert find_state(settings) == "started"
    (settings.folder / "report.json").write_text(json.dumps({"settings": settings.as_json()}))
    assert find_state(settings) == "finished"
    assert find_state(replace(settings, save_steps=1, engine_options={"dtype": "float32"})) == "finished"
    longer = replace(settings, steps=6)
    assert find_state(longer) == "started"
    longer.write(settings.folder / "settings.json")
    assert find_state(longer) == "started"
    with pytest.raises(LearnableError, match="goes to step 6 already, and now to 4: give more steps"):
        find_state(settings)


@pytest.mark.parametrize("change", [{"sampler": "live"}, {"seed": 2}, {"curated": "set/v0002"}, {"eval_k": 4}])
def test_a_folder_with_another_run_is_not_gone_on_with(tmp_path: Path, change: dict[str, Any]) -> None:
    settings = TrainSettings("set", str(tmp_path / "run"), steps=4, batch_size=32)
    replace(settings, **change).write(settings.folder / "settings.json")
    name = next(iter(change))
    with pytest.raises(LearnableError, match=f"was started with {name} = {change[name]}, and now it is .*`output`"):
        find_state(settings)
