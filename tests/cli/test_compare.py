"""`learnable compare`: versions, policies and runs, and what cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.files_for_tests import Run


def counts(model: str, shift: int, k: int = 16) -> list[dict[str, object]]:
    """Passes of k that go through all counts, `shift` more in every second prompt."""
    return [
        {"prompt": f"Add {n}.", "model": model, "k": k, "passes": min(n % 17 + shift * (n % 2), 16) * k // 16}
        for n in range(170)
    ]


def certify(run: Run, rows: list[dict[str, object]], name: str, *more: object) -> dict[str, Any]:
    pl.DataFrame(rows).write_parquet("counts.parquet")
    status, out, err = run("import", "counts.parquet", "--store", "s", "--name", name, "--json", *more)
    assert status == 0, err
    return dict(json.loads(out)["curation"])


def compare(run: Run, *arguments: object) -> dict[str, Any]:
    status, out, err = run("compare", *arguments, "--store", "s", "--json")
    assert status == 0, err
    return dict(json.loads(out))


def test_two_policies_on_one_pool(run: Run) -> None:
    before, after = certify(run, counts("base", 0), "base"), certify(run, counts("tuned", 8), "tuned")
    found = compare(run, "base", "tuned")
    assert any("policy: base@" in line and "tuned@" in line for line in found["differs"])
    assert (found["kept_before"], found["kept_after"]) == (before["totals"]["kept"], after["totals"]["kept"])
    changes = found["changes"]
    assert changes["prompts"] == changes["keep_to_drop"] + changes["drop_to_keep"] + changes["unchanged"] == 170
    assert changes["kept_now"] - changes["kept_before"] == changes["drop_to_keep"] - changes["keep_to_drop"]
    assert sum(sum(row.values()) for row in found["decisions"].values()) == 170
    assert set(found["causes"]["left"]) <= {"rate", "noise"}
    assert found["causes"]["left"]["rate"] > 0
    assert len(found["moves"]) == changes["keep_to_drop"] + changes["drop_to_keep"]
    moved_most = found["moves"][0]
    assert abs(moved_most["mean_after"] - moved_most["mean"]) == pytest.approx(0.5)
    assert found["drift"][0]["shift"] > 0
    back = compare(run, "tuned", "base")
    assert back["changes"]["keep_to_drop"] == changes["drop_to_keep"]
    status, out, _ = run("compare", "base", "tuned", "--store", "s", "--limit", "3")
    assert status == 0
    assert "170 prompts in both" in out
    assert "its rate moved: the 90 % intervals do not meet" in " ".join(out.split())
    assert "--limit 0 lists all of them" in out


def test_a_version_is_compared_with_its_parent_and_runs_by_their_ids(run: Run) -> None:
    first = certify(run, counts("m", 0), "set")
    second = certify(run, counts("m", 0, 64), "set")
    assert Path(second["curated"]).name == "v0002"
    found = compare(run, "set")
    assert (found["before"], found["after"]) == ("set v0001", "set v0002")
    assert found["differs"] == []
    assert set(found["causes"]["left"]) | set(found["causes"]["joined"]) <= {"rollouts"}
    assert compare(run, "s/curated/set/v0001", "set/v0002")["changes"] == found["changes"]
    runs = compare(run, first["run_id"], second["run_id"])
    assert runs["changes"] == found["changes"]
    assert "a run keeps its groups alone" in runs["differs"][0]
    same = compare(run, "set/v0002", "set/v0002")
    assert (same["changes"]["unchanged"], same["moves"]) == (170, [])


def test_another_band_is_named_as_the_reason(run: Run) -> None:
    certify(run, counts("m", 0), "wide")
    certify(run, counts("m", 0), "narrow", "--band", "0.4", "0.6")
    found = compare(run, "wide", "narrow")
    assert found["differs"] == ["another band", "another preset"]
    assert set(found["causes"]["left"]) == {"rules"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("set", "nosuch"), "curated set 'nosuch' does not exist"),
        (("st", "set"), "did you mean 'set' in 's'?"),
        (("set",), "set v0001 has no parent version to compare with: give another set, version or run as B"),
        (("set", "other"), "have no prompt in common: compare versions of one set"),
        (("set", "set", "--limit", "-1"), "--limit -1 is no number of prompts"),
    ],
)
def test_what_cannot_be_compared_is_named_with_its_fix(arguments: tuple[str, ...], told: str, run: Run) -> None:
    certify(run, counts("m", 0), "set")
    certify(run, [{"prompt": f"Other {n}.", "model": "m", "k": 4, "passes": 2} for n in range(4)], "other")
    status, _, err = run("compare", *arguments, "--store", "s")
    assert status == 2
    assert told in err
