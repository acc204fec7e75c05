"""A store in an S3-compatible object store: the same promises, over a network that fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from learnable.data.curated.curated_set import download_curated, open_curated
from learnable.data.errors import LearnableError
from learnable.data.ledger.upkeep import compact, find_damage, summarise_ledger
from learnable.data.policies import find_policy
from learnable.data.storage import places
from learnable.data.store import Store
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings
from learnable.rollouts.scripted import ScriptedEngine
from tests.data.storage.object_store_for_tests import ObjectStore, object_store
from tests.flows.questions_for_tests import ask

TEXTS = [f"question {number}" for number in range(8)]


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    monkeypatch.setattr(places, "FIRST_PUT_DELAY", 0.001)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with object_store() as store:
        yield store


@pytest.fixture
def settings(tmp_path: Path, bucket: ObjectStore) -> CurateSettings:
    return ask(tmp_path, TEXTS, bucket.url)


def run(settings: CurateSettings) -> CurationReport:
    engine = ScriptedEngine({text: ["yes", "no"] for text in TEXTS})
    engine.policy_id = find_policy(settings.policy).policy_id
    with use_engine(engine, settings):
        return run_curation(settings)


def test_a_second_run_finds_everything(settings: CurateSettings) -> None:
    first, second = run(settings), run(settings)
    assert first.curated == second.curated == f"{settings.store}/curated/q/v0001"
    store = Store(settings.store)
    assert summarise_ledger(store.ledger).rollouts == 8 * 16
    grown = run(replace(settings, group_size=20))
    assert grown.curated.endswith("/v0002")
    assert summarise_ledger(store.ledger).rollouts == 8 * 20
    with store.hold(wait=0, on_wait=print):
        compact(store.ledger)
        assert list(find_damage(store.ledger)) == []
    assert summarise_ledger(store.ledger).files == 2
    assert run(replace(settings, group_size=20)).curated == grown.curated


def test_a_curated_set_is_trained_on_from_a_copy(settings: CurateSettings) -> None:
    curated = open_curated(run(settings).curated)
    copy = download_curated(curated)
    assert copy.path.protocol == ""
    assert copy.read("train") == curated.read("train")
    assert download_curated(curated).path == copy.path


def test_a_put_that_fails_is_tried_again(settings: CurateSettings, bucket: ObjectStore) -> None:
    bucket.fail_puts(3, "/rollouts/")
    run(settings)
    assert bucket.failed == 3
    assert summarise_ledger(Store(settings.store).ledger).rollouts == 8 * 16


def test_a_put_that_fails_after_it_was_stored_costs_nothing(settings: CurateSettings, bucket: ObjectStore) -> None:
    bucket.fail_puts(2, "/rollouts/", stored=True)
    run(settings)
    assert summarise_ledger(Store(settings.store).ledger).rollouts == 8 * 16


def test_a_chunk_that_cannot_be_put_is_kept_and_brought_in(settings: CurateSettings, bucket: ObjectStore) -> None:
    bucket.fail_puts(places.PUT_ATTEMPTS, "/rollouts/")
    with pytest.raises(LearnableError, match=r"128 rows are kept in .*brings them in and goes on"):
        run(settings)
    assert summarise_ledger(Store(settings.store).ledger).rollouts == 0
    with Store(settings.store).hold(wait=0, on_wait=print):
        assert summarise_ledger(Store(settings.store).ledger).rollouts == 8 * 16
    report = run(settings)
    assert report.totals.rollouts == summarise_ledger(Store(settings.store).ledger).rollouts == 8 * 16


def test_a_half_published_set_is_no_version(settings: CurateSettings, bucket: ObjectStore) -> None:
    bucket.fail_puts(places.PUT_ATTEMPTS, "manifest.json")
    with pytest.raises(LearnableError, match="cannot write curated set"):
        run(settings)
    with pytest.raises(LearnableError, match=r"no manifest\.json"):
        open_curated(f"{settings.store}/curated/q")
    assert open_curated(run(settings).curated).path.name == "v0002"


def test_damage_is_set_aside_and_made_again(settings: CurateSettings) -> None:
    run(settings)
    store = Store(settings.store)
    [chunk] = store.ledger.partitions("rollouts")[0].chunks()
    chunk.path.write_bytes(b"PAR1")
    run(settings)
    assert summarise_ledger(store.ledger).rollouts == 8 * 16
    assert len(list((store.root / "quarantine").iterdir())) == 1
