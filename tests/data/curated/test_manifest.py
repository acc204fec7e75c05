"""Manifests: read, and written again byte by byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.curated.manifest import LengthsRecord, Manifest
from learnable.data.errors import LearnableError
from learnable.data.policies import Policy
from learnable.data.records import Sampling

FILES = sorted((Path(__file__).parent / "compatibility").glob("*_manifest.json"))
CURATED, REFRESHED = FILES


def read(file: Path) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(file.read_text())
    return plain


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_manifest_is_written_as_it_was(file: Path) -> None:
    manifest = Manifest.from_json(read(file))
    assert json.dumps(manifest.to_json(), indent=2) + "\n" == file.read_text()
    assert not manifest.unknown
    assert not manifest.absent


def test_fields_have_what_their_keys_say() -> None:
    plain, manifest = read(REFRESHED), Manifest.from_json(read(REFRESHED))
    assert manifest.policy == Policy(plain["policy"]["path"], plain["policy"]["policy_id"])
    assert manifest.budget == plain["effort"]
    assert manifest.family_priors["sums"].ess_per_rollout == plain["beliefs"]["sums"]["flips_per_rollout"]
    model = manifest.family_priors["sums"].variance_model
    assert model is not None
    assert model.prior_df == plain["beliefs"]["sums"]["spread"]["draws"]
    assert manifest.refresh is not None
    assert manifest.refresh.changed.resampled == plain["changed"]["asked_again"]
    assert manifest.refresh.changed.resampled_share == plain["changed"]["asked_share"]
    assert manifest.refresh.still_in_band is not None
    assert manifest.refresh.still_in_band.share == plain["shelf_life"]["share"]
    assert manifest.refresh.families[0].resampled == plain["families"][0]["asked_again"]
    assert Manifest.from_json(read(CURATED)).refresh is None


def test_keys_that_are_not_known_are_kept() -> None:
    plain = read(CURATED)
    plain |= {"later": {"a": [1]}, "lengths": {"p50": 1, "p95": 2, "longest": 3, "mode": 1}}
    manifest = Manifest.from_json(plain)
    assert manifest.to_json() == plain
    assert manifest.with_changes(seed=3).to_json() == plain | {"seed": 3}


def test_keys_that_are_not_there_stay_away_until_they_are_given() -> None:
    plain = read(CURATED)
    for key in ("preset", "test_share", "conditions", "sampling"):
        del plain[key]
    manifest = Manifest.from_json(plain)
    assert manifest.find_absent(("policy", "preset", "test_share")) == ["preset", "test_share"]
    assert (manifest.preset, manifest.test_share, manifest.sampling) == ({"name": "band"}, 0.0, Sampling())
    assert manifest.to_json() == plain
    assert manifest.with_changes(test_share=0.0).to_json() == plain | {"test_share": 0.0}


def test_lengths_are_there_only_where_they_were_measured() -> None:
    plain = read(CURATED)
    before = Manifest.from_json(plain)
    assert before.lengths is None
    assert "lengths" not in before.to_json()
    assert not before.find_absent(("lengths",))
    lengths = {"p50": 10, "p95": 40, "longest": 128}
    measured = Manifest.from_json(plain | {"lengths": lengths})
    assert measured.lengths == LengthsRecord(p50=10, p95=40, longest=128)
    assert measured.to_json() == plain | {"lengths": lengths}
    by_family = {"family_lengths": {"poetry": lengths}}
    measured = Manifest.from_json(plain | by_family)
    assert measured.family_lengths == {"poetry": LengthsRecord(p50=10, p95=40, longest=128)}
    assert measured.to_json() == plain | by_family


@pytest.mark.parametrize("text", ["[1, 2]", '{"format": 1, "parts": [1]}', '{"format": 1, "policy": "p"}'])
def test_what_is_no_manifest_is_one_message(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(LearnableError, match="is not a curated set's"):
        open_curated(tmp_path)
