"""How the benchmark of predictions judges prompts by fresh rollouts, and the pool of reasoning-gym that it draws."""

from __future__ import annotations

from itertools import islice

import numpy as np
import polars as pl
import pytest

from benchmarks.decisions.measured_prediction import FRESH, KNOBS, draw_gym, estimate_in_band, expect_in_band


def measured(rates: np.ndarray, seed: int) -> pl.DataFrame:
    """Return groups of prompts whose certificates know nothing: each rate is as likely."""
    passes = np.random.default_rng(seed).binomial(FRESH, rates)
    flat = {"alpha": 1.0, "beta": 1.0, "p_zero": 0.0, "p_one": 0.0}
    groups = pl.DataFrame({"mean": passes / FRESH})
    return groups.with_columns(pl.lit(value).alias(name) for name, value in flat.items())


def test_the_share_in_the_band_has_the_noise_of_fresh_rollouts_as_what_is_expected_has() -> None:
    near = estimate_in_band(measured(np.full(2_000, 0.15), 1))
    assert 0.15 < near["plain"] < 0.3  # of prompts that are all below the band
    assert near["plain"] < near["at_most"] < near["plain"] + 0.03
    assert near["expected"] == pytest.approx(19 / 33, abs=0.001)  # by certificates that know nothing
    uniform = estimate_in_band(measured(np.random.default_rng(2).random(2_000), 3))
    assert uniform["plain"] == pytest.approx(uniform["expected"], abs=0.03)
    assert estimate_in_band(measured(np.zeros(0), 1))["prompts"] == 0


def test_what_is_expected_follows_the_certificates() -> None:
    rows = measured(np.zeros(2), 1).with_columns(p_zero=pl.Series([1.0, 0.0]))
    never, flat = expect_in_band(rows)
    assert never == 0
    assert flat == pytest.approx(19 / 33)  # 7 to 25 passes of 32, each number as likely


def test_the_pool_of_reasoning_gym_has_all_data_sets_at_many_settings_and_follows_the_seed() -> None:
    pytest.importorskip("reasoning_gym")
    prompts = list(islice(draw_gym(5), 400))
    assert {prompt.form for prompt in prompts} == set(KNOBS)
    assert len({str(prompt.spec.get("config")) for prompt in prompts}) > 50
    assert [prompt.prompt_id for prompt in islice(draw_gym(5), 50)] == [prompt.prompt_id for prompt in prompts[:50]]
    assert {prompt.prompt_id for prompt in islice(draw_gym(6), 400)} != {prompt.prompt_id for prompt in prompts}
