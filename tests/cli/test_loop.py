"""`learnable loop` as it is typed: its flags, and what it shows."""

from __future__ import annotations

import json

import pytest

from learnable.flows.looping.report import LoopReport, LoopRound
from learnable.flows.settings.loop import LoopSettings
from learnable.train.results.figures import Figures
from learnable.train.results.statistics import Interval
from tests.cli.files_for_tests import Run


def figures(value: float) -> Figures:
    interval = Interval(value, value - 0.05, value + 0.05)
    return Figures("all", "", 48, 0, interval, interval, interval, interval)


def finish(settings: LoopSettings, *, use_prefect: bool) -> LoopReport:
    """Return a loop of two rounds, of which the second made it worse."""
    first = LoopRound(1, "store/curated/q/v0001", "", 37, 0.8, 0, "old", "runs/loop-q-1/round-1/train/policy", 16)
    second = LoopRound(2, "store/curated/q/v0002", "v0001", 31, 0.85, 640, str(first.trained_policy), "worse", 16)
    measured = [(first, 0.5, 0.2), (second, 0.4, -0.1)]
    rounds = [
        LoopRound(
            **{name: getattr(row, name) for name in LoopRound.__slots__}
            | {"held_out": figures(at), "gain": figures(by)}
        )
        for row, at, by in measured
    ]
    assert not use_prefect
    return LoopReport("runs/loop-q-1", settings, tuple(rounds), figures(0.3))


@pytest.fixture
def loop(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command with a loop that has ended in place of a real one."""
    monkeypatch.setattr("learnable.flows.launch.run_loop", finish)
    return run


def test_the_rounds_are_shown_and_why_it_ended(loop: Run) -> None:
    status, out, _ = loop("loop", "--curated", "q")
    lines = [line.split() for line in out.splitlines()]
    assert status == 0
    assert ["before", ".300", "-", ".300", ".300"] in lines
    assert ["1", "v0001", "37", ".80", "0", "16", ".500", "+.200", ".500", ".500"] in lines
    assert ["2", "v0002", "31", ".85", "640", "16", ".400", "-.100", ".400", ".400"] in lines
    assert "stopped after round 2, which made the policy worse: held-out reward fell" in out
    assert "best policy  runs/loop-q-1/round-1/train/policy (round 1)" in out


def test_flags_of_training_are_those_of_a_loop(loop: Run) -> None:
    typed = ("--steps", 9, "--preset", "cpu-demo", "--trl", "epsilon=0.3", "--sampler", "live", "--rounds", 4)
    report = json.loads(loop("loop", "--curated", "q", *typed, "--json")[1])
    train = report["settings"]["train"]
    assert (train["steps"], train["trl"], train["sampler"], train["held_out"]) == (9, {"epsilon": 0.3}, "live", "pool")
    assert (report["settings"]["rounds"], report["settings"]["anchors"]) == (4, 100)
    assert report["best"] == {"round": 1, "policy": "runs/loop-q-1/round-1/train/policy"}
    kept = json.loads(loop("loop", "--curated", "q", "--held-out", "kept", "--json")[1])
    assert "held_out" not in kept["settings"]["train"]  # as settings of training are written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "curated set 'none' does not exist"),
        (("--rounds", 0), "--rounds 0 is out of range: give 1 or more"),
        (("--part", "pool"), "--part pool is not for a loop"),
        (("--resume",), "--resume is not for a loop, which goes on when the same command is given again"),
    ],
)
def test_what_cannot_work_is_one_message(run: Run, arguments: tuple[object, ...], message: str) -> None:
    status, _, err = run("loop", "--curated", "none", *arguments)
    assert status == 2
    assert message in err
