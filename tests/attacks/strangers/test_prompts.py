"""Prompts and what says how they are made: folders of data sets, wordings, curricula, forms, packed files."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.evaluation_sets import read_evaluation_set
from learnable.data.sources.files.prompts import file_prompts
from learnable.verifiers.families.wordings import read_wording
from tests.attacks.strangers.conftest import Command
from tests.attacks.strangers.planted import Trap, clean_environment, list_plantings, write_toml

ROW = {"prompt": "1 + 1 = ", "answer": 2, "verifier": "number"}
FIND = ("find", "--show", "2", "--no-prefect", "--store", "store")


def _write_rows(file: Path, *rows: dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows or (ROW,)))
    return file


def test_each_text_of_a_row_is_data(trap: Trap, run: Command) -> None:
    row = {**ROW, "answer": "2", "family": "x", "form": "x", "source": "x", "split": "train", "dataset": "x", "id": "x"}
    row |= {"messages": "x", "tools": "x", "chat_template_kwargs": "x", "image": "x"}
    rows = [planted for _, planted in list_plantings({**row, "verifier": 1}, trap.texts)]
    rows = [{**one, "verifier": "text"} for one in rows]
    status, said = run(*FIND, "--prompts", _write_rows(trap.folder / "rows.jsonl", *rows), "--skip-bad-rows")
    assert (status, trap.found) == (0, []), said


@pytest.mark.parametrize("name", ["README.md", ".huggingface.yaml"])
@pytest.mark.parametrize(
    "pattern",
    ["{outside}", "../outside.jsonl", "a/../../outside.jsonl", "http://127.0.0.1:9/x.jsonl", "zip://x::{outside}"],
)
def test_a_card_names_no_files_elsewhere(trap: Trap, name: str, pattern: str) -> None:
    outside = _write_rows(trap.folder / "outside.jsonl", {"prompt": "a secret", "answer": 1})
    folder = trap.folder / "set"
    _write_rows(folder / "train.jsonl")
    header = json.dumps({"configs": [{"config_name": "default", "data_files": pattern.format(outside=outside)}]})
    (folder / name).write_text(f"---\n{header}\n---\n" if name == "README.md" else header)
    with pytest.raises(LearnableError, match=rf"{name} names '.*' in its configs, which lies outside it"):
        list(file_prompts(str(folder), Columns()))
    with pytest.raises(LearnableError, match=r"in its configs, which lies outside it"):
        read_evaluation_set(str(folder))


def test_a_card_names_files_beside_it(trap: Trap) -> None:
    folder = trap.folder / "set"
    _write_rows(folder / "one" / "a.jsonl")
    header = {"configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "one/*.jsonl"}]}]}
    (folder / "README.md").write_text(f"---\n{json.dumps(header)}\n---\n# A set")
    assert [prompt.prompt for prompt in file_prompts(str(folder), Columns())] == [ROW["prompt"]]


@pytest.mark.parametrize("name", ["data.pkl", "data.pickle", "data.npy", "data.tar", "set.py", "dataset_infos.json"])
def test_pickles_and_scripts_of_a_folder_are_left_alone(trap: Trap, run: Command, name: str) -> None:
    folder = trap.folder / "set"
    folder.mkdir()
    (folder / name).write_bytes(trap.pickle)
    (folder / "set.py").write_text((trap.folder / "planted_module.py").read_text())
    status, said = run(*FIND, "--prompts", folder)
    assert (status, trap.found) == (2, []), said
    assert "neither a file that is read" in said


def test_yaml_of_a_card_makes_no_objects(trap: Trap, run: Command) -> None:
    folder = trap.folder / "set"
    _write_rows(folder / "train.jsonl")
    assert run(*FIND, "--prompts", folder)[0] == 0
    tag = f"!!python/object/apply:os.system ['touch {trap.markers / 'yaml'}']"
    for header in (f"configs: {tag}", f"configs:\n- config_name: {tag}", f"dataset_info: {tag}"):
        (folder / "README.md").write_text(f"---\n{header}\n---\n")
        run(*FIND, "--prompts", folder)
        assert trap.found == []


def test_saved_data_sets_name_their_types_and_nothing_else(trap: Trap, run: Command) -> None:
    datasets = pytest.importorskip("datasets")
    folder = trap.folder / "saved"
    datasets.Dataset.from_list([ROW]).save_to_disk(str(folder))
    assert run(*FIND, "--prompts", folder)[0] == 0
    for name in ("dataset_info.json", "state.json"):
        whole = json.loads((folder / name).read_text())
        for place, planted in list_plantings(whole, trap.texts[:8]):
            (folder / name).write_text(json.dumps(planted))
            status, _ = run(*FIND, "--prompts", folder)
            assert (status in (0, 2), trap.found) == (True, []), place
        (folder / name).write_text(json.dumps(whole))


def test_a_packed_file_that_would_fill_the_disk_is_not_unpacked(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learnable.data.sources.files.readers.FREE_UNPACKED", 1 << 20)
    file = trap.folder / "rows.jsonl.gz"
    file.write_bytes(gzip.compress(b" " * (64 << 20)))
    with pytest.raises(LearnableError, match="unpacks to more than 50 times its size"):
        list(file_prompts(str(file), Columns()))


@pytest.mark.parametrize("inserted", ["{a:>99999999}", "{a:{b.__class__}}", "{a!r}", "{a.__class__}", "{a[0]}"])
def test_braces_of_a_wording_hold_a_name_alone(trap: Trap, inserted: str) -> None:
    file = trap.folder / "wording.toml"
    file.write_text(write_toml({"arithmetic": [f"{{a}} {{said}} {{b}} {inserted}"]}))
    with pytest.raises(LearnableError, match=r"which the question does not: use \{a\}"):
        read_wording(file)


def test_each_text_of_wordings_curricula_and_forms_is_data(trap: Trap, run: Command) -> None:
    stage = {"stage": "one", "from_step": 0, "knobs": {"largest": "10"}}
    files: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
        "curriculum": ({"family": "arithmetic", "stages": [stage]}, ("--stage", "1")),
        "wording": ({"topics": ["x"], "arithmetic": ["{a} {said} {b}?"]}, ("--family", "arithmetic")),
        "forms": ({"Mine": {"title": "x", "stanzas": [3], "metre": "iambic", "schemes": ["aba"]}}, ("--form", "Mine")),
    }
    for flag, (document, more) in files.items():
        file = trap.folder / f"{flag}.toml"
        file.write_text(write_toml(document))
        status, said = run(*FIND, "--limit", "2", f"--{flag}", file, *more)
        assert status == 0, said
        for place, planted in list_plantings(document, trap.texts):
            file.write_text(write_toml(planted))
            status, _ = run(*FIND, "--limit", "2", f"--{flag}", file, *more)
            assert (status in (0, 2), trap.found) == (True, []), (flag, place)


def test_a_strangers_folder_shadows_no_library(trap: Trap) -> None:
    """Scoring has a process of its own, which is started in the folder that the user works in."""
    trap.shadow_libraries()
    _write_rows(trap.folder / "rows.jsonl", {**ROW, "completion": "2"})
    command = [sys.executable, "-P", "-c", "from learnable.cli.app import main; main()"]
    arguments = ["verify", "--input", "rows.jsonl", "--verifier", "number", "--workers", "1", "--output", "-"]
    ran = subprocess.run(
        [*command, *arguments], env=clean_environment(trap), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
