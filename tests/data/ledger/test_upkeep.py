"""Stock, damage and merging."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path

import pytest

from learnable.data.ledger import upkeep
from learnable.data.ledger.key_index import KeyIndex, hash_keys
from learnable.data.ledger.partition import Partition
from learnable.data.ledger.upkeep import compact, find_damage, summarise_ledger
from learnable.data.records import Score
from learnable.data.storage.places import remove
from learnable.data.store import Store
from tests.data.ledger.rollouts_for_tests import DRAW, prompt, rollout, scored, under


@pytest.fixture
def filled(store: Store) -> Store:
    for index in range(6):
        pair = [rollout(index), rollout(index, "p1", end="length")]
        store.ledger.append_rollouts(DRAW, pair)
        store.ledger.append_scores(DRAW, {"poetry": "1"}, scored(pair, Score(0.5, True)))
    return store


def rows(store: Store) -> list[str]:
    stored, _ = store.ledger.find_rollouts(under(64), [prompt(), prompt("p1")])
    return stored["rollout_id"].to_list()


def test_stock_counts_each_row_once(filled: Store) -> None:
    stock = asdict(summarise_ledger(filled.ledger))
    assert {key: stock[key] for key in ("prompts", "rollouts", "tokens", "files", "policies", "verifiers")} == {
        "prompts": 2,
        "rollouts": 12,
        "tokens": 24,
        "files": 12,
        "policies": ["org/policy@abc"],
        "verifiers": ["poetry@1"],
    }
    files = [*filled.root.glob("rollouts/**/*.parquet"), *filled.root.glob("scores/**/*.parquet")]
    assert stock["bytes"] == sum(file.stat().st_size for file in files)


def test_merging_keeps_every_row_in_its_order(filled: Store) -> None:
    before, stock = rows(filled), summarise_ledger(filled.ledger)
    assert compact(filled.ledger) == (12, 2)
    assert rows(filled) == before
    after = summarise_ledger(filled.ledger)
    assert (after.rollouts, after.tokens, after.files) == (stock.rollouts, stock.tokens, 2)
    assert compact(filled.ledger) == (2, 2)
    assert list(find_damage(filled.ledger)) == []


def test_large_files_are_not_merged_further(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    size = max(file.stat().st_size for file in filled.root.glob("rollouts/**/*.parquet"))
    monkeypatch.setattr(upkeep, "MERGED_BYTES", 2 * size)
    before = rows(filled)
    compact(filled.ledger)
    assert summarise_ledger(filled.ledger).files >= 6
    assert rows(filled) == before


def test_merging_may_be_killed_before_the_old_files_go(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    before = rows(filled)
    monkeypatch.setattr(upkeep, "remove", die)
    with pytest.raises(Killed):
        compact(filled.ledger)
    assert rows(filled) == before
    assert summarise_ledger(filled.ledger).rollouts == 12
    monkeypatch.setattr(upkeep, "remove", remove)
    compact(filled.ledger)
    assert summarise_ledger(filled.ledger).files == 2
    assert len(list(filled.root.glob("rollouts/**/*.parquet"))) == 1


def test_appending_goes_on_after_a_merge(filled: Store) -> None:
    compact(filled.ledger)
    filled.ledger.append_rollouts(DRAW, [rollout(6)])
    assert len(rows(filled)) == 13
    assert Store(str(filled.root)).ledger.find_rollouts(DRAW, [prompt()])[0].height == 7


def test_damage_is_set_aside_and_nothing_else(filled: Store) -> None:
    victim = Path(sorted(filled.root.glob("rollouts/**/*.parquet"))[2])
    victim.write_bytes(victim.read_bytes()[:-1])
    [damage] = find_damage(filled.ledger)
    assert damage.file == str(victim)
    assert damage.moved_to == f"quarantine/rollouts__abc__{DRAW.sampling.sampling_id}__{victim.name}"
    assert (Path(str(filled.root)) / damage.moved_to).is_file()
    assert len(rows(filled)) == 10


def test_a_check_makes_the_indices_anew_from_the_files(filled: Store) -> None:
    folder = Path(filled.root / "rollouts" / DRAW.folder)
    wrong = KeyIndex()
    for chunk in Partition(filled.root / "rollouts" / DRAW.folder).chunks():
        wrong.add(chunk.name, hash_keys(["of no question"]))
    data = wrong.dump(wrong.names)
    (folder / f"keys-{hashlib.sha256(data).hexdigest()[:16]}.arrow").write_bytes(data)
    fresh = Store(filled.root).ledger
    assert not fresh.find_rollouts(under(64), [prompt()])[0].height  # what a wrong index would cost
    assert list(find_damage(filled.ledger)) == []
    assert len(list(folder.glob("keys-*.arrow"))) == 1
    assert Store(filled.root).ledger.find_rollouts(under(64), [prompt()])[0].height == 6


def test_a_run_sets_damage_aside_by_itself(filled: Store) -> None:
    victim = Path(sorted(filled.root.glob("rollouts/**/*.parquet"))[0])
    victim.write_bytes(b"")
    assert len(rows(filled)) == 10
    assert not victim.exists()
