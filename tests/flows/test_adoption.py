"""Which rollouts of version 0.1 a policy takes for its own: those that are certainly of these very weights."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from learnable.data.ledger.earlier_ids import find_earlier_ids, note_earlier_id
from learnable.data.policies import find_policy
from learnable.data.records import weights_id
from learnable.data.storage import weights as hashing
from learnable.data.storage.places import find_place
from learnable.data.storage.weights import hash_as_earlier
from learnable.data.store import Store
from learnable.flows import adoption
from learnable.flows.curation.pipeline import run_pipeline
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings
from tests.flows.rated_for_tests import RatedEngine, ask_rated, make_policy

TEXTS = [f"sums {number}" for number in range(12)]
RATES = dict(zip(TEXTS, np.linspace(0, 1, len(TEXTS)).tolist(), strict=True))
MIB = 1 << 20


@pytest.fixture
def settings(tmp_path: Path) -> CurateSettings:
    """A run whose policy has 3 MiB of weights, of which version 0.1 read 1."""
    policy = make_policy(tmp_path, "model")
    (Path(policy) / "model.safetensors").write_bytes(bytes(3 * MIB))
    return ask_rated(tmp_path, TEXTS, policy)


def curate(settings: CurateSettings) -> int:
    """Curate, and return how many groups were requested."""
    engine = RatedEngine(str(settings.policy), RATES)
    engine.policy_id = find_policy(settings.policy, verify=settings.verify_policy).policy_id
    with use_engine(engine, settings):
        run_pipeline(settings)
    return len(engine.requests)


def curate_as_earlier(settings: CurateSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as then:
        then.setattr("learnable.data.policies.hash_folder", lambda folder, every_byte: hash_as_earlier(folder)[0])
        assert curate(settings) > 0


def tune(settings: CurateSettings, changed: float) -> None:
    """Change bytes that version 0.1 did not read, `changed` seconds from now."""
    path = Path(str(settings.policy)) / "model.safetensors"
    before = hash_as_earlier(path.parent)
    content = bytearray(path.read_bytes())
    content[100_000:150_000] = b"x" * 50_000
    path.write_bytes(content)
    os.utime(path, (time.time() + changed, time.time() + changed))
    assert hash_as_earlier(path.parent) == before


def wait_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Manifests have whole seconds: let the files have been there a while before."""
    changed = hashing.last_changed
    monkeypatch.setattr(adoption, "last_changed", lambda folder: changed(folder) - 5)


def test_an_unchanged_folder_keeps_its_rollouts(settings: CurateSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_a_second(monkeypatch)
    curate_as_earlier(settings, monkeypatch)
    assert curate(settings) == 0
    assert curate(settings) == 0


def test_one_that_was_tuned_in_part_does_not(settings: CurateSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_a_second(monkeypatch)
    curate_as_earlier(settings, monkeypatch)
    tune(settings, changed=60)
    assert curate(settings) > 0


def test_nor_does_another_folder_or_a_run_that_verifies(
    settings: CurateSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wait_a_second(monkeypatch)
    curate_as_earlier(settings, monkeypatch)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = Path(make_policy(elsewhere, "model"))
    (other / "model.safetensors").write_bytes(bytes(3 * MIB))
    assert hash_as_earlier(other) == hash_as_earlier(Path(str(settings.policy)))
    store = Store(find_place(settings.store))
    adoption.adopt_earlier_rollouts(store, find_policy(str(other)), verify=False)
    own = find_policy(settings.policy)
    adoption.adopt_earlier_rollouts(store, own, verify=True)
    assert find_earlier_ids(store.root, weights_id(own.policy_id)) == ()
    adoption.adopt_earlier_rollouts(store, own, verify=False)
    assert find_earlier_ids(store.root, weights_id(own.policy_id)) == (hash_as_earlier(Path(own.path))[0],)


def test_small_weights_are_certain_wherever_they_lie(
    settings: CurateSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (Path(str(settings.policy)) / "model.safetensors").write_bytes(b"small")
    curate_as_earlier(settings, monkeypatch)
    moved = tmp_path / "moved"
    Path(str(settings.policy)).rename(moved)
    assert curate(replace(settings, policy=str(moved), verify_policy=True)) == 0


def test_notes_that_cannot_be_understood_are_none(tmp_path: Path) -> None:
    root = find_place(tmp_path)
    assert find_earlier_ids(root, "new") == ()
    note_earlier_id(root, "new", "old")
    note_earlier_id(root, "new", "older")
    note_earlier_id(root, "new", "old")
    assert find_earlier_ids(root, "new") == ("old", "older")
    (tmp_path / "policies" / "new.json").write_text("[]")
    assert find_earlier_ids(root, "new") == ()
