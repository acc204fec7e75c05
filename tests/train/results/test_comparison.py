from dataclasses import replace
from math import isnan

import pytest

from learnable.train.results.comparison import compare, compare_families, compare_held_out_parts, judge_direction
from learnable.train.results.evaluation import Evaluation, PromptResult
from learnable.train.results.statistics import Interval

COMPLETIONS = 10


def result(index: int, passes: int, greedy: float = 0.0, family: str = "arithmetic") -> PromptResult:
    return PromptResult(
        prompt_id=f"p{index}",
        family=family,
        form=family,
        n=COMPLETIONS,
        passes=passes,
        mean=passes / COMPLETIONS,
        unscored=0,
        greedy=greedy,
        greedy_passed=greedy == 1,
    )


def evaluation(passes: list[int], greedy: list[float] | None = None) -> Evaluation:
    best = greedy or [0.0] * len(passes)
    return Evaluation("tiny", tuple(result(i, p, g) for i, (p, g) in enumerate(zip(passes, best, strict=True))), 0, 1.0)


def test_a_rise_is_called_a_rise() -> None:
    held_out = compare(evaluation([3, 4, 5, 2] * 5), evaluation([5, 6, 6, 5] * 5), k=4, group_size=COMPLETIONS)

    assert held_out.direction == "rose"
    assert held_out.mean_reward.change.value == pytest.approx(0.2)
    assert held_out.pass_at_1.before.value == pytest.approx(0.35)
    assert held_out.pass_at_k.after.value > held_out.pass_at_k.before.value
    assert "rose: 0.350 -> 0.550 (+0.200" in held_out.verdict


def test_a_fall_is_called_a_fall() -> None:
    held_out = compare(evaluation([5] * 10), evaluation([3] * 10), k=4, group_size=COMPLETIONS)

    assert held_out.direction == "fell"
    assert "fell" in held_out.verdict


def test_noise_is_not_called_a_change() -> None:
    held_out = compare(evaluation([5, 6] * 8), evaluation([6, 5] * 8), k=4, group_size=COMPLETIONS)

    assert held_out.verdict.startswith("held-out reward shows no clear change")


def test_few_prompts_allow_no_verdict_however_large_the_change() -> None:
    held_out = compare(evaluation([0] * 7), evaluation([10] * 7), k=4, group_size=COMPLETIONS)

    assert held_out.direction == "too few prompts to tell"
    assert "7 prompts" in held_out.verdict


def test_a_rise_bought_with_greedy_reward_is_flagged() -> None:
    before, after = evaluation([3] * 20, [1.0] * 20), evaluation([6] * 20, [0.0] * 20)

    held_out = compare(before, after, k=4, group_size=COMPLETIONS)

    assert held_out.direction == "rose"
    assert held_out.greedy_fell
    assert "But greedy reward fell" in held_out.verdict


def test_a_greedy_slip_within_noise_is_mentioned_but_not_flagged() -> None:
    before, after = evaluation([3] * 20, [1.0] * 10 + [0.0] * 10), evaluation([6] * 20, [1.0] * 9 + [0.0] * 11)

    held_out = compare(before, after, k=4, group_size=COMPLETIONS)

    assert not held_out.greedy_fell
    assert "slipped within noise" in held_out.verdict


def test_prompts_without_a_reward_on_one_side_are_left_out_of_both() -> None:
    before = evaluation([2] * 10)
    broken = replace(before.prompts[0], n=0, passes=0, mean=None, unscored=COMPLETIONS)
    after = Evaluation("tiny", (broken, *evaluation([4] * 10).prompts[1:]), 0, 1.0)

    held_out = compare(before, after, k=4, group_size=COMPLETIONS)

    assert held_out.prompts == 9
    assert held_out.unscored_after == COMPLETIONS
    assert held_out.mean_reward.before.value == pytest.approx(0.2)


def test_families_are_compared_apart() -> None:
    before = Evaluation("t", (result(0, 2), result(1, 8, family="counting")), 0, 1.0)
    after = Evaluation("t", (result(0, 4), result(1, 7, family="counting")), 0, 1.0)

    families = compare_families(before, after)

    assert families["arithmetic"].change.value == pytest.approx(0.2)
    assert families["counting"].change.value == pytest.approx(-0.1)


@pytest.mark.parametrize(
    ("low", "high", "direction"), [(0.01, 0.2, "rose"), (-0.2, -0.01, "fell"), (-0.01, 0.2, "no clear change")]
)
def test_direction_follows_the_interval(low: float, high: float, direction: str) -> None:
    assert judge_direction(Interval((low + high) / 2, low, high), prompts=50) == direction


def test_prompts_without_a_greedy_reward_leave_it_unknown() -> None:
    unscored = [replace(result(i, 0), greedy=None, greedy_passed=None) for i in range(9)]
    both = Evaluation("tiny", tuple(unscored), 0, 1.0)

    held_out = compare(both, both, k=4, group_size=COMPLETIONS)

    assert isnan(held_out.greedy_reward.change.value)
    assert held_out.mean_reward.in_words in held_out.verdict


def test_kept_and_rejected_prompts_are_told_apart() -> None:
    before, after = evaluation([5] * 20), evaluation([8] * 10 + [5] * 10)
    assert compare_held_out_parts(before, after, k=4, group_size=COMPLETIONS) == {}

    def split(whole: Evaluation) -> Evaluation:
        results = [replace(one, part="rejected") for one in whole.prompts[10:]]
        return replace(whole, prompts=(*whole.prompts[:10], *results))

    parts = compare_held_out_parts(split(before), split(after), k=4, group_size=COMPLETIONS)
    assert [(part, found.prompts, found.direction) for part, found in parts.items()] == [
        ("kept", 10, "rose"),
        ("rejected", 10, "no clear change"),
    ]
