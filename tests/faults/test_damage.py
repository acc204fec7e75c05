"""Damaged files of the ledger: found, set aside, named; what they held is made again, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.faults.runs_for_tests import SIMULATED, Run, Shell
from tests.faults.stores_for_tests import check_rollouts, check_scores, files, group_files, leftovers, rollouts, scores
from tests.support.warm_starts import Starter

FIND = (*SIMULATED, "--limit", "300", "--group-size", "8")
ROLLOUTS = 2400
Harm = Callable[[Path], object]


def change_byte(share: float) -> Harm:
    """Change one byte, that share of the way from the file's first to its last."""

    def harm(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[round(share * (len(data) - 1))] ^= 0x10
        path.write_bytes(data)

    return harm


HARMS: dict[str, Harm] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "empty": lambda path: path.write_bytes(b""),
    "first byte": change_byte(0),
    "middle byte": change_byte(0.5),
    "footer byte": change_byte(0.98),
    "last byte": change_byte(1),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, pipeline_starter: Starter) -> Iterator[tuple[Run, Path]]:
    """A run of `FIND`, and its store."""
    shell = Shell(tmp_path_factory.mktemp("whole"), pipeline_starter)
    try:
        yield shell.run(*FIND), shell.store
    finally:
        shell.kill_all()


@pytest.fixture
def first(shell: Shell, whole: tuple[Run, Path]) -> Run:
    """A run of `FIND`, whose store this test has a copy of."""
    shutil.copytree(whole[1], shell.store)
    return whole[0]


def chunk(shell: Shell, table: str = "rollouts") -> Path:
    """The second file of a table, or its only one."""
    return sorted((shell.store / table).rglob("*.parquet"))[:2][-1]


def check_made_again(shell: Shell, run: Run, missing: set[str], before: dict[str, str]) -> None:
    assert (run.reused, run.generated) == (ROLLOUTS - len(missing), len(missing))
    rows = check_rollouts(shell.store, ROLLOUTS)
    assert missing <= set(rows["rollout_id"])
    assert before.items() <= files(shell.store / "rollouts").items()
    assert leftovers(shell.store) == []


@pytest.mark.usefixtures("first")
@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS.keys())
def test_a_run_makes_again_what_was_in_a_damaged_file(shell: Shell, harm: Harm) -> None:
    victim, before = chunk(shell), files(shell.store / "rollouts")
    missing = set(pl.read_parquet(victim)["rollout_id"])
    del before[str(victim.relative_to(shell.store / "rollouts"))]
    harm(victim)
    left = victim.read_bytes()
    run = shell.run(*FIND)
    check_made_again(shell, run, missing, before)
    [aside] = (shell.store / "quarantine").iterdir()
    assert aside.read_bytes() == left
    assert f"warning: {victim.relative_to(shell.folder)} is damaged: " in run.err
    assert f"set aside as quarantine/{aside.name}, its rows count as missing" in run.err


@pytest.mark.usefixtures("first")
def test_a_file_that_vanished_is_made_again(shell: Shell) -> None:
    victim = chunk(shell)
    missing = set(pl.read_parquet(victim)["rollout_id"])
    victim.unlink()
    check_made_again(shell, shell.run(*FIND), missing, files(shell.store / "rollouts"))
    assert not (shell.store / "quarantine").exists()


def test_damaged_scores_cost_no_rollout(shell: Shell, first: Run) -> None:
    victim = chunk(shell, "scores")
    HARMS["middle byte"](victim)
    run = shell.run(*FIND)
    assert not run.started_an_engine
    assert f"warning: {victim.relative_to(shell.folder)} is damaged" in run.err
    assert run.report["curated"] == first.report["curated"]
    assert len(group_files(shell.store)) == 1  # decided alike
    check_scores(shell.store, ROLLOUTS)


def test_the_same_file_damaged_twice_is_kept_twice(shell: Shell) -> None:
    small = (*FIND[:-3], "40", *FIND[-2:])
    shell.run(*small)
    left = []
    for harm in ("cut", "middle byte"):
        [victim] = (shell.store / "rollouts").rglob("*.parquet")
        HARMS[harm](victim)
        left.append(victim.read_bytes())
        shell.run(*small)
        check_rollouts(shell.store, 320)
    aside = [path.read_bytes() for path in (shell.store / "quarantine").iterdir()]
    assert sorted(aside) == sorted(left)


def test_scores_belong_to_the_completions_that_are_there(shell: Shell) -> None:
    """What is made again may read differently: another seed, or another batch. Old scores are not its own."""
    rows = [{"prompt": f"q{i}", "spec": {"rate": 0.5}, "verifier": "simulated"} for i in range(40)]
    (shell.folder / "questions.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    find = (*SIMULATED[:3], "--prompts", "questions.jsonl", *SIMULATED[5:], "--group-size", "8", "--seed")
    shell.run(*find, "0")
    [victim] = (shell.store / "rollouts").rglob("*.parquet")
    before = pl.read_parquet(victim)
    victim.unlink()
    made = shell.run(*find, "1")
    assert made.generated == 320
    assert not rollouts(shell.store)["completion"].equals(before["completion"])
    again = shell.run(*find, "1")
    assert again.generated == 0
    passed = rollouts(shell.store)["completion"].eq("pass").mean()
    for run in (made, again):
        assert run.report["forms"][0]["pass_at_1"] == pytest.approx(passed)
    assert again.report["curated"] == made.report["curated"]


@pytest.mark.usefixtures("first")
def test_the_check_finds_damage_and_moves_it(shell: Shell) -> None:
    check = ("ledger", "check", "--store", "store")
    sound = shell.run(*check)
    assert (sound.out, sound.err) == ("every file is as it was written\n", "")
    victims = [chunk(shell), chunk(shell, "scores")]
    missing = pl.read_parquet(victims[0]).height
    for victim in victims:
        HARMS["middle byte"](victim)
    found = shell.run(*check, status=1)
    for victim in victims:
        assert f"damaged      {victim.relative_to(shell.folder)}: its SHA-256 begins with " in found.out
        assert not victim.exists()
    assert found.out.count("set aside as quarantine/") == len(list((shell.store / "quarantine").iterdir())) == 2
    assert "What they held counts as missing" in found.out
    assert shell.run(*check, "--json").report == {"damaged": []}
    assert shell.run(*FIND).generated == missing
    check_rollouts(shell.store, ROLLOUTS)
    assert set(scores(shell.store)["rollout_id"]) == set(rollouts(shell.store)["rollout_id"])


def test_there_is_nothing_to_check_where_no_store_is(shell: Shell) -> None:
    run = shell.run("ledger", "check", "--store", "stor", status=2)
    assert "store 'stor' does not exist" in run.err
    assert not (shell.folder / "stor").exists()
