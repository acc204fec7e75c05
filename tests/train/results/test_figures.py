"""Figures by group against plain loops, and what is said of a change."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations
from math import isnan

import pytest

from learnable.train.results.evaluation import PartName, PromptResult
from learnable.train.results.figures import Figures, list_groups, summarise, summarise_changes, write_verdict
from learnable.train.results.statistics import estimate_mean

N, K = 6, 3


def result(
    index: int, passes: int, part: PartName = "kept", form: str = "Ones", difficulty: float | None = None
) -> PromptResult:
    return PromptResult(
        prompt_id=f"p{index:03}",
        family="digits",
        form=form,
        n=N,
        passes=passes,
        mean=passes / N,
        unscored=index % 2,
        greedy=float(passes > 3),
        greedy_passed=passes > 3,
        part=part,
        difficulty=difficulty,
        problem_id=f"q{index}",
    )


def make(seed: int, count: int = 40) -> list[PromptResult]:
    luck = random.Random(seed)
    parts: tuple[PartName, ...] = ("kept", "rejected")
    return [
        result(i, luck.randrange(N + 1), luck.choice(parts), luck.choice(["Ones", "Twos"]), i % 12)
        for i in range(count)
    ]


def pass_at_k(one: PromptResult) -> float:
    drawn = [any(chosen) for chosen in combinations([index < one.passes for index in range(N)], K)]
    return sum(drawn) / len(drawn)


def find(rows: tuple[Figures, ...], by: str, name: str = "") -> Figures:
    [row] = [row for row in rows if (row.by, row.name) == (by, name)]
    return row


def test_each_group_has_the_means_of_its_own_prompts() -> None:
    results = make(1)
    rows = summarise(results, ks=[K])
    for by, name, mine in (
        ("all", "", results),
        ("part", "kept", [one for one in results if one.part == "kept"]),
        ("part", "rejected", [one for one in results if one.part == "rejected"]),
        ("form", "Twos", [one for one in results if one.form == "Twos"]),
        ("difficulty", "10", [one for one in results if one.difficulty == 10]),
    ):
        row = find(rows, by, name)
        assert row.prompts == len(mine)
        assert row.unscored == sum(one.unscored for one in mine)
        assert row.mean_reward.value == pytest.approx(sum(one.passes / N for one in mine) / len(mine))
        assert row.pass_at_1.value == pytest.approx(row.mean_reward.value)
        assert row.pass_at_k.value == pytest.approx(sum(map(pass_at_k, mine)) / len(mine))
        assert row.greedy_reward.value == pytest.approx(sum(one.passes > 3 for one in mine) / len(mine))


def test_groups_that_tell_nothing_apart_are_left_out_and_difficulties_are_in_order() -> None:
    groups = list(list_groups(make(2)))
    assert "family" not in {by for by, _, _ in groups}  # all are of one
    assert [name for by, name, _ in groups if by == "difficulty"] == [str(number) for number in range(12)]
    unknown = [replace(one, difficulty=None) for one in make(2)]
    assert {by for by, _, _ in list_groups(unknown)} == {"all", "part", "form"}
    assert sum(len(places) for by, _, places in groups if by == "part") == 40


def test_an_interval_is_that_of_the_prompts_as_sure_as_is_wanted() -> None:
    results = make(3)
    means = [one.passes / N for one in results]
    assert find(summarise(results, ks=[K]), "all").mean_reward == estimate_mean(means)
    narrow = find(summarise(results, ks=[K], confidence=0.9), "all").mean_reward
    assert narrow == estimate_mean(means, confidence=0.9)
    assert narrow.high - narrow.low < estimate_mean(means).high - estimate_mean(means).low


def test_prompts_of_one_problem_are_one_case() -> None:
    results = make(4, 8)
    same = [replace(one, prompt_id=f"{one.prompt_id}{word}") for one in results for word in "ab"]
    [single, double] = [find(summarise(some, ks=[K]), "all").mean_reward for some in (results, same)]
    assert double.value == pytest.approx(single.value)
    assert double.high - double.low == pytest.approx(single.high - single.low, rel=0.1)
    few = find(summarise(same[:14], ks=[K]), "all").mean_reward  # 14 prompts of 7 problems
    assert not isnan(few.value)
    assert isnan(few.low)


def test_what_could_not_be_measured_is_left_out() -> None:
    lost = replace(result(90, 0), n=0, mean=None, greedy=None, greedy_passed=None)
    rows = summarise([*make(5), lost], ks=[K])
    without = summarise(make(5), ks=[K])
    assert find(rows, "all").prompts == 41
    assert find(rows, "all").mean_reward.value == find(without, "all").mean_reward.value
    assert isnan(find(summarise(make(5), ks=[N + 1]), "all").pass_at_k.value)


def test_changes_are_paired() -> None:
    before = make(6)
    luck = random.Random(7)
    passes = [min(N, one.passes + luck.randrange(2)) for one in before]
    after = [replace(one, passes=count, mean=count / N) for one, count in zip(before, passes, strict=True)]
    rows = summarise_changes(list(zip(before, after, strict=True)), ks=[K])
    mine = [(b, a) for b, a in zip(before, after, strict=True) if b.part == "kept"]
    row = find(rows, "part", "kept")
    assert row.mean_reward.value == pytest.approx(sum(a.passes - b.passes for b, a in mine) / N / len(mine))
    assert row.pass_at_k.value == pytest.approx(sum(pass_at_k(a) - pass_at_k(b) for b, a in mine) / len(mine))
    assert row.greedy_reward.value == 0
    whole = find(rows, "all").mean_reward
    assert whole.low > 0  # though the prompts themselves differ far more than any of them changed
    assert write_verdict(find(rows, "all")).startswith("held-out reward rose: +0.")
    assert "90% interval" in write_verdict(find(rows, "all"), 0.9)


def test_few_prompts_allow_no_verdict() -> None:
    pairs = [(result(index, 0), result(index, N)) for index in range(5)]
    said = write_verdict(summarise_changes(pairs, ks=[K])[0])
    assert said.startswith("held-out reward cannot be judged on so few prompts: +1.000, 5 prompts")
    assert "nan" not in said
