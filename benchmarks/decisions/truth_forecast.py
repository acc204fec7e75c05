"""Rewards that repeat: is the forecast of zero-std groups true, and are certificates of graded rewards calibrated?

The forecast is made by the whole pipeline with the simulated engine, from a file of prompts with cases and partial
credit, and compared with 100,000 groups that are drawn afresh. It may be off by three standard errors: as far as chance
alone moves the forecasts of such pools by which prompts and rewards it draws, which twins of each file measure.
Certificates are those of the default sampling.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import betainc
from scipy.stats import binom, norm
from scipy.stats import t as student

from benchmarks.checks import Check, Figure, at_least, at_most, between
from learnable.data.band import Band
from learnable.data.curated.manifest import Forecast
from learnable.filters.arrays import Indices, Values
from learnable.filters.posterior.certificate import assess
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.schedule import Schedule
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings

PROMPTS, GROUPS = 2_000, 100_000
SIZES = (4, 8, 16)
TWINS = 16  # pools like that of a file, from other seeds, which tell how far chance moves a forecast
POOLS, POOL = 8, 2_000
USABLE_FILES = 10
COVERAGE, NEAR = (0.87, 0.93), 0.002  # an interval narrower than that says that the mean is known
CREDIT = 0.5
FILES = {  # how many cases, in turn, and what a share of them earns
    "3 cases": ((3,), CREDIT),
    "5 cases": ((5,), CREDIT),
    "10 cases": ((10,), CREDIT),
    "2 to 5 cases": ((2, 3, 4, 5), CREDIT),
    "1 to 10 cases": ((1, 3, 5, 10), CREDIT),
    "1 to 10 cases, full credit": ((1, 3, 5, 10), 1.0),
    "1 to 10 cases, no credit": ((1, 3, 5, 10), 0.0),
}


@dataclass(frozen=True)
class Population:
    """Prompts of a rate each, the rewards that are drawn at it, shape (prompts, rollouts), and their mean and std."""

    rates: Callable[[np.random.Generator, int], Values]
    rewards: Callable[[np.random.Generator, Values, int], Values]
    mean: Callable[[Values], Values]
    std: Callable[[Values], Values]


def forecast_of_partial_credit(seed: int) -> Iterator[Figure]:
    """Forecasts of zero-std groups of partial credit, of the curated set and the pool, against drawn groups."""
    for name, (cases, credit) in FILES.items():
        rng = np.random.default_rng(seed)
        rows, forecasts = curate(cases, rng, seed, credit=credit)
        allowed = measure_standard_errors(cases, credit, seed)
        for what, part in (("pool", rows), ("curated", rows.filter(pl.col("decision") == "keep"))):
            for size in SIZES:
                [found] = [row.zero_std_share for row in forecasts[what] if row.group_size == size]
                truth = share_of_zero_std(part, size, rng)
                bound, note = allowed[what, size]
                note = f"forecast {found:.4f}, truth {truth:.4f}; {note}"
                yield at_most(f"forecast off, {name}, {what}, G = {size}", abs(found - truth), bound, note)


def measure_standard_errors(
    cases: tuple[int, ...], credit: float, seed: int
) -> dict[tuple[str, int], tuple[float, str]]:
    """Return how far forecasts of such a file may be off by chance, and what its twins came to, by part and group size.

    It is three standard errors about the twins' own mean, so that no bias makes it larger; since they are few, where
    Student's t is as surely (Hahn and Meeker, 1991, "Statistical Intervals", section 4.7). The groups that are drawn
    for the truth have an error too.
    """
    twins = np.array([forecast_of_twin(cases, credit, np.random.default_rng([seed, n])) for n in range(TWINS)])
    deviations = float(student.isf(norm.sf(3), TWINS - 1))
    variance = twins.var(axis=0, ddof=1) * (1 + 1 / TWINS) + 0.25 / GROUPS
    return {
        (what, size): (
            round(deviations * float(variance[number, place]) ** 0.5, 4),
            f"{TWINS} twins are off by {twins[:, number, place].mean():+.4f} on average",
        )
        for number, what in enumerate(("pool", "curated"))
        for place, size in enumerate(SIZES)
    }


def forecast_of_twin(cases: tuple[int, ...], credit: float, rng: np.random.Generator) -> Values:
    """Return by how much the forecasts of a pool like that of a file are off, shape (pool and curated, sizes)."""
    population, number = _partial_credit(_beta(1, 1), cases, credit), np.resize(cases, PROMPTS)
    rates, everything = population.rates(rng, PROMPTS), np.arange(PROMPTS)
    schedule = follow_schedule(population.rewards(rng, rates, 52), rng)
    measured = (*schedule.measure(everything), schedule.list_rewards(everything))
    found = assess(schedule.family_priors["f"], Band(), *measured)
    by_value, kept, off = found.by_value, found.p_keep >= 0.5, []
    for size in SIZES:
        share = found.belief.zero_std_share(size) if by_value is None else by_value.zero_std_share(size)
        each = share - chance_of_zero_std(rates, number, credit, size)
        off.append((each.mean(), each[kept].mean()))
    return np.array(off).T


def chance_of_zero_std(rates: Values, cases: Indices, credit: float, size: int) -> Values:
    """Return the chance that a group of so many rewards agrees: as many cases pass in each, or without credit none."""
    if not credit:
        return np.asarray(rates ** (cases * size) + (1 - rates**cases) ** size, np.float64)
    chances = np.asarray(binom.pmf(np.arange(cases.max() + 1), cases[:, None], rates[:, None]), np.float64)
    return np.asarray((chances**size).sum(axis=1), np.float64)


def usable_groups_of_partial_credit(seed: int) -> Iterator[Figure]:
    """`usable_at_g` of prompts in five parts of the curated pool, by what it says, against drawn groups.

    Which prompts a file has and what was drawn of them moves the 400 of one part by .015 (a standard error), so the
    figures are means over files.
    """
    rng = np.random.default_rng(seed)
    fifths = np.array([usable_by_fifth(rng, seed + number) for number in range(USABLE_FILES)])
    for number, (found, truth) in enumerate(fifths.mean(axis=0), 1):
        note = f"certified {found:.4f}, truth {truth:.4f}, {USABLE_FILES} files"
        yield at_most(f"usable_at_g off, fifth {number} of 5, G = 4", abs(found - truth), 0.03, note)


def usable_by_fifth(rng: np.random.Generator, seed: int) -> Values:
    """Return what certificates of a file say of each fifth of its prompts and what drawn groups do, shape (5, 2)."""
    rows, _ = curate((3,), rng, seed, group_size=4)
    ordered = rows.sort("usable_at_g", "prompt_id")
    part = ordered.height // 5
    fifths = [ordered.slice(number * part, part) for number in range(5)]
    return np.array(
        [(fifth["usable_at_g"].to_numpy().mean(), 1 - share_of_zero_std(fifth, 4, rng)) for fifth in fifths]
    )


def calibration_of_tied_rewards(seed: int) -> Iterator[Figure]:
    """Chances to be in the band by decile, and intervals of the mean, over populations whose rewards repeat."""
    for name, population in populations().items():
        chances, truths, covered, known = certify_pools(population, seed)
        worst, where = worst_decile(chances, truths)
        yield at_most(f"worst decile beyond 3 s.e., {name}", worst, 0.03, where)
        note = f"{known:.0%} are known and not counted"
        if known <= 0.05:
            yield between(f"coverage of 90 % intervals, {name}", covered, *COVERAGE, note)
        else:
            yield at_least(f"coverage of 90 % intervals, {name}", covered, COVERAGE[0], note)


def populations() -> dict[str, Population]:
    """Return partial credit, three levels, floors and heavy ties, for easy and hard prompts."""
    even, easy, split = (_beta(a, b) for a, b in ((1, 1), (4, 1), (0.3, 0.3)))
    found = {}
    for cases in (3, 5, 10):
        for name, rates in (("even", even), ("easy", easy), ("split", split)):
            found[f"{cases} cases, {name}"] = _partial_credit(rates, (cases,), CREDIT)
    found["10 cases, little credit"] = _partial_credit(even, (10,), 0.2)
    found["1 to 10 cases"] = _partial_credit(even, (1, 3, 5, 10), CREDIT)
    found["1 to 10 cases, full credit"] = _partial_credit(even, (1, 3, 5, 10), 1.0)
    found["three levels"] = Population(even, _three_levels, lambda p: (p**1.5 + np.sqrt(p)) / 2, _std_of_three_levels)
    found["floor of .1"] = _with_floor(_beta(0.5, 1), 0.1)
    found["floor of .2"] = _with_floor(even, 0.2)
    found["eleven grades"] = Population(_beta(0.8, 2), _rounded, lambda p: p, _std_of_rounded)
    return found


def certify_pools(population: Population, seed: int) -> tuple[Values, Values, float, float]:
    """Return chances and truths, shape (pools, prompts), coverage of the intervals, and the share of known means."""
    rng, band = np.random.default_rng(seed), Band()
    chances, truths, covered, known = [], [], [], []
    for _ in range(POOLS):
        rates = population.rates(rng, POOL)
        schedule = follow_schedule(population.rewards(rng, rates, 52), rng)
        everything, mean = np.arange(POOL), population.mean(rates)
        measured = (*schedule.measure(everything), schedule.list_rewards(everything))
        found = assess(schedule.family_priors["f"], band, *measured)
        low, high = found.belief.interval()
        open_ = high - low > NEAR
        covered.append(((mean >= low) & (mean <= high))[open_].mean())
        known.append(1 - open_.mean())
        chances.append(found.p_in_band)
        truths.append((mean >= band.low) & (mean <= band.high))
    return np.array(chances), np.array(truths), float(np.mean(covered)), float(np.mean(known))


def follow_schedule(rewards: Values, rng: np.random.Generator) -> Schedule:
    """Return the default schedule at its end, over prompts that answer with these rewards, one row each."""
    schedule = Schedule(["f"] * len(rewards), rng.random(len(rewards)), Band(), SamplingBudget())
    width = schedule.rewards.shape[1]
    round_ = schedule.request_pilot()
    while len(round_):
        schedule.rewards[round_.prompts] = rewards[round_.prompts, :width]
        round_ = schedule.request_next_round()
    return schedule


def worst_decile(chances: Values, truths: Values) -> tuple[float, str]:
    """Return by how much the worst decile of chances is off beyond three standard errors, and say which."""
    worst, where = 0.0, "no decile is off"
    for decile in range(10):
        members = np.minimum(np.floor(10 * chances), 9) == decile
        if (count := int(members.sum())) < 30:
            continue
        off = np.where(members, truths - chances, 0.0)
        deviation = off.sum() / count
        by_pool = off.sum(axis=1) - deviation * members.sum(axis=1)
        binomial = (chances * (1 - chances))[members].sum()
        error = float(np.sqrt(max((by_pool**2).sum(), binomial)) / count)
        if abs(deviation) - 3 * error > worst:
            worst = abs(deviation) - 3 * error
            where = f"decile {decile}: {deviation:+.3f}, s.e. {error:.3f}, {count} prompts"
    return worst, where


def curate(
    cases: tuple[int, ...], rng: np.random.Generator, seed: int, group_size: int = 16, credit: float = CREDIT
) -> tuple[pl.DataFrame, dict[str, tuple[Forecast, ...]]]:
    """Curate prompts with so many cases each, in turn, and return their rows and the forecasts."""
    with tempfile.TemporaryDirectory() as folder:
        file = write_cases(Path(folder), cases, credit, rng)
        report = run_curation(
            CurateSettings(
                prompts=PromptSettings(location=str(file)),
                engine=SimulatedSettings(),
                group_size=group_size,
                seed=seed,
                store=f"{folder}/store",
                workers=0,
            )
        )
        [groups] = (Path(folder) / "store" / "groups").glob("*.parquet")
        decided = pl.read_parquet(groups).filter(pl.col("n") > 0)
    return decided, {"pool": report.forecast.pool, "curated": report.forecast.curated}


def write_cases(folder: Path, cases: tuple[int, ...], credit: float, rng: np.random.Generator) -> Path:
    """Write a file of prompts with so many cases each, in turn, and return it."""
    rates = rng.random(PROMPTS).round(9).tolist()
    specs = (
        {"rate": rate, "cases": cases[number % len(cases)], "partial_credit": credit}
        for number, rate in enumerate(rates)
    )
    rows = ({"prompt": f"prompt {n}", "verifier": "simulated", "spec": spec} for n, spec in enumerate(specs))
    file = folder / "prompts.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


def share_of_zero_std(rows: pl.DataFrame, group_size: int, rng: np.random.Generator) -> float:
    """Draw groups of these prompts afresh, and return the share whose rewards are all equal."""
    spec = pl.col("spec").str.json_path_match
    chosen = np.arange(GROUPS) % rows.height
    rate, cases, credit = (
        rows.select(spec(f"$.{key}").cast(pl.Float64)).to_series().to_numpy()[chosen, None]
        for key in ("rate", "cases", "partial_credit")
    )
    passed = rng.binomial(cases.astype(np.int64), rate, (GROUPS, group_size))
    rewards = np.where(passed == cases, 1.0, credit * passed / cases)
    return float((rewards.min(axis=1) == rewards.max(axis=1)).mean())


def _beta(alpha: float, beta: float) -> Callable[[np.random.Generator, int], Values]:
    return lambda rng, count: rng.beta(alpha, beta, count)


def _partial_credit(
    rates: Callable[[np.random.Generator, int], Values], cases: tuple[int, ...], credit: float
) -> Population:
    def draw(rng: np.random.Generator, p: Values, rollouts: int) -> Values:
        number = np.resize(cases, len(p))[:, None]
        passed = rng.binomial(number, p[:, None], (len(p), rollouts))
        return np.where(passed == number, 1.0, credit * passed / number)

    def mean(p: Values) -> Values:
        passed: Values = p ** np.resize(cases, len(p))
        return passed + credit * (p - passed)

    def std(p: Values) -> Values:
        number = np.resize(cases, len(p))
        passed = p**number
        square = credit**2 * (p**2 + p * (1 - p) / number - passed) + passed
        return np.asarray(np.sqrt(np.maximum(square - mean(p) ** 2, 0.0)), np.float64)

    return Population(rates, draw, mean, std)


def _three_levels(rng: np.random.Generator, p: Values, rollouts: int) -> Values:
    uniform = rng.random((len(p), rollouts))
    return np.where(uniform < p[:, None] ** 1.5, 1.0, np.where(uniform < np.sqrt(p)[:, None], 0.5, 0.0))


def _std_of_three_levels(p: Values) -> Values:
    square = 0.75 * p**1.5 + 0.25 * np.sqrt(p)
    return np.asarray(np.sqrt(np.maximum(square - (p**1.5 + np.sqrt(p)) ** 2 / 4, 0.0)), np.float64)


def _with_floor(rates: Callable[[np.random.Generator, int], Values], floor: float) -> Population:
    def draw(rng: np.random.Generator, p: Values, rollouts: int) -> Values:
        return floor + (1 - floor) * (rng.random((len(p), rollouts)) < p[:, None]).astype(np.float64)

    def std(p: Values) -> Values:
        return np.asarray((1 - floor) * np.sqrt(p * (1 - p)), np.float64)

    return Population(rates, draw, lambda p: floor + (1 - floor) * p, std)


def _rounded(rng: np.random.Generator, p: Values, rollouts: int) -> Values:
    inner = np.clip(p, 1e-9, 1 - 1e-9)[:, None]
    drawn = rng.beta(3 * inner, 3 * (1 - inner), (len(p), rollouts))  # a standard deviation of .25 at .5
    return np.round(10 * drawn) / 10


def _std_of_rounded(p: Values) -> Values:
    inner, ends = np.clip(p, 1e-9, 1 - 1e-9)[:, None], np.clip(np.arange(-0.5, 11) / 10, 0, 1)
    chances, grades = np.diff(betainc(3 * inner, 3 * (1 - inner), ends), axis=1), np.arange(11) / 10
    return np.asarray(np.sqrt(np.maximum(chances @ grades**2 - (chances @ grades) ** 2, 0.0)), np.float64)


CHECKS: tuple[Check, ...] = (forecast_of_partial_credit, usable_groups_of_partial_credit, calibration_of_tied_rewards)
