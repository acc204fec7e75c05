"""Graded rewards and variances under optional stopping: are they ranked, split and called alike as they truly are?

Every pool goes through the whole pipeline with the simulated engine, from a file of prompts whose truth is known.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.checks import Check, Figure, at_least, at_most
from benchmarks.decisions.truth_forecast import follow_schedule
from learnable.filters.arrays import Values
from learnable.filters.decisions.alike import ALIKE_INTRACLASS, Likeness, compare_prompts
from learnable.filters.decisions.presets import find_preset
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings

Row = dict[str, Any]
Draw = Callable[[np.random.Generator, int], Values]
DEAD, POEMS, SUMS = 20, 44, 40
TOP = 40
POOLS_SPLIT, SPLIT_PROMPTS = 8, 1000
POOLS_ALIKE, ALIKE_PROMPTS, FEW_PROMPTS = 100, 1500, 100
MISTAKES = POOLS_ALIKE // 25  # one pool of 25 may be taken for what it is not; of a hundred less is left to chance
EXACT = 1e-9  # a standard deviation that six digits do not show: all rewards of a prompt are equal


def dead_prompts_are_left_out(seed: int) -> Iterator[Figure]:
    """Twenty prompts whose rewards are all .5, among 44 poems and 40 sums: how many of the best 40 they are."""
    rng = np.random.default_rng([seed, 1])
    for sampling in ("fixed", "optimal"):
        budget = SamplingBudget(sampling)
        for name in ("band", "hard-biased", "max-learnability"):
            preset = find_preset(name).override(top=TOP)
            report, decided = curate(dead_among_others(rng), preset=preset, budget=budget, seed=seed)
            kept = decided.filter(pl.col("decision") == "keep")
            label = f"{name}, {sampling}"
            yield at_most(f"zero-std prompts kept, {label}", int(kept["zero_std"].sum()), 0, f"of {kept.height} kept")
        yield at_least(f"rank of the dead form, {sampling}", rank_of("Dead", report), 3, "of 3 forms, 1 is the best")


def dead_among_others(rng: np.random.Generator) -> list[Row]:
    """Return rows of prompts that always get .5, of poems (std .2 at a mean of .5), and of sums that pass or fail."""
    dead = [simulated(0.5, "poetry", "Dead", EXACT) for _ in range(DEAD)]
    poems = [simulated(rate, "poetry", "Poem", 2 * 0.2 * (rate * (1 - rate)) ** 0.5) for rate in rng.beta(4, 4, POEMS)]
    return dead + poems + [simulated(rate, "sums", "Sum") for rate in rng.beta(1, 1, SUMS)]


def rank_of(form: str, report: CurationReport) -> int:
    """Return the place of a form in the table, 1 is the first."""
    ranked = sorted(report.forms, key=lambda row: -(row.expected_within_variance or 0.0))
    return 1 + [row.form for row in ranked].index(form)


def simulated(rate: float, family: str = "simulated", form: str = "Simulated", std: float | None = None) -> Row:
    """Return a row of a file of prompts: pass or fail, or graded with this standard deviation inside a group."""
    spec = {"rate": round(float(rate), 9)} | ({} if std is None else {"spread": float(std)})
    return {"verifier": "simulated", "family": family, "form": form, "spec": spec}


def curate(rows: Sequence[Row], seed: int, **settings: Any) -> tuple[CurationReport, pl.DataFrame]:
    """Curate rows with the simulated engine, and return the report and the decided groups."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prompts.jsonl"
        numbered = ({"prompt": f"prompt {number} of pool {seed}"} | row for number, row in enumerate(rows))
        file.write_text("".join(f"{json.dumps(row)}\n" for row in numbered), encoding="utf-8")
        report = run_curation(
            CurateSettings(
                prompts=PromptSettings(location=str(file)),
                engine=SimulatedSettings(),
                seed=seed,
                store=str(Path(folder) / "store"),
                workers=0,
                **settings,
            )
        )
        [groups] = (Path(folder) / "store" / "groups").glob("*.parquet")
        return report, pl.read_parquet(groups)


def variances_are_the_pools(seed: int) -> Iterator[Figure]:
    """Standard deviations within and between prompts against the true ones, under default sampling."""
    rng = np.random.default_rng([seed, 2])
    for name, draw, std in POPULATIONS:
        found, true = [], []
        for pool in range(POOLS_SPLIT):
            rates = draw(rng, SPLIT_PROMPTS)
            rows = [simulated(rate, std=_own_std(rate, std)) for rate in rates]
            [form] = curate(rows, seed * 1000 + pool)[0].forms
            found.append((form.within_std or 0.0, form.between_std or 0.0))
            true.append((float(np.mean(_variance(rates, std))) ** 0.5, float(rates.std())))
        off, (within, between) = np.mean(found, axis=0) - np.mean(true, axis=0), np.mean(true, axis=0)
        sizes = f"{POOLS_SPLIT} pools of {SPLIT_PROMPTS}"
        yield at_most(f"within-std off, {name}", abs(off[0]), 0.01, f"{off[0]:+.3f} of {within:.3f}, {sizes}")
        yield at_most(f"between-std off, {name}", abs(off[1]), 0.012, f"{off[1]:+.3f} of {between:.3f}, {sizes}")


def equal_prompts_are_recognised(seed: int) -> Iterator[Figure]:
    """How many pools of equal prompts, and of an intraclass of .05, are called alike under default sampling.

    Pools follow the schedule alone; one of each kind goes through the whole pipeline.
    """
    rng = np.random.default_rng([seed, 3])
    for name, mean, std in (("coins of .4", 0.4, None), ("coins of .25", 0.25, None), ("graded, .5", 0.5, 0.2)):
        sizes = f"of {POOLS_ALIKE} pools of {ALIKE_PROMPTS}"
        equal = [_compare(np.full(ALIKE_PROMPTS, mean), std, rng) for _ in range(POOLS_ALIKE)]
        yield at_least(f"equal prompts called alike, {name}", equal.count("alike"), POOLS_ALIKE - MISTAKES, sizes)
        differing = [_draw_differing(rng, mean, std) for _ in range(POOLS_ALIKE)]
        wrong = [_compare(rates, std, rng) for rates in differing].count("alike")
        yield at_most(f"prompts of ICC .05 called alike, {name}", wrong, MISTAKES, sizes)
        same = [_says_what_it_compared(rates, std, seed) for rates in (np.full(ALIKE_PROMPTS, mean), differing[0])]
        yield at_least(f"pipelines that say what their groups compare as, {name}", sum(same), 2, "of 2")
    few = [_compare(np.full(FEW_PROMPTS, 0.4), None, rng) for _ in range(POOLS_ALIKE)]
    sizes = f"of {POOLS_ALIKE} pools of {FEW_PROMPTS}"
    yield at_most("equal prompts called different, small pools", few.count("different"), MISTAKES, sizes)
    few = [_compare(rng.beta(7.6, 11.4, FEW_PROMPTS), None, rng) for _ in range(POOLS_ALIKE)]
    yield at_most("prompts of ICC .05 called alike, small pools", few.count("alike"), MISTAKES, sizes)


def _draw_differing(rng: np.random.Generator, mean: float, std: float | None) -> Values:
    """Draw means of prompts whose rewards vary by `ALIKE_INTRACLASS` between them."""
    concentration = (1 / ALIKE_INTRACLASS - 1) / (1.0 if std is None else 4 * std**2)
    return rng.beta(mean * concentration, (1 - mean) * concentration, ALIKE_PROMPTS)


def _compare(rates: Values, std: float | None, rng: np.random.Generator) -> Likeness:
    """Return whether prompts look alike that are sampled as by default."""
    drawn = rng.random((len(rates), SamplingBudget().count_max_rollouts(16)))
    if std is None:
        rewards = (drawn < rates[:, None]).astype(np.float64)
    else:
        size = 1 / (4 * std**2) - 1  # of a Beta distribution whose variance is 4 std^2 m (1 - m)
        rewards = rng.beta(size * rates[:, None], size * (1 - rates[:, None]), drawn.shape)
    schedule = follow_schedule(rewards, rng)
    n, mean, variance = schedule.measure(np.arange(len(rates)))
    opening = np.where(np.arange(rewards.shape[1]) < schedule.opening[:, None], rewards, np.nan)
    figures = {"n": n, "mean": mean, "std": np.sqrt(variance), "opening_n": schedule.opening.astype(np.float64)}
    figures |= {"opening_mean": np.nanmean(opening, axis=1), "opening_std": np.nanstd(opening, axis=1)}
    return compare_prompts(pl.DataFrame(figures)).likeness


def _says_what_it_compared(rates: Values, std: float | None, seed: int) -> bool:
    """Return whether what a whole run says of its prompts' differences is what its groups compare as."""
    report, decided = curate([simulated(rate, std=_own_std(rate, std)) for rate in rates], seed)
    codes = {finding.code for finding in report.findings} & {"alike_prompts", "undecided_prompts"}
    expected = {"alike": {"alike_prompts"}, "unknown": {"undecided_prompts"}, "different": set[str]()}
    return codes == expected[compare_prompts(decided).likeness]


def _own_std(rate: float, std: float | None) -> float | None:
    """Return the standard deviation of a prompt's rewards, where it is `std` at a rate of .5; None of 0 and 1."""
    return None if std is None or not 0 < rate < 1 else 2 * std * float(rate * (1 - rate)) ** 0.5


def _variance(rates: Values, std: float | None) -> Values:
    return rates * (1 - rates) * (1.0 if std is None else 4 * std**2)


def _mostly_solved(rng: np.random.Generator, count: int) -> Values:
    return np.where(rng.random(count) < 0.7, 1.0, np.round(rng.random(count), 9))


def _beta(alpha: float, beta: float) -> Draw:
    return lambda rng, count: np.clip(np.round(rng.beta(alpha, beta, count), 9), 1e-6, 1 - 1e-6)


POPULATIONS: tuple[tuple[str, Draw, float | None], ...] = (
    ("70 % solved", _mostly_solved, None),
    ("Beta(.2, 1)", _beta(0.2, 1), None),
    ("Beta(2, 2)", _beta(2, 2), None),
    ("graded, Beta(2, 2)", _beta(2, 2), 0.2),
    ("graded, Beta(.5, 1)", _beta(0.5, 1), 0.2),
)
CHECKS: tuple[Check, ...] = (dead_prompts_are_left_out, variances_are_the_pools, equal_prompts_are_recognised)
