"""Pools that are not smooth: spikes of a few rates, dead pools, one rate alone, and many small families.

Prompts with known pass rates go through the whole pipeline with the simulated engine, at the default sampling. What
certificates say of them is compared with those rates: chances to be in the band, and 90 % intervals of the rate.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl

from benchmarks.checks import Check, Figure, at_least, at_most
from benchmarks.decisions.sampling import BAND, curate_rates, draw_rates
from benchmarks.decisions.truth_forecast import worst_decile
from learnable.filters.arrays import Flags, Values

POOLS, PROMPTS = 3, 3_000
FEW = 60  # kept prompts of all pools: with fewer, what is said of all prompts is compared
SAID, DECILE, COVERED = 0.02, 0.04, 0.88
POPULATIONS = {
    "rates .12, .5, .88": "spikes:0.12,0.5,0.88",
    "rates .18, .22, .78, .82": "spikes:0.18,0.22,0.78,0.82",
    "rate .15 alone": "spikes:0.15",
    "Beta(.7, .9)": "beta:0.7,0.9",
    "Beta(8, 24)": "beta:8,24",
    "70 % dead": "mix:0=0.7,beta:1.5,2",
}
FAMILIES, MEMBERS = 300, 12
CONCENTRATION = 6.0  # of a family's rates about its mean, as alpha + beta
DEAD = 0.1  # of the families: no prompt of theirs is ever solved
TIMES = 3.0  # the processor time of as many prompts in one family


@dataclass(frozen=True)
class Judged:
    """What certificates say of pools of prompts, beside the truth: arrays of shape (pools, prompts)."""

    chances: Values
    inside: Flags
    kept: Flags
    covered: Flags

    @classmethod
    def of(cls, pools: Sequence[pl.DataFrame]) -> Judged:
        """Read groups of `curate_rates` that all have rollouts, equally many a pool."""
        rate, chance, low, high = (
            np.array([pool[name].to_numpy() for pool in pools]) for name in ("rate", "p_in_band", "ci_low", "ci_high")
        )
        kept = np.array([(pool["decision"] == "keep").to_numpy() for pool in pools])
        return cls(chance, (rate >= BAND.low) & (rate <= BAND.high), kept, (low <= rate) & (rate <= high))

    def compare(self) -> tuple[float, str]:
        """Return the mean chance said of the kept minus the share of them in the band, and a note.

        Of all prompts instead where nearly nothing is kept.
        """
        enough = int(self.kept.sum()) >= FEW
        chosen = self.kept if enough else np.ones_like(self.kept)
        said, true = float(self.chances[chosen].mean()), float(self.inside[chosen].mean())
        whose = "kept" if enough else f"all prompts, as {int(self.kept.sum())} are kept"
        return said - true, f"said {said:.4f}, true {true:.4f}, of {int(chosen.sum()):,} {whose}"


def certificates_of_spiky_pools(seed: int) -> Iterator[Figure]:
    """What is said of the kept, chances by decile and intervals of the rate, over populations with and without gaps."""
    for name, population in POPULATIONS.items():
        judged = Judged.of([curate_population(population, seed, number) for number in range(POOLS)])
        difference, note = judged.compare()
        yield at_most(f"in the band, said off true, {name}", abs(difference), SAID, note)
        worst, where = worst_decile(judged.chances, judged.inside.astype(np.float64))
        yield at_most(f"worst decile beyond 3 s.e., {name}", worst, DECILE, where)
        covered = judged.covered.mean()
        yield at_least(f"coverage of 90 % intervals, {name}", covered, COVERED, f"{judged.covered.size:,} prompts")


def many_small_families(seed: int) -> Iterator[Figure]:
    """Families of 12 prompts each against the same prompts in one family: processor time, and whether chances hold."""
    yield from measure_families(seed, FAMILIES)


def measure_families(seed: int, families: int) -> Iterator[Figure]:
    """Measure so many families of `MEMBERS` prompts, a tenth of them dead, of a mean of their own each."""
    rng = np.random.default_rng([seed, 12])
    rates = draw_family_rates(families, rng)
    names = [f"family {number:03}" for number in np.repeat(np.arange(families), MEMBERS)]
    shuffled = rng.permutation(len(rates))  # so that a family is not together in the file
    rates, names = rates[shuffled], [names[place] for place in shuffled]
    time_curation(rates, None, seed)  # so that imports count for neither
    alone, _ = time_curation(rates, None, seed)
    apart, groups = time_curation(rates, names, seed)
    note = f"{apart:.1f} s for {families} families, {alone:.1f} s for one, {len(rates):,} prompts"
    yield at_most("processor time of small families, times one family", apart / alone, TIMES, note)
    judged = Judged.of([groups])
    difference, note = judged.compare()
    yield at_most("in the band, said off true, small families", abs(difference), SAID, note)
    worst, where = worst_decile(judged.chances, judged.inside.astype(np.float64))
    yield at_most("worst decile beyond 3 s.e., small families", worst, DECILE, where)


def draw_family_rates(families: int, rng: np.random.Generator) -> Values:
    """Return pass rates family by family, those of a family about a mean that is drawn evenly; 0 of a dead one."""
    means = np.repeat(rng.random(families), MEMBERS)
    dead = np.repeat(np.arange(families) < DEAD * families, MEMBERS)
    rates = rng.beta(CONCENTRATION * means, CONCENTRATION * (1 - means))
    return np.where(dead, 0.0, np.round(rates, 9))


def time_curation(rates: Values, families: Sequence[str] | None, seed: int) -> tuple[float, pl.DataFrame]:
    """Return the processor seconds of a run over these prompts, and its groups."""
    with tempfile.TemporaryDirectory() as folder:
        start = process_time()
        groups, _ = curate_rates(rates, Path(folder), seed, families)
        return process_time() - start, groups


def curate_population(population: str, seed: int, number: int) -> pl.DataFrame:
    """Return the groups of one pool of a population."""
    rates = draw_rates(population, PROMPTS, np.random.default_rng([seed, number]))
    with tempfile.TemporaryDirectory() as folder:
        return curate_rates(rates, Path(folder), seed + 1000 * number)[0]


CHECKS: tuple[Check, ...] = (certificates_of_spiky_pools, many_small_families)
