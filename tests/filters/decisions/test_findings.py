"""Each warning fires on pools where its fault was planted, on every seed, and stays silent on healthy ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from learnable.data.band import Band
from learnable.data.curated.manifest import Finding
from learnable.filters.decisions.decide import decide
from learnable.filters.decisions.findings import find_warnings
from learnable.filters.statistics.forms import component_stats
from learnable.filters.statistics.groups import group_stats

Rng = np.random.Generator
Drawn = dict[str, tuple[NDArray[np.float64], NDArray[np.bool_], dict[str, NDArray[np.float64]]]]
SEEDS = range(20)


def healthy(rng: Rng, prompts: int = 64, rollouts: int = 16) -> Drawn:
    """Two forms of pass and fail and a graded one: prompts differ, groups spread, every component moves."""
    drawn: Drawn = {}
    for form, (a, b) in {"Addition": (2, 2), "Division": (1, 2)}.items():
        right = rng.random((prompts, rollouts)) < rng.beta(a, b, (prompts, 1))
        well_formed = right | (rng.random(right.shape) < 0.5)
        drawn[form] = right * 1.0, right, {"correct": right * 1.0, "format": well_formed * 1.0}
    lines, rhyme = (np.clip(rng.normal(rng.beta(4, 4, (prompts, 1)), 0.2, (prompts, rollouts)), 0, 1) for _ in range(2))
    reward = (lines + rhyme) / 2
    drawn["Haiku"] = reward, reward > 0.6, {"lines": lines, "rhyme": rhyme}
    return drawn


def warnings_of(drawn: Drawn) -> list[Finding]:
    frames = [_scores(form, *parts) for form, parts in drawn.items()]
    scores = pl.concat(frames)
    forms = scores.select("prompt_id", "family", "form").unique()
    groups = decide(group_stats(scores.lazy()).join(forms.lazy(), on="prompt_id"), Band())
    return find_warnings(groups.collect(), component_stats(scores.lazy()).collect())


def _scores(
    form: str, rewards: NDArray[np.float64], passed: NDArray[np.bool_], parts: dict[str, NDArray[np.float64]]
) -> pl.DataFrame:
    components = pl.concat_list(
        pl.struct(pl.lit(name).alias("key"), pl.Series("value", values.ravel())) for name, values in parts.items()
    )
    prompt = np.repeat(np.arange(rewards.shape[0]), rewards.shape[1])
    return pl.select(
        prompt_id=pl.Series([f"{form} {p}" for p in prompt]),
        reward=pl.Series(rewards.ravel()),
        passed=pl.Series(passed.ravel()),
        components=components,
    ).with_columns(family=pl.lit("f"), form=pl.lit(form), verdict=pl.lit("scored"), num_tokens=pl.lit(5))


def dead_form(rng: Rng) -> Drawn:
    right = rng.random((64, 16)) < np.where(rng.random((64, 1)) < 0.85, 0.0, 0.5)
    return {"Cubes": (right * 1.0, right, {"correct": right * 1.0})}


def silent_component(rng: Rng) -> Drawn:
    drawn = healthy(rng)
    rewards, passed, parts = drawn["Haiku"]
    return {"Haiku": (rewards, passed, {**parts, "title": np.zeros_like(rewards)})}


def full_component(rng: Rng) -> Drawn:
    drawn = healthy(rng)
    rewards, passed, parts = drawn["Addition"]
    return {"Addition": (rewards, passed, {**parts, "polite": np.ones_like(rewards)})}


def never_passing(rng: Rng) -> Drawn:
    length, rhyme = rng.beta(4, 4, (64, 1)) + 0.3 * rng.random((64, 16)), 0.05 * rng.random((64, 16))
    return {"Sonnet": ((length + rhyme) / 2, np.zeros((64, 16), bool), {"length": length, "rhyme": rhyme})}


def forms_apart(rng: Rng) -> Drawn:
    drawn: Drawn = {}
    for i, mean in enumerate(np.linspace(0.1, 0.9, 9)):
        reward = np.clip(rng.normal(mean, 0.05, (16, 16)), 0, 1)
        drawn[f"Form {i}"] = reward, reward > mean, {"lines": reward}
    return drawn


def prompts_apart(rng: Rng) -> Drawn:
    reward = np.clip(rng.normal(rng.random((128, 1)), 0.1, (128, 16)), 0, 1)
    return {"Ode": (reward, reward > 0.5, {"lines": reward})}


def equal_prompts(rng: Rng) -> Drawn:
    right = rng.random((256, 16)) < 0.4
    return {"Coins": (right * 1.0, right, {"correct": right * 1.0})}


PLANTED: dict[str, tuple[Callable[[Rng], Drawn], str, str]] = {
    "no_spread": (dead_form, "f", "most groups of Cubes ("),
    "never fires": (
        silent_component,
        "f: title",
        "f: title is 0 in all 1,024 rollouts of 64 prompts (Haiku); it never",
    ),
    "always full": (
        full_component,
        "f: polite",
        "f: polite is 1 in all 1,024 rollouts of 64 prompts (Addition); it can",
    ),
    "faked_signal": (never_passing, "f: length", "groups of Sonnet (9"),
    "spread_between_forms": (forms_apart, "the pool", "between forms"),
    "spread_between_prompts": (prompts_apart, "the pool", "between prompts"),
    "alike_prompts": (equal_prompts, "f", "prompts of Coins (F = "),
}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_healthy_pool_gets_no_warning(seed: int) -> None:
    assert warnings_of(healthy(np.random.default_rng(seed))) == []


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str) -> None:
    assert count_misses(fault, SEEDS[:3]) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_on_every_seed(fault: str) -> None:
    assert count_misses(fault, SEEDS) <= 1


def count_misses(fault: str, seeds: range) -> int:
    """Plant the fault once a seed; what is found must name it, and only equal prompts may be missed."""
    plant, subject, says = PLANTED[fault]
    code, missed = "constant_component" if fault in ("never fires", "always full") else fault, 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        found = warnings_of(healthy(rng) | plant(rng)) if "spread_between" not in fault else warnings_of(plant(rng))
        if fault == "alike_prompts" and not found:
            missed += 1  # FALSE_ALARM: three times in a thousand
            continue
        [finding] = [finding for finding in found if finding.code == code]
        assert finding.subject == subject
        assert says in finding.text
        assert {other.code for other in found} - {"undecided_prompts"} == {code}
    return missed


@pytest.mark.parametrize("fault", PLANTED)
def test_too_little_data_says_nothing(fault: str) -> None:
    rng = np.random.default_rng(1)
    few = {
        form: (rewards[:6], passed[:6], {name: values[:6] for name, values in parts.items()})
        for form, (rewards, passed, parts) in PLANTED[fault][0](rng).items()
    }
    one = dict(list(few.items())[:1])
    assert warnings_of(one) == []


def test_a_small_pool_of_equal_prompts_says_that_it_cannot_tell() -> None:
    said = []
    for seed in SEEDS:
        right = np.random.default_rng(seed).random((12, 16)) < 0.4
        [finding] = warnings_of({"Coins": (right * 1.0, right, {"correct": right * 1.0})})
        assert finding.forms == ("Coins",)
        said.append(finding)
    unknown = [finding for finding in said if finding.code == "undecided_prompts"]
    assert {finding.code for finding in said} <= {"undecided_prompts", "alike_prompts"}
    assert len(unknown) > len(SEEDS) / 2
    assert all("too few prompts of Coins (12, 96 would tell) in f to tell" in finding.text for finding in unknown)


def test_long_lists_of_forms_are_cut_short() -> None:
    drawn: Drawn = {f"Form {i}": equal_prompts(np.random.default_rng(i))["Coins"] for i in range(8)}
    ones = {form: (r, p, {"polite": np.ones_like(r), **parts}) for form, (r, p, parts) in drawn.items()}
    [finding] = [finding for finding in warnings_of(ones) if finding.code == "constant_component"]
    assert "(Form 0, Form 1, Form 2, Form 3, Form 4 and 3 more)" in finding.text
    assert len(finding.forms) == 8
