from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from learnable.data.curated.manifest import Manifest
from learnable.train.preflight.weak_settings import (
    count_epochs,
    warn_of_epochs,
    warn_of_learning_rate,
    warn_of_repeats,
    warn_of_short_completions,
    warn_of_temperature,
)
from learnable.train.presets import find_train_preset, list_train_presets
from learnable.train.settings import TrainSettings

SETTINGS = TrainSettings(curated="c", output="o")
LARGE, SMALL = 2_000_000_000, 2_000_000


@pytest.mark.parametrize(("temperature", "warned"), [(0.3, True), (0.5, True), (0.51, False), (None, False)])
def test_a_low_temperature_is_warned_of(temperature: float | None, warned: bool) -> None:
    warnings = warn_of_temperature(replace(SETTINGS, temperature=temperature))
    assert bool(warnings) is warned
    if temperature is not None and warned:
        assert warnings[0].startswith(f"`temperature` {temperature:g} is low")
        assert "give 0.7 or more" in warnings[0]
    assert warn_of_temperature(replace(SETTINGS, temperature=temperature, method="sft")) == []


LENGTHS: dict[str, Any] = {"sampling": {"max_tokens": 128}, "lengths": {"p50": 10, "p95": 40, "longest": 128}}


@pytest.mark.parametrize(("limit", "warned"), [(39, True), (40, False), (100, False)])
def test_a_limit_is_compared_with_the_lengths_of_the_curation(limit: int, warned: bool) -> None:
    warnings = warn_of_short_completions(replace(SETTINGS, max_completion_length=limit), Manifest.from_json(LENGTHS))
    assert bool(warnings) is warned
    if warned:
        assert warnings[0].startswith("`max_completion_length` 39 would have cut more than 1 in 20")
        assert "95% of them are at most 40 tokens, the longest 128" in warnings[0]
        assert warnings[0].endswith("give 40 or more")


@pytest.mark.parametrize(
    ("families", "limit", "words"),
    [
        (("arithmetic",), 16, ""),
        (("arithmetic", "counting"), 16, ""),
        (("arithmetic", "counting"), 7, "completions of counting (95% of them are at most 8 tokens, the longest 9)"),
        (("poetry", "arithmetic"), 16, "completions of poetry (95% of them are at most 50 tokens, the longest 128)"),
        ((), 16, "completions (95% of them are at most 40 tokens"),
    ],
)
def test_a_limit_is_compared_with_the_families_that_are_trained_on(
    families: tuple[str, ...], limit: int, words: str
) -> None:
    by_family = {
        "arithmetic": {"p50": 2, "p95": 3, "longest": 4},
        "counting": {"p50": 2, "p95": 8, "longest": 9},
        "poetry": {"p50": 30, "p95": 50, "longest": 128},
    }
    manifest = Manifest.from_json(LENGTHS | {"family_lengths": by_family})
    chosen = replace(SETTINGS, families=families, max_completion_length=limit)
    warnings = warn_of_short_completions(chosen, manifest)
    assert len(warnings) == bool(words)
    assert words in "".join(warnings)


def test_lengths_of_all_families_together_say_nothing_of_some() -> None:
    chosen = replace(SETTINGS, families=("arithmetic",), max_completion_length=16)
    assert warn_of_short_completions(chosen, Manifest.from_json(LENGTHS)) == []


def test_where_lengths_are_not_known_the_curation_s_own_limit_counts() -> None:
    before = Manifest.from_json({"sampling": LENGTHS["sampling"]})
    [warning] = warn_of_short_completions(replace(SETTINGS, max_completion_length=100), before)
    assert "below the 128 tokens of the curation" in warning
    assert warn_of_short_completions(replace(SETTINGS, max_completion_length=128), before) == []
    assert warn_of_short_completions(replace(SETTINGS, max_completion_length=1), Manifest.from_json({})) == []


@pytest.mark.parametrize(
    ("rate", "parameters", "lora", "words"),
    [
        (1e-5, LARGE, False, "`learning_rate` 1e-05 is outside 1e-07 to 5e-06.*forget what it knows.*for 1e-06"),
        (9e-8, LARGE, False, "hardly anything will be learned"),
        (6e-4, SMALL, False, "outside 1e-05 to 0.0005"),
        (6e-5, LARGE, True, "adapters on a policy of 2,000,000,000 parameters"),
    ],
)
def test_a_learning_rate_that_no_preset_uses_is_warned_of(rate: float, parameters: int, lora: bool, words: str) -> None:
    [warning] = warn_of_learning_rate(replace(SETTINGS, learning_rate=rate), parameters, lora=lora)
    assert re.search(words, warning)


def test_nothing_is_said_of_rates_within_and_of_policies_that_are_not_here() -> None:
    assert warn_of_learning_rate(SETTINGS, LARGE, lora=False) == []
    for rate in (1e-7, 5e-6):
        assert warn_of_learning_rate(replace(SETTINGS, learning_rate=rate), LARGE, lora=False) == []
    wrong = replace(SETTINGS, learning_rate=1.0)
    assert warn_of_learning_rate(wrong, None, lora=False) == []
    assert warn_of_learning_rate(replace(wrong, method="sft"), LARGE, lora=False) == []


@pytest.mark.parametrize("name", list_train_presets())
def test_every_preset_is_within_the_range(name: str) -> None:
    values = find_train_preset(name).values
    settings = TrainSettings(curated="c", output="o", **values)
    parameters = SMALL if name == "cpu-demo" else LARGE
    assert warn_of_learning_rate(settings, parameters, lora=settings.lora_rank is not None) == []


def test_prompts_that_repeat_and_held_out_ones_that_are_trained_on_are_counted() -> None:
    assert warn_of_repeats(["a", "b"], ["c"]) == []
    [twice] = warn_of_repeats(["a", "b", "a", "a"], ["c", "c"])
    assert twice.startswith("2 of 4 train prompts repeat another one")
    [leaked] = warn_of_repeats(["a", "b"], ["c", "a", "a"], "control")
    assert leaked.startswith("2 of 3 held-out prompts are trained on too")


def test_epochs_are_counted_and_many_are_warned_of() -> None:
    settings = replace(SETTINGS, batch_size=64, num_generations=16, steps=50)  # 4 prompts a step
    assert count_epochs(settings, 10) == 20
    assert warn_of_epochs(settings, 10) == []
    [warning] = warn_of_epochs(replace(settings, steps=55), 10)
    assert "55 steps visit each of 10 prompts 22 times" in warning
    assert "give `steps` 50 or fewer" in warning
