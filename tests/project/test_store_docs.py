"""How a store is queried by hand: the two joins of the page work as they stand, and what a store holds is named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from learnable.cli.app import app
from learnable.data.curated.curated_set import open_curated
from learnable.data.ledger.ledger import Draw
from learnable.data.records import Rollout, Score
from learnable.data.store import Store
from learnable.data.tables import prompt_from_row
from learnable.viewing.groups import read_group
from tests.flows.scripted_shell_for_tests import ScriptedShell
from tests.project.documents_for_tests import ROOT, read_blocks

DOCUMENT = ROOT / "docs/how-to/query-a-store.md"
PAGE = "".join(file.read_text(encoding="utf-8") for file in (DOCUMENT, ROOT / "docs/reference/store.md"))
STORE, VERSION = "learnable-store", "learnable-store/curated/questions/v0001"
SCRIPT = {f"Is {number} a prime number?": ["yes", "yes", "no", "no way at all"] for number in range(8)}
FIND = ("--prompts", "q.jsonl", "--verifier", "choice", "--sampling", "fixed", "--store", STORE)
KEYS = ("prompt_id", "rollout_index", "completion", "reward", "passed", "verdict", "reason")


@pytest.fixture
def store(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Store:
    """Make a store that holds more than one set's completions: other samplings, caps, weights and verifier versions."""
    monkeypatch.chdir(tmp_path)
    shell = ScriptedShell(tmp_path, capfd, dict(SCRIPT))
    shell.write_rows([{"prompt": text, "answer": "yes"} for text in SCRIPT], "q.jsonl")
    grouped = ("--group-size", "8", "--name")
    assert shell.find(*FIND, *grouped, "short", "--max-tokens", "2").status == 0  # cuts the longest answer
    assert shell.find(*FIND, *grouped, "questions").status == 0
    assert shell.find(*FIND, *grouped, "warm", "--temperature", "1.5").status == 0
    (tmp_path / "policy/model.safetensors").write_bytes(b"other weights")
    assert shell.find(*FIND, *grouped, "moved").status == 0
    store = Store(STORE)
    add_scores_of_another_version(store)
    return store


def add_scores_of_another_version(store: Store) -> None:
    curated = open_curated(VERSION)
    draw = Draw(curated.manifest.policy.policy_id, curated.manifest.sampling)
    prompt = prompt_from_row(curated.read("train").to_pylist()[0], VERSION)
    stored, _ = store.ledger.find_rollouts(draw, [prompt])
    texts = pl.concat(store.ledger.read_completions(draw, stored))
    first = stored.join(texts, on="rollout_id").row(0, named=True)
    names = ("question_id", "max_tokens", "rollout_index", "completion", "finish_reason", "num_tokens", "seed")
    rollout = Rollout(
        policy_id=draw.policy_id, sampling_id=draw.sampling.sampling_id, **{name: first[name] for name in names}
    )
    with store.hold(wait=0, on_wait=print):
        store.ledger.append_scores(draw, {"choice": "0"}, [(rollout, prompt, Score(0.123, passed=False))])


def run_block(library: str) -> Any:
    """Run the page's block that imports a library as it stands, and return its `answers`."""
    [text] = [block.text for block in read_blocks(DOCUMENT) if f"import {library}" in block.text]
    said: dict[str, Any] = {}
    exec(text, said)
    return said["answers"]


def answers_by_the_ledger(store: Store) -> pl.DataFrame:
    """Return the completions of the set's prompts as `learnable show` reads them."""
    curated = open_curated(VERSION)
    prompts = [prompt_from_row(row, VERSION) for row in curated.read("train").to_pylist()]
    groups = [
        read_group(store.ledger, curated.manifest, prompt).with_columns(prompt_id=pl.lit(prompt.prompt_id))
        for prompt in prompts
    ]
    return pl.concat(groups).select(KEYS).sort("prompt_id", "rollout_index")


def test_the_polars_join_gives_the_groups_of_the_set(store: Store) -> None:
    answers = run_block("polars as pl")
    assert answers.select(KEYS).equals(answers_by_the_ledger(store))
    means = answers.group_by("prompt_id").agg(pl.len(), mean=pl.col("reward").mean(), certified=pl.col("mean").first())
    assert means.height == open_curated(VERSION).manifest.parts["train"].rows > 1
    assert set(means["len"]) == {8}
    assert means["mean"].equals(means["certified"].alias("mean"))


def test_the_duckdb_join_gives_the_same(store: Store) -> None:
    pytest.importorskip("duckdb")
    found = run_block("duckdb")
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    assert [{key: row[key] for key in KEYS} for row in rows] == answers_by_the_ledger(store).to_dicts()


def test_the_manifests_keys_are_named(store: Store) -> None:
    named = set(re.findall(r"`([a-z_]+)`", PAGE))
    unexplained = {"engine", "test_share", "conditions"}
    assert set(open_curated(VERSION).manifest.to_json()) - unexplained <= named


def test_the_keys_that_show_prints_are_named(capfd: pytest.CaptureFixture[str], store: Store) -> None:
    prompt_id = open_curated(VERSION).read("train")["prompt_id"][0].as_py()
    with pytest.raises(SystemExit):
        app(["show", VERSION, prompt_id, "--json"])
    row = json.loads(capfd.readouterr().out)["row"]
    assert row.keys() - {"part", "answer"} <= set(re.findall(r"`([a-z_0-9]+)`", PAGE))


def test_every_folder_of_a_store_is_named(store: Store) -> None:
    assert all(f"{path.name}" in PAGE for path in Path(STORE).iterdir())
