"""`learnable publish`: what goes up, to a folder, an object store and the hub, and what never does."""

from __future__ import annotations

import getpass
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml  # type: ignore[import-untyped]
from upath import UPath

from tests.cli.files_for_tests import Run
from tests.data.storage.object_store_for_tests import object_store
from tests.support.hub import TOKEN, Hub, serve_hub

PUBLISHED = ("train", "test", "rejects", "control", "demonstrations", "preferences")
Make = Callable[..., str]


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serve_hub() as served:
        yield served


@pytest.fixture
def make(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make a set of sums from a file in the home folder, whose rows have columns of the user's own."""
    home = tmp_path / "home" / "ann"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))

    def make(group: int = 8, **columns: object) -> str:
        file = home / "lines.jsonl"
        lines = [
            {
                "prompt": f"What is {n} + 1?",
                "completion": f"It is {n + (draw < 2 + n % 7)}.",
                "reward": float(draw < 2 + n % 7),
                "answer": n + 1,
                **columns,
            }
            for n in range(40)
            for draw in range(group)
        ]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        command = ("import", file, "--store", "s", "--name", "sums", "--verifier", "number", "--workers", "0", "--json")
        status, out, err = run(*command)
        assert status == 0, err
        return str(json.loads(out)["curation"]["curated"])

    return make


def publish(run: Run, curated: str, to: object, *arguments: object) -> dict[str, Any]:
    status, out, err = run("publish", curated, "--to", to, *arguments, "--json")
    assert status == 0, err
    return dict(json.loads(out))


def read_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Read a folder by each config that its card names, as `datasets` does without a network."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    header = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    cache = str(folder.parent / "cache")
    return {
        name: datasets.load_dataset(str(folder), name, cache_dir=cache)
        for name in (config["config_name"] for config in header["configs"])
    }


def test_a_folder_is_read_by_its_configs_and_names_no_path(
    run: Run, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curated = Path(make())
    (curated / "manifest.json").write_text(
        (curated / "manifest.json").read_text().replace('"path": "', f'"path": "{tmp_path}/home/ann/models/')
    )
    report = publish(run, str(curated), "out", "--license", "cc-by-4.0")
    assert [file["change"] for file in report["files"]] == ["new"] * 8
    out = Path("out")
    assert {file.name for file in out.iterdir()} == {file["name"] for file in report["files"]}
    for file in report["files"]:
        assert hashlib.sha256((out / file["name"]).read_bytes()).hexdigest() == file["sha256"]
    said = b"".join(file.read_bytes() for file in out.glob("*.[mj]*"))
    said += "".join(pl.read_parquet(shard).write_json() for shard in out.glob("*.parquet")).encode()
    for private in (str(tmp_path), "/home/ann", f"/{getpass.getuser()}/"):
        assert private.encode() not in said, private
    loaded = read_back(out, monkeypatch)
    assert set(loaded) == {"default", *PUBLISHED[2:]}
    assert set(loaded["default"]) == {"train", "test"}
    there = {name: pl.read_parquet(curated / f"{name}-00000-of-00001.parquet") for name in PUBLISHED}
    for name, rows in there.items():
        found = loaded["default"][name] if name in ("train", "test") else loaded[name]["train"]
        assert found["prompt_id"] == rows["prompt_id"].to_list(), name
    header = yaml.safe_load((out / "README.md").read_text().split("---\n")[1])
    assert (header["license"], header["size_categories"]) == ("cc-by-4.0", ["n<1K"])
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["policy"]["path"] == "lines"
    again = publish(run, str(curated), "out", "--license", "cc-by-4.0")
    assert (again["sent"], again["bytes"], {file["change"] for file in again["files"]}) == (0, 0, {"same"})
    assert run("show", "out", "--limit", "1")[0] == 0  # it is a set like any other


def test_a_dry_run_shows_every_byte_and_sends_none(run: Run, make: Make) -> None:
    curated = make()
    status, out, err = run("publish", "sums", "--store", "s", "--to", "out", "--dry-run")
    assert status == 0, err
    assert not Path("out").exists()
    planned = publish(run, curated, "out", "--dry-run")
    publish(run, curated, "out")
    card = (Path("out") / "README.md").read_text()
    assert out.endswith(card)
    assert planned["card"] == card
    for file in planned["files"]:
        data = (Path("out") / file["name"]).read_bytes()
        assert (file["bytes"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert f"{len(data):,}" in out


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, as it sends a file
def test_the_hub_gets_one_commit_and_a_second_publish_sends_nothing(
    run: Run, make: Make, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curated = make()
    planned = publish(run, curated, "hub:ann-1/sums", "--dry-run")
    assert hub.files == {}
    report = publish(run, curated, "hub:ann-1/sums", "--private")
    assert report["address"] == f"{hub.url}/datasets/ann-1/sums"
    assert hub.private == {"ann-1/sums"}
    assert [sorted(commit) for commit in hub.commits] == [sorted(file["name"] for file in planned["files"])]
    there = hub.files["ann-1/sums"]
    for file in planned["files"]:
        assert hashlib.sha256(there[file["name"]]).hexdigest() == file["sha256"]
    assert there["README.md"].decode() == planned["card"]
    assert 'load_dataset("ann-1/sums")' in planned["card"]
    copy = tmp_path / "copy"
    copy.mkdir()
    for name, data in there.items():
        (copy / name).write_bytes(data)
    assert set(read_back(copy, monkeypatch)) == {"default", *PUBLISHED[2:]}
    sent = len(hub.uploaded)
    assert publish(run, curated, "hub:ann-1/sums")["sent"] == 0
    assert (len(hub.commits), len(hub.uploaded)) == (1, sent)
    there["train-00001-of-00002.parquet"] = b"of an older version"
    report = publish(run, curated, "hub:ann-1/sums", "--license", "mit")
    assert (report["sent"], report["removed"]) == (1, ["train-00001-of-00002.parquet"])
    assert sorted(hub.commits[1]) == ["README.md", "train-00001-of-00002.parquet"]


def test_a_token_is_never_shown(run: Run, make: Make) -> None:
    curated = make()
    wrong = "hf_" + "Zz9" * 10
    with serve_hub(wrong) as hub:
        status, out, err = run("publish", curated, "--to", "hub:ann-1/sums")
        assert status == 2
        assert "set HF_TOKEN to a token that may write there" in err
        assert hub.commits == []
    assert wrong not in out + err
    assert TOKEN not in out + err


def test_an_object_store_gets_what_it_lacks(run: Run, make: Make) -> None:
    curated = make()
    with object_store() as bucket:
        to = f"{bucket.url}/published"
        first = publish(run, curated, to)
        assert first["sent"] == 8
        there = {file.name: file.read_bytes() for file in UPath(to).iterdir()}
        assert {name: hashlib.sha256(data).hexdigest() for name, data in there.items()} == {
            file["name"]: file["sha256"] for file in first["files"]
        }
        assert publish(run, curated, to)["sent"] == 0
        assert publish(run, curated, to, "--license", "mit")["sent"] == 1


@pytest.mark.parametrize(
    ("place", "name", "licenses"),
    [
        ("org/set:main, row 3", "org/set:main", ["cc-by-sa-4.0"]),
        ("builtin", "the generator lines", ["apache-2.0"]),
        ("reasoning-gym:sums", "reasoning-gym:sums", ["apache-2.0"]),
        ("/home/bob/q.jsonl, line 3", "q.jsonl", []),
        (None, "an unknown place", []),
    ],
)
def test_licences_and_sources_are_those_of_the_rows(
    place: str | None, name: str, licenses: list[str], run: Run, make: Make, hub: Hub
) -> None:
    hub.licenses["org/set"] = "cc-by-sa-4.0"
    curated = Path(make())
    for shard in curated.glob("*.parquet"):
        rows = pl.read_parquet(shard)
        if "source" in rows.columns:
            rows.with_columns(source=pl.lit(place, pl.String)).write_parquet(shard)
    manifest = json.loads((curated / "manifest.json").read_text())
    for part in manifest["parts"].values():
        part["sha256"] = {name: hashlib.sha256((curated / name).read_bytes()).hexdigest() for name in part["sha256"]}
    (curated / "manifest.json").write_text(json.dumps(manifest))
    report = publish(run, str(curated), "out")
    assert report["licenses"] == licenses
    assert report["sources"] == [{"name": name, "prompts": 40, "license": "".join(licenses)}]
    card = Path("out/README.md").read_text()
    assert f"| `{name}` | 40 | {''.join(licenses) or 'not known'} |" in card
    assert ("license: " in card) == bool(licenses)


def test_a_row_that_names_this_machine_is_refused_with_the_way_out(run: Run, make: Make, tmp_path: Path) -> None:
    curated = make(note=f"see {tmp_path}/home/ann/notes.txt")
    status, _, err = run("publish", curated, "--to", "out")
    assert status == 2
    assert "column 'note' says" in err
    assert "--drop-column note" in err
    assert not Path("out").exists()
    publish(run, curated, "out", "--drop-column", "note")
    assert "note" not in pl.read_parquet("out/train-00000-of-00001.parquet").columns
    assert "note" not in json.loads(Path("out/manifest.json").read_text())["schema"]


@pytest.mark.parametrize(
    ("to", "more", "told"),
    [
        ("hub:sums", (), "names no user: give hub:user/name"),
        ("hub:a/b/c", (), "names no data set of the hub"),
        ("out", ("--private",), "--private is for data sets of the hub"),
        ("out", ("--license", "mine: all"), "--license 'mine: all' is no name of a licence"),
        ("out", ("--drop-column", "prompt"), "--drop-column prompt is what makes a row a prompt"),
        ("out", ("--drop-column", "nowhere"), "nowhere"),
        ("full", (), "holds files (a.txt) and no curated set"),
        ("s/curated/sums/v0001", (), "is the set itself"),
        ("s/curated/sums", (), "is the set itself"),
    ],
)
def test_what_cannot_be_published_is_named_with_its_fix(
    to: str, more: tuple[str, ...], told: str, run: Run, make: Make
) -> None:
    curated = make()
    Path("full").mkdir()
    Path("full/a.txt").write_text("a")
    status, _, err = run("publish", curated, "--to", to, *more)
    assert status == 2
    assert told in err
