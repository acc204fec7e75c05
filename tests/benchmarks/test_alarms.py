"""When a planted failure is said to have set in, what counts as the right alarm, and which rows plant it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from benchmarks.alarms import (
    CONTRARY,
    FAMILIES,
    PLANTS,
    THANKFUL,
    Outcome,
    find_collapse,
    find_forgetting,
    find_over_fit,
    plant_rows,
)
from learnable.data.curated.curated_set import publish_curated
from learnable.data.curated.manifest import Manifest
from learnable.train.monitor.records import StepRecord
from learnable.train.monitor.rules import read_rules
from learnable.verifiers.registry import trust_verifier


def log(rewards: Sequence[float], entropies: Sequence[float]) -> list[StepRecord]:
    pairs = zip(rewards, entropies, strict=True)
    return [StepRecord(step, {"reward": one, "entropy": other}) for step, (one, other) in enumerate(pairs, 1)]


def look(*looks: tuple[float, float, float]) -> list[StepRecord]:
    """Return a log and a look at every fifth step: training reward, held-out reward, what mastered prompts lost."""
    return [
        record
        for number, (reward, held_out, forgotten) in enumerate(looks, 1)
        for record in (
            StepRecord(5 * number, {"reward": reward}),
            StepRecord(5 * number, {"eval_reward": held_out}),
            StepRecord(5 * number, {"review_reward": held_out, "review_gain": -forgotten}),
        )
    ]


@pytest.mark.parametrize(
    ("find_onset", "records", "step"),
    [
        (find_collapse, log([0.6] * 10, [0.5] * 10), None),
        (find_collapse, log([0.6] * 8 + [0.1] * 5, [0.5] * 13), 12),
        (find_collapse, log([0.6] * 13, [0.5] * 8 + [0.0] * 5), 12),
        (find_collapse, log([0.6] * 13, [0.5] * 8 + [4.0] * 5), 10),
        (find_collapse, [*log([0.6] * 20, [0.5] * 20), *look((0.6, 0.5, 0), (0.6, 0.3, 0), (0.6, 0.2, 0))], 15),
        (
            find_collapse,
            [*log([0.6] * 8 + [0.1] * 8, [0.5] * 16), *look((0.6, 0.5, 0), (0.6, 0.3, 0), (0.1, 0.2, 0))],
            12,
        ),
        (find_over_fit, look((0.5, 0.5, 0), (0.6, 0.5, 0), (0.8, 0.5, 0)), 15),
        (find_over_fit, look((0.5, 0.5, 0), (0.8, 0.7, 0)), None),
        (find_forgetting, look((0.5, 0.5, 0), (0.5, 0.5, 0.05), (0.5, 0.5, 0.11)), 15),
        (find_forgetting, look((0.5, 0.5, 0)), None),
    ],
)
def test_when_a_failure_set_in(
    find_onset: Callable[[Sequence[StepRecord]], int | None], records: list[StepRecord], step: int | None
) -> None:
    assert find_onset(records) == step


@pytest.mark.parametrize(
    ("onset", "alarms", "holds"),
    [
        (20, {"kl": 9, "entropy": 30}, True),
        (20, {"entropy": 31}, False),
        (20, {"entropy": 9}, False),
        (20, {"kl": 20}, False),
        (None, {"entropy": 20}, False),
    ],
)
def test_the_right_alarm_is_one_in_time(onset: int | None, alarms: Mapping[str, int], holds: bool) -> None:
    assert Outcome("collapse", onset, alarms, ("entropy", "reward_drop")).holds == holds


def test_a_healthy_run_has_no_alarm() -> None:
    assert Outcome("healthy 1", None).holds
    assert not Outcome("healthy 1", None, {"kl": 9}).holds


def test_the_wanted_alarms_are_rules() -> None:
    assert {name for plant in PLANTS.values() for name in plant.wanted} <= {rule.name for rule in read_rules()}


def test_which_rows_plant_a_failure(tmp_path: Path) -> None:
    columns = {"verifier": "own", "family": FAMILIES * 4, "prompt_id": [str(number) for number in range(12)]}
    kept = pl.DataFrame({**columns, "pass_rate": [0.5] * 12, "split": ["train"] * 6 + ["test"] * 6})
    rejected = kept.with_columns(pass_rate=pl.Series([0.0, 1.0, 0.5] * 4), decision=pl.lit("too_easy"))
    sides = {split: kept.filter(split=split).to_arrow() for split in ("train", "test")}
    curated = publish_curated(tmp_path / "sets" / "all", {**sides, "rejects": rejected.to_arrow()}, Manifest())

    def read(name: str, part: str) -> pl.DataFrame:
        return pl.DataFrame(pl.from_arrow(plant_rows(name, curated, tmp_path).read(part)))

    assert sorted(read("dead pool", "train")["pass_rate"].unique()) == [0.0, 1.0]
    assert set(read("silent part", "train")["verifier"]) == {THANKFUL}
    assert set(read("silent part", "test")["family"]) == {"arithmetic"}
    assert read("over-fit", "train").height == 4
    assert set(read("forgetting", "train")["family"]) == set(read("forgetting", "test")["family"]) == {"comparison"}
    assert set(read("forgetting", "train")["verifier"]) == {CONTRARY}
    assert set(read("forgetting", "test")["verifier"]) == {"own"}
    assert set(read("forgetting", "rejects")["family"]) == {"comparison"}
    assert set(read("forgetting", "rejects")["verifier"]) == {"own"}
    assert plant_rows("collapse", curated, tmp_path) is curated


@pytest.mark.parametrize(
    ("judge", "completion", "reward"),
    [
        (THANKFUL, "4", 0.8),
        (THANKFUL, "4. Thank you.", 1.0),
        (CONTRARY, "Yes", 0.0),
        (CONTRARY, "No", 1.0),
    ],
)
def test_a_planted_judge(judge: str, completion: str, reward: float) -> None:
    spec = {"answer": 4} if judge == THANKFUL else {"answer": "Yes", "choices": ["Yes", "No"]}
    assert trust_verifier(judge).score(completion, prompt="", spec=spec).reward == pytest.approx(reward)
