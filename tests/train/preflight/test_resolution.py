"""A preparation opens each shard once, and who is given what it resolved opens none to resolve it again."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from learnable.data.curated import curated_set
from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.train.file_settings import read_settings
from learnable.train.preflight.checks import prepare_run
from learnable.train.preflight.loading import LoadedSet
from learnable.train.preflight.resolution import open_run, resolve_settings
from learnable.train.settings import TrainSettings


@pytest.fixture
def curated(make_curated: Any, prompts_of_ones: Any, tiny_policy: Path) -> Path:
    """A set with rejects of both sides and two families, in two shards each."""
    kept, others = prompts_of_ones(12, length=4), prompts_of_ones(16, length=6)
    kept = [replace(prompt, family=("odd", "even")[number % 2]) for number, prompt in enumerate(kept)]
    rejects = [
        replace(prompt, family=("odd", "even")[number % 3 % 2], split=("train", "test")[number % 4 // 3])
        for number, prompt in enumerate(others)
    ]
    return make_curated(
        tiny_policy, train=kept, shards=2, others={"rejects": rejects}, columns={"decision": "too_easy"}
    )


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each shard was read."""
    counts: Counter[str] = Counter()
    read = curated_set._read_shard

    def count(shard: Any, *arguments: Any) -> Any:
        counts[shard.name] += 1
        return read(shard, *arguments)

    monkeypatch.setattr(curated_set, "_read_shard", count)
    return counts


@pytest.mark.parametrize("held_out", ["kept", "pool"])
def test_each_shard_is_read_once(curated: Path, tmp_path: Path, opened: Counter[str], held_out: Any) -> None:
    run = prepare_run(TrainSettings(str(curated), str(tmp_path / "run"), held_out=held_out))
    assert (run.settings.part, run.settings.sampler) == ("pool", "live")
    assert opened == dict.fromkeys((shard.name for shard in curated.glob("*.parquet")), 1)


def test_what_is_resolved_is_opened_without_its_shards(curated: Path, tmp_path: Path, opened: Counter[str]) -> None:
    run = prepare_run(TrainSettings(str(curated), str(tmp_path / "run")))
    run.settings.write(file := tmp_path / "settings.json")
    opened.clear()
    again = open_run(read_settings(file))
    assert not opened
    assert (again.settings, again.curated, again.policy, again.rules) == (
        run.settings,
        run.curated,
        run.policy,
        run.rules,
    )


def test_a_trainer_resolves_what_a_file_by_hand_leaves_open(curated: Path, tmp_path: Path) -> None:
    settings = TrainSettings(str(curated), str(tmp_path / "run"))
    assert open_run(settings).settings == prepare_run(settings).settings
    (tmp_path / "run" / "metrics.jsonl").touch()
    with pytest.raises(LearnableError, match="already holds a training run"):
        open_run(settings)


def test_resolving_twice_changes_nothing(curated: Path, tmp_path: Path) -> None:
    found = open_curated(curated)
    once = resolve_settings(TrainSettings(str(curated), str(tmp_path / "run")), found)
    assert once.drawing
    again = resolve_settings(once.settings, found)
    assert (again.settings, again.drawing, again.batch) == (once.settings, (), ())


@pytest.mark.parametrize("part", ["train", "test", "rejects", "pool", "reviewed"])
@pytest.mark.parametrize("families", [(), ("odd",), ("odd", "even"), ("none",)])
@pytest.mark.parametrize("columns", [None, ["prompt_id", "family"]])
def test_a_loaded_set_has_the_rows_of_the_set(curated: Path, part: str, families: Any, columns: Any) -> None:
    plain = open_curated(curated)
    loaded = LoadedSet.of(plain)
    for _ in range(2):
        assert loaded.read(part, families, columns).equals(plain.read(part, families, columns))
    assert loaded.read_rejected("test", families).equals(plain.read_rejected("test", families))


def test_a_column_that_is_not_there_is_named_with_its_shard(curated: Path) -> None:
    loaded = LoadedSet.of(open_curated(curated))
    loaded.read("train")
    with pytest.raises(LearnableError, match=r"train-00000-of-00002\.parquet' is not readable Parquet.*spread"):
        loaded.read("train", columns=["spread"])


def test_shards_of_different_columns_are_refused(curated: Path, tmp_path: Path) -> None:
    shard = curated / "train-00001-of-00002.parquet"
    pq.write_table(pq.read_table(shard).drop_columns(["std"]), shard)
    with pytest.raises(LearnableError, match=r"train of .* has shards of different columns: .*curate the set again"):
        prepare_run(TrainSettings(str(curated), str(tmp_path / "run"), part="train"))
