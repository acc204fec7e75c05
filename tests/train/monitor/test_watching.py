"""When a rule raises its alarm: what it compares with, how long that must last, and when it may be raised again."""

from __future__ import annotations

from typing import Any

import pytest

from learnable.train.monitor.records import StepRecord
from learnable.train.monitor.rules import AlarmRule, read_rules
from learnable.train.monitor.watching import FEW_LOGS, START_LOGS, Alarm, Monitor, find_alarms

WINDOW = 5  # logs that most of the shipped rules must last
HEALTHY = {
    "reward": 0.4,
    "frac_reward_zero_std": 0.1,
    "kl": 0.01,
    "entropy": 1.0,
    "clipped_ratio": 0.0,
    "unscored_share": 0.0,
}


def observe(monitor: Monitor, times: int, **values: Any) -> list[str]:
    said: list[str] = []
    for step in range(times):
        said += [alarm.says for alarm in monitor.observe(StepRecord.from_json({"step": step, **HEALTHY, **values}))]
    return said


def test_a_healthy_run_worries_nobody() -> None:
    assert observe(Monitor(read_rules()), 50, components={"poetry/rhyme": 0.3}) == []


def test_rules_about_groups_are_silent_where_there_are_none() -> None:
    """Under DPO a gradient fades as pairs are learned, and the entropy is that of texts that were there before."""
    monitor = Monitor(read_rules())
    logs = [{"loss": 0.7, "entropy": 1.0, "grad_norm": 1.0}] * 20 + [
        {"loss": 0.0, "entropy": 9.0, "grad_norm": 99.0}
    ] * 20
    records = [StepRecord.from_logs(step, {**log, "rewards/margins": -9.0}) for step, log in enumerate(logs)]
    assert [monitor.observe(record) for record in records] == [[]] * 40


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"frac_reward_zero_std": 0.6}, "60% of groups have no spread"),
        ({"reward": 0.0}, "the verifier never fires"),
        ({"kl": 3.0}, "KL is 3.00"),
        ({"kl": float("nan")}, "KL is nan"),
        ({"kl": float("inf")}, "KL is inf"),
        ({"clipped_ratio": 0.9}, "`max_completion_length`"),
        ({"mean_abs_advantage": 0.05}, "mean |advantage| is 0.05"),
        ({"clipped_tokens": 0.4}, "40% of the tokens are clipped"),
        ({"unscored_share": 0.3}, "could not be scored"),
        ({"components": {"poetry/lines": 0.0}}, "poetry/lines has been 0"),
    ],
)
def test_each_worry_is_said_once_and_only_when_it_lasts(values: dict[str, Any], words: str) -> None:
    monitor = Monitor(read_rules())

    assert observe(monitor, WINDOW - 1, **values) == []
    said = observe(monitor, 10, **values)

    assert len(said) == 1
    assert words in said[0]


def test_entropy_collapse_is_measured_against_the_start() -> None:
    monitor = Monitor(read_rules())
    observe(monitor, WINDOW)

    [said] = observe(monitor, WINDOW, entropy=0.05)

    assert "entropy fell from 1.00 to 0.05" in said


def test_a_worry_that_returns_is_said_again() -> None:
    monitor = Monitor(read_rules())
    observe(monitor, WINDOW, kl=5.0)
    observe(monitor, WINDOW)

    assert len(observe(monitor, WINDOW, kl=5.0)) == 1


def test_a_component_that_fired_once_is_not_silent() -> None:
    monitor = Monitor(read_rules())
    observe(monitor, 1, components={"poetry/lines": 0.1})

    assert observe(monitor, 20, components={"poetry/lines": 0.0}) == []


def test_a_run_without_kl_has_no_kl_to_worry_about() -> None:
    monitor = Monitor(read_rules())
    records = [StepRecord(1, {key: value for key, value in HEALTHY.items() if key != "kl"}) for _ in range(10)]

    assert [text for record in records for text in monitor.observe(record)] == []


def test_nothing_scored_is_an_error() -> None:
    lost = StepRecord(1, {"reward": None, "unscored_share": 1.0})
    severities = {alarm.rule: alarm.severity for alarm in find_alarms(read_rules(), [lost] * WINDOW)}
    assert severities == {"unscored": "warn", "nothing_scored": "error"}


def test_supervised_training_and_the_summary_are_not_watched() -> None:
    watched = AlarmRule("loss", "loss", "above", 1.0, 1, "high")
    assert find_alarms([watched], [StepRecord(1, {"loss": 9.0, "entropy": 0.1})]) == []
    assert len(find_alarms([watched], [StepRecord(1, {"loss": 9.0, "reward": 0.1})])) == 1


def course(name: str, values: list[float]) -> list[StepRecord]:
    return [StepRecord(step, {"reward": None, name: value}) for step, value in enumerate(values, 1)]


def test_an_alarm_says_what_since_when_and_what_helped() -> None:
    rule = AlarmRule("far", "kl", "above", 1.0, 3, "KL is {value:.1f}", severity="stop", helped="lower the rate")
    [alarm] = find_alarms([rule], course("kl", [0.1, 2.0, 0.1, 2.0, 3.0, 4.0, 5.0]))
    assert alarm == Alarm("far", "kl", "stop", 4, 6, 4.0, None, "KL is 4.0", "lower the rate")
    assert alarm.line == "step 6: KL is 4.0; lower the rate (alarm far, since step 4)"


def test_an_alarm_that_wavers_is_raised_once() -> None:
    rule = AlarmRule("far", "kl", "above", 1.0, 3, "far")
    wavering = [2.0] * 3 + [0.1, 2.0, 2.0] * 5
    assert len(find_alarms([rule], course("kl", wavering))) == 1
    assert len(find_alarms([rule], course("kl", [*wavering, 0.1, 0.1, 0.1, 2.0, 2.0, 2.0]))) == 2


def test_the_start_is_the_median_of_the_first_logs() -> None:
    rule = AlarmRule("low", "entropy", "below", 0.5, 2, "{reference}", relative_to="start")
    values = [9.0, 1.0, 2.0]
    assert len(values) == START_LOGS
    [alarm] = find_alarms([rule], course("entropy", [*values, 1.1, 1.1, 0.9, 0.9]))
    assert (alarm.step, alarm.says) == (7, "2.0")


def test_the_start_of_what_is_held_out_is_the_first_look() -> None:
    rules = [
        AlarmRule("drop", "eval_reward", "falls_by", 0.1, 2, "from {reference} to {value}", relative_to="start"),
        AlarmRule(
            "gap", "held_out_gap", "rises_by", 0.2, 1, "from {reference:.1f} to {value:.1f}", relative_to="start"
        ),
    ]
    looks = ((0.5, 0.5), (0.9, 0.38), (0.9, 0.36))
    records = [
        record
        for step, (reward, held_out) in enumerate(looks, 1)
        for record in (StepRecord(step, {"reward": reward}), StepRecord(step, {"eval_reward": held_out}))
    ]
    found = [(alarm.rule, alarm.step, alarm.says) for alarm in find_alarms(rules, records)]
    assert found == [("gap", 2, "from 0.0 to 0.5"), ("drop", 3, "from 0.5 to 0.36")]


def test_the_running_median_is_that_of_the_logs_before() -> None:
    rule = AlarmRule("drop", "reward", "falls_by", 0.2, 2, "from {reference} to {value}", relative_to="median")
    early = [0.5] * (FEW_LOGS - 1)
    assert find_alarms([rule], course("reward", [*early, 0.1, 0.1])) == []  # of so few there is no median yet
    [alarm] = find_alarms([rule], course("reward", [*early, 0.5, 0.29, 0.29]))
    assert alarm.says == "from 0.5 to 0.29"
    assert find_alarms([rule], course("reward", [*early, 0.5, 0.31, 0.31])) == []
    slow = [0.9 - 0.002 * step for step in range(300)]
    assert find_alarms([rule], course("reward", slow)) == []  # the median goes with it


def test_what_chance_brings_is_no_fall_from_the_median() -> None:
    rule = AlarmRule("drop", "reward", "falls_by", 0.2, 3, "", relative_to="median")
    calm, wild = [0.6, 0.5] * 10, [0.9, 0.2] * 10
    assert [alarm.step for alarm in find_alarms([rule], course("reward", [*calm, 0.2, 0.2, 0.2]))] == [23]
    assert find_alarms([rule], course("reward", [*wild, 0.2, 0.2, 0.2])) == []


def test_a_reward_that_falls_in_jumps_is_a_drop() -> None:
    """Batches of few prompts scatter: now and then one of them is as good as those before the fall."""
    rewards = [0.6, 0.75, 0.6, 0.45] * 5 + [0.3, 0.45, 0.1, 0.5, 0.15, 0.4, 0.2]
    [alarm] = find_alarms(read_rules(), [StepRecord(step, {"reward": one}) for step, one in enumerate(rewards, 1)])
    assert (alarm.rule, alarm.since, alarm.step, alarm.says) == ("reward_drop", 19, 23, "reward fell from 0.60 to 0.38")


def test_an_average_is_judged_as_one_value() -> None:
    rule = AlarmRule("low", "reward_gain", "below", -0.1, 3, "{value:.2f}", averaged=True)
    assert find_alarms([rule], course("reward_gain", [-0.5, -0.5])) == []  # of two there is no mean of three
    [alarm] = find_alarms([rule], course("reward_gain", [0.0, -0.5, 0.1, -0.2, 0.3]))
    assert (alarm.since, alarm.step, alarm.says) == (1, 3, "-0.13")


def test_a_multiple_of_nothing_is_no_limit() -> None:
    rules = [AlarmRule(name, "kl", name, 0.5, 1, "{value}", relative_to="start") for name in ("above", "below")]
    assert find_alarms(rules, course("kl", [0.0] * 9)) == []


def test_what_is_no_number_is_above_and_has_risen_and_is_no_reference() -> None:
    nan = float("nan")
    rules = [
        AlarmRule("up", "kl", "above", 1, 1, ""),
        AlarmRule("risen", "kl", "rises_by", 1, 1, "", relative_to="start"),
    ]
    rules += [
        AlarmRule("down", "kl", "below", 1, 1, ""),
        AlarmRule("fallen", "kl", "falls_by", 1, 1, "", relative_to="start"),
    ]
    assert [alarm.rule for alarm in find_alarms(rules[:2], course("kl", [0.5, nan]))] == ["up", "risen"]
    assert find_alarms(rules[2:], course("kl", [nan, 1.5, nan])) == []


def test_each_part_of_a_reward_is_judged_by_its_own_logs() -> None:
    records = [
        StepRecord(step, {"reward": 0.5}, {"poetry/rhyme": 0.0} if step % 2 else {"poetry/lines": 0.0, "x/y": 0.5})
        for step in range(1, 13)
    ]
    alarms = find_alarms(read_rules(), records)
    assert [(alarm.rule, alarm.metric, alarm.since, alarm.step) for alarm in alarms] == [
        ("silent_component", "components/poetry/rhyme", 1, 9),
        ("silent_component", "components/poetry/lines", 2, 10),
    ]
    only = AlarmRule("mine", "components/x/y", "above", 0.4, 1, "{name}")
    assert [alarm.says for alarm in find_alarms([only], records)] == ["x/y"]


def test_the_gap_is_to_the_rewards_since_the_last_look() -> None:
    rule = AlarmRule("gap", "held_out_gap", "above", 0.0, 1, "{value:.2f}")
    records = [
        StepRecord(5, {"eval_reward": 0.1}),  # nothing was trained on before
        *course("reward", [0.6, 0.8]),
        StepRecord(10, {"eval_reward": 0.9}),
        *course("reward", [0.5, 0.7]),
        StepRecord(15, {"eval_reward": 0.4}),
    ]
    assert [(alarm.step, alarm.says) for alarm in find_alarms([rule], records)] == [(15, "0.20")]
