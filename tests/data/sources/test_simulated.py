from __future__ import annotations

import json
import math
import random
from pathlib import Path
from statistics import fmean, pvariance
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution
from scipy.stats import kstest

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import Prompt
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.prompts import file_prompts
from learnable.data.sources.simulated import (
    NOTICE,
    SIMULATED_FAMILY,
    SimulatedKnobs,
    beta_shapes,
    draw_beta,
    find_fault,
)
from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.families.registry import DEFAULT_FAMILIES, find_family, find_forms
from learnable.verifiers.protocol import verifier_notice
from learnable.verifiers.registry import find_verifier


def population(limit: int, seed: int = 0, **knobs: Any) -> list[Prompt]:
    named = {f"simulated.{name}": str(value) for name, value in knobs.items()}
    return list(builtin_prompts(families=["simulated"], limit=limit, seed=seed, knobs=named))


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 0.3), (0.2, 1.0), (2.0, 5.0)])
def test_rates_come_from_the_requested_beta_distribution(alpha: float, beta: float) -> None:
    rates = [prompt.spec["rate"] for prompt in population(20_000, alpha=alpha, beta=beta)]
    mean = alpha / (alpha + beta)
    variance = mean * (1 - mean) / (alpha + beta + 1)
    assert fmean(rates) == pytest.approx(mean, abs=4 * math.sqrt(variance / 20_000))
    assert pvariance(rates) == pytest.approx(variance, rel=0.04)
    assert kstest(rates, beta_distribution(alpha, beta).cdf).pvalue > 0.001


def test_prompts_are_distinct_and_their_verifier_accepts_them() -> None:
    for prompts in (population(2000), population(2000, spread=0.2)):
        assert len({prompt.prompt_id for prompt in prompts}) == 2000
        for prompt in prompts:
            find_verifier("simulated").check_spec(prompt.spec)
            assert (prompt.verifier, prompt.family, prompt.form) == ("simulated", "simulated", "Simulated")
            assert prompt.difficulty is not None
            assert 1 <= prompt.difficulty <= 10


def test_cases_are_in_every_spec() -> None:
    for prompt in population(20, cases=3, partial_credit=0.4):
        assert {key: prompt.spec[key] for key in ("cases", "partial_credit")} == {"cases": 3, "partial_credit": 0.4}
        find_verifier("simulated").check_spec(prompt.spec)
    assert [p.spec for p in population(20, cases=1)] == [p.spec for p in population(20)]


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"cases": 0}, "cases=0 is out of range"),
        ({"partial_credit": 2}, "partial_credit=2"),
        ({"cases": 3, "spread": 0.1}, "give spread or cases, not both"),
    ],
)
def test_cases_that_cannot_be_are_refused(knobs: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        population(2, **knobs)


def test_the_seed_fixes_the_population_and_the_limit_only_cuts_it() -> None:
    assert population(50) == population(80)[:50]
    assert [p.spec for p in population(50)] != [p.spec for p in population(50, seed=1)]


def test_a_std_is_that_of_rate_one_half_and_all_prompts_are_equally_concentrated() -> None:
    graded = [p.spec for p in population(300, spread=0.2) if "spread" in p.spec]
    assert len(graded) > 250
    for spec in graded:
        assert sum(beta_shapes(spec["rate"], spec["spread"])) == pytest.approx(1 / (2 * 0.2) ** 2 - 1)
    assert not any("spread" in prompt.spec for prompt in population(300))


def test_users_and_specs_keep_their_word_for_the_standard_deviation() -> None:
    assert SIMULATED_FAMILY.knob_names() == ("alpha", "beta", "spread", "cases", "partial_credit")
    assert SIMULATED_FAMILY.knob_defaults()["spread"] == 0.0
    assert SIMULATED_FAMILY.set_knobs({"spread": "0.2"}) == SimulatedKnobs(std=0.2)
    with pytest.raises(LearnableError, match="no knob 'std'"):
        SIMULATED_FAMILY.set_knobs({"std": 0.2})


def test_simulated_prompts_join_only_where_they_are_named() -> None:
    assert "simulated" not in DEFAULT_FAMILIES
    assert "simulated" not in {prompt.family for prompt in builtin_prompts(limit=500)}
    assert {p.family for p in builtin_prompts(families=["simulated", "arithmetic"], limit=10)} == {
        "simulated",
        "arithmetic",
    }
    assert find_forms(["simulated"]) == [("simulated", "Simulated")]
    with pytest.raises(UnknownNameError, match="did you mean 'simulated'"):
        find_family("simulatd")


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"alpha": 0}, "simulated knob alpha=0.0 is out of range"),
        ({"beta": "nan"}, "beta=nan is out of range"),
        ({"spread": 0.5}, "spread=0.5 is out of range: give 0 to 0.49"),
        ({"alpha": "low"}, "alpha='low' is not float"),
        ({"alhpa": 1}, "did you mean 'simulated.alpha'"),
    ],
)
def test_bad_knobs_are_named(knobs: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        population(1, **knobs)


def test_rates_of_your_own_come_from_a_file(tmp_path: Path) -> None:
    rows = [
        {"prompt": "easy", "verifier": "simulated", "spec": {"rate": 0.9}},
        {"prompt": "graded", "verifier": "simulated", "spec": {"rate": 0.3, "spread": 0.1}, "form": "Mine"},
    ]
    (tmp_path / "rates.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    easy, graded = file_prompts(str(tmp_path / "rates.jsonl"), Columns())
    assert (easy.verifier, easy.spec, easy.source) == ("simulated", {"rate": 0.9}, "rates.jsonl, line 1")
    assert (graded.spec, graded.form) == ({"rate": 0.3, "spread": 0.1}, "Mine")
    assert verifier_notice(find_verifier(easy.verifier)) == NOTICE


@given(rate=st.floats(1e-9, 1 - 1e-9), std=st.floats(1e-9, 1))
def test_a_sound_spec_has_a_distribution_with_its_moments(rate: float, std: float) -> None:
    if find_fault({"rate": rate, "spread": std}) is None:
        alpha, beta = beta_shapes(rate, std)
        assert alpha > 0
        assert beta > 0
        assert alpha / (alpha + beta) == pytest.approx(rate)
        assert 0 <= draw_beta(random.Random(0), alpha, beta) <= 1
    else:
        assert std * std >= rate * (1 - rate) * (1 - 1e-9)


def test_tiny_shapes_keep_their_mean() -> None:
    rng = random.Random(5)
    rates = [draw_beta(rng, 0.0003, 0.0007) for _ in range(20_000)]
    assert fmean(rates) == pytest.approx(0.3, abs=4 * math.sqrt(0.21 / 20_000))
