from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from upath import UPath

from learnable.data.curated import curated_set as module
from learnable.data.curated.curated_set import SET_PARTS, find_versions, open_curated, publish_curated
from learnable.data.curated.manifest import Manifest, SetPart
from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.data.tables import hash_file, prompts_table

PLAIN: dict[str, Any] = {
    "created": "2026-01-01T00:00:00+00:00",
    "policy": {"path": "p", "policy_id": "p@1"},
    "sampling": {"temperature": 1.0},
    "group_size": 16,
    "band": {"low": 0.2, "high": 0.8, "min_std": 0.1, "signal": "reward"},
    "verifiers": {"arithmetic": "1"},
    "seed": 0,
    "forms": [
        {
            "form": "F",
            "prompts": 3,
            "kept": 1,
            "learnability": 0.25,
            "mean": 0.5,
            "within_std": 0.5,
            "between_std": None,
            "zero_std_share": 0,
        }
    ],
}

MANIFEST = Manifest.from_json(PLAIN)


def some(rows: int, first: int = 0) -> pa.Table:
    prompts = [
        Prompt(f"{i} + 1 = ", "arithmetic", {"answer": i + 1}, family="f", form="F") for i in range(first, first + rows)
    ]
    return prompts_table(prompts)


def parts(rows: int = 3) -> dict[str, pa.Table]:
    return {name: some(rows, 10 * index) for index, name in enumerate(SET_PARTS)}


def test_what_is_published_is_what_is_read(tmp_path: Path) -> None:
    published = publish_curated(tmp_path / "set", parts(), MANIFEST)
    assert published.path.name == "v0001"
    again = open_curated(tmp_path / "set")
    for name, table in parts().items():
        assert again.read(name).equals(table)
        [shard] = again.shards(name)
        assert again.manifest.parts[name] == SetPart(rows=3, sha256={shard.name: hash_file(shard)})


def test_shards_split_and_come_back_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 2)
    published = publish_curated(tmp_path / "set", parts(5), MANIFEST)
    assert [path.name for path in published.shards("train")] == [f"train-{i:05d}-of-00003.parquet" for i in range(3)]
    assert published.read("train").equals(some(5))


def test_a_frame_is_published_as_its_table_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 2)
    frames = {name: pl.DataFrame(table) for name, table in parts(5).items()}
    one, other = (publish_curated(tmp_path / name, rows, MANIFEST) for name, rows in (("a", frames), ("b", parts(5))))
    assert pl.DataFrame(one.read("train")).equals(pl.DataFrame(other.read("train")))
    assert one.manifest.parts["train"].rows == 5


def test_the_same_rows_are_not_published_twice(tmp_path: Path) -> None:
    first = publish_curated(tmp_path / "set", parts(), MANIFEST)
    assert publish_curated(tmp_path / "set", parts(), MANIFEST).path == first.path
    second = publish_curated(tmp_path / "set", parts(4), MANIFEST)
    assert second.path.name == "v0002"
    assert second.manifest.parent == "v0001"
    assert open_curated(tmp_path / "set").path == second.path
    assert open_curated(first.path).path == first.path


def test_of_two_who_publish_at_once_the_slower_one_takes_the_next_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (UPath(tmp_path / "local"), UPath("memory://published-at-once")):
        first, second = tmp_path / "a", tmp_path / "b"
        for staging in (first, second):
            staging.mkdir(exist_ok=True)
            (staging / "README.md").write_text(staging.name)
            (staging / "manifest.json").write_text("{}")
        place.mkdir(parents=True, exist_ok=True)
        assert module._publish_as(place / "v0001", first)
        with monkeypatch.context() as patched:
            patched.setattr(type(place), "exists", lambda _: False)  # looked before the other one came
            assert not module._publish_as(place / "v0001", second)
        assert (place / "v0001" / "README.md").read_text() == "a"


def test_a_crash_half_way_publishes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "render_card", crash)
    with pytest.raises(LearnableError, match="No space left"):
        publish_curated(tmp_path / "set", parts(), MANIFEST)
    assert find_versions(tmp_path / "set") == []
    assert list((tmp_path / "set").iterdir()) == []


def test_the_card_opens_with_what_load_dataset_reads(tmp_path: Path) -> None:
    card = (publish_curated(tmp_path / "set", parts(), MANIFEST).path / "README.md").read_text(encoding="utf-8")
    header = card.split("---")[1]
    assert "path: train-*.parquet" in header
    assert "config_name: control" in header
    assert "| `F` | 3 | 1 | 0.25 | 0.50 | 0.50 | - | 0.00 |" in card


@pytest.mark.parametrize(
    ("spoil", "message"), [("missing", "does not exist"), ("empty", "no manifest"), ("torn", "not valid JSON")]
)
def test_what_is_no_curated_set_is_named(tmp_path: Path, spoil: str, message: str) -> None:
    folder = tmp_path / "set"
    if spoil != "missing":
        folder.mkdir()
    if spoil == "torn":
        (folder / "manifest.json").write_text(json.dumps(PLAIN)[:40], encoding="utf-8")
    with pytest.raises(LearnableError, match=message):
        open_curated(folder)


def rejected(rows: int, first: int, side: str, decision: str = "too_hard") -> pa.Table:
    table = some(rows, first)
    column = table.column_names.index("split")
    table = table.set_column(column, "split", pa.array([side] * rows))
    return table.append_column("decision", pa.array([decision] * rows))


def pooled() -> dict[str, pa.Table]:
    tables = [rejected(4, 100, "train"), rejected(3, 200, "test"), rejected(2, 300, "train", "duplicate")]
    keep = some(5).append_column("decision", pa.array(["keep"] * 5))
    rejects = pa.concat_tables(tables).append_column("triage", pa.array(["plain_hard"] * 9))
    return {"train": keep, "test": some(2, 50), "rejects": rejects, "reserve": rejected(1, 400, "test", "low_std")}


def ids(table: pa.Table) -> list[str]:
    return table["prompt_id"].to_pylist()


def test_the_pool_is_what_was_kept_and_rejected_on_the_side_that_is_trained_on(tmp_path: Path) -> None:
    curated = publish_curated(tmp_path / "set", pooled(), MANIFEST)
    pool = curated.read("pool")
    assert set(ids(pool)) == {*ids(some(5)), *ids(some(4, 100))}
    assert pool.num_rows == 9
    assert [pool["triage"][place].as_py() is None for place in range(9)] == [name in ids(some(5)) for name in ids(pool)]
    assert set(ids(curated.read_rejected("test"))) == {*ids(some(3, 200)), *ids(some(1, 400))}
    assert curated.read("pool", columns=["prompt"]).column_names == ["prompt"]
    assert curated.read("pool", ["other"]).num_rows == 0


def test_a_tenth_of_what_is_reviewed_was_mastered(tmp_path: Path) -> None:
    parts = {
        **pooled(),
        "train": some(36).append_column("decision", pa.array(["keep"] * 36)),
        "rejects": pa.concat_tables(
            [rejected(9, 100, "train", "too_easy"), rejected(9, 200, "train"), rejected(9, 300, "test", "too_easy")]
        ),
    }
    curated = publish_curated(tmp_path / "set", parts, MANIFEST)
    drawn = ids(curated.read("reviewed"))
    reviewed = set(drawn) - set(ids(some(36)))
    assert (len(drawn), len(reviewed)) == (40, 4)
    assert reviewed < set(ids(some(9, 100)))
    assert sorted(drawn.index(name) for name in reviewed) != list(range(36, 40))
    assert ids(open_curated(tmp_path / "set").read("reviewed")) == drawn
    few = publish_curated(tmp_path / "few", {**parts, "rejects": rejected(2, 100, "train", "too_easy")}, MANIFEST)
    assert len(ids(few.read("reviewed"))) == 38


def test_the_pool_s_order_is_drawn_by_the_seed(tmp_path: Path) -> None:
    drawn = {
        seed: ids(publish_curated(tmp_path / str(seed), pooled(), MANIFEST.with_changes(seed=seed)).read("pool"))
        for seed in (0, 1)
    }
    assert sorted(drawn[0]) == sorted(drawn[1])
    assert drawn[0] != drawn[1]
    assert drawn[0] != sorted(drawn[0])
    kept = [name in ids(some(5)) for name in drawn[0]]
    assert kept != sorted(kept, reverse=True)
    assert ids(open_curated(tmp_path / "0").read("pool")) == drawn[0]


def test_a_pool_without_rejects_is_train_and_one_without_sides_is_refused(tmp_path: Path) -> None:
    bare = {"train": some(3), "test": some(2, 50)}
    curated = publish_curated(tmp_path / "bare", bare, MANIFEST)
    assert sorted(ids(curated.read("pool"))) == sorted(ids(some(3))) == sorted(ids(curated.read("reviewed")))
    assert curated.read_rejected("test").num_rows == 0
    unknown = publish_curated(tmp_path / "unknown", {**bare, "rejects": some(2, 90)}, MANIFEST)
    with pytest.raises(LearnableError, match=r"rejects of .* have no column 'decision'.*kept prompts alone"):
        unknown.read("pool")


def test_a_changed_shard_of_the_pool_is_found(tmp_path: Path) -> None:
    curated = publish_curated(tmp_path / "set", pooled(), MANIFEST)
    curated.check_shards(("pool",))
    [shard] = curated.shards("rejects")
    shard.write_bytes(shard.read_bytes() + b" ")
    with pytest.raises(LearnableError, match="SHA-256 differs"):
        curated.check_shards(("pool",))
