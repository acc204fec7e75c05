"""How many rollouts do decisions cost, and how right are they, against fixed groups?

Draws prompts with known pass rates, curates them with the simulated engine through the whole pipeline (pilot, prior
fitted from it, stopping, ledger, Parquet), and compares the kept set with the truth: the share of kept prompts whose
rate is in 0.2-0.8 (precision), the share of those in it that are kept (recall), and all rollouts spent, the pilot's
among them. Beside it, on the same prompts: fixed groups judged by their mean, and "4 rollouts, on to 24 if they
disagree". With `--want`, what a goal costs instead: the rollouts paid for each kept prompt that is truly in the band,
by the stopping rules alone; and, of a population whose prior is known, what it would cost at several recalls.

A population is `beta:A,B`, or `mix:RATE=SHARE,...,beta:A,B`, where so many prompts have one rate each and the rest is
smooth, or `spikes:RATE,...`: nothing but these rates, equally often.

    python -m benchmarks.decisions.sampling --population beta:0.3,0.3 [--prompts 20000] [--seed 1] [--json]
    python -m benchmarks.decisions.sampling --population mix:1.0=0.7,beta:1,1  # 70 % always solved
    python -m benchmarks.decisions.sampling --population spikes:0.12,0.5,0.88  # three rates and nothing between
    python -m benchmarks.decisions.sampling --population mix:0=0.95,beta:1,1 --want 200 --precision 0.9
    python -m benchmarks.decisions.sampling --frontier docs/frontier.png
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from learnable.data.band import Band
from learnable.data.errors import LearnableError
from learnable.filters.arrays import Flags, Indices, Values
from learnable.filters.posterior.belief import Belief
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.operating_point import match_fixed
from learnable.filters.stopping.schedule import Schedule
from learnable.filters.stopping.table import StoppingOutcome, compute_fixed_outcome
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings

BAND = Band()
FIXED_GROUPS = (8, 16, 32)
SCREEN, SCREENED_GROUP = 4, 24
RECALLS = (0.0, 0.65, 0.7, 0.8, None)  # at the least, and None that of a fixed group
KNOWN = {
    "beta:0.3,0.3": Belief.of_moments(0.3, 0.3),
    "beta:0.2,1": Belief.of_moments(0.2, 1),
    "mix:1.0=0.7,beta:1,1": Belief.of_moments(1, 1, one=0.7),
}
SPIKES = ("spikes:0.12,0.5,0.88", "spikes:0.18,0.22,0.78,0.82", "spikes:0.15")
POPULATIONS = (*KNOWN, *SPIKES)  # of which the frontier is plotted for those whose prior is known


@dataclass(frozen=True, slots=True)
class Quality:
    """How right a way of deciding is, and what it costs."""

    precision: float
    recall: float
    rollouts_per_prompt: float


@dataclass(frozen=True, slots=True)
class Price:
    """What a goal costs: prompts looked at and kept, those of the kept in the band, and all rollouts spent on it."""

    looked_at: int
    kept: int
    good: int
    rollouts: int

    @property
    def rollouts_per_good(self) -> float:
        """Rollouts for each kept prompt that is truly in the band; infinite where there is none."""
        return self.rollouts / self.good if self.good else float("inf")


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--population", action="append", help="of which prompts are drawn; repeatable")
    parser.add_argument("--prompts", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object a population")
    parser.add_argument("--frontier", type=Path, help="plot price against quality here, and measure nothing")
    parser.add_argument("--want", type=int, help="measure what so many kept prompts cost")
    parser.add_argument("--precision", type=float, help="of the kept, with --want")
    arguments = parser.parse_args()
    if arguments.frontier:
        plot_frontier(arguments.frontier)
        return
    for population in arguments.population or POPULATIONS:
        if arguments.want:
            goal = measure_goal(population, arguments.prompts, arguments.seed, arguments.want, arguments.precision)
            print(json.dumps(goal) if arguments.json else describe_goal(goal), flush=True)
            continue
        figures = measure(population, arguments.prompts, arguments.seed)
        print(json.dumps(figures) if arguments.json else describe(figures), flush=True)


def measure(population: str, prompts: int, seed: int) -> dict[str, Any]:
    """Curate one population and return the figures of every way of deciding."""
    rng = np.random.default_rng(seed)
    rates = draw_rates(population, prompts, rng)
    with tempfile.TemporaryDirectory() as folder:
        ours = curate(rates, Path(folder), seed)
    fixed = [{"group_size": size} | asdict(judge_fixed(rates, size, rng)) for size in FIXED_GROUPS]
    setting = {"population": population, "prompts": prompts, "seed": seed}
    return setting | asdict(ours) | {"fixed": fixed, "screened": asdict(judge_screened(rates, rng))}


def measure_goal(population: str, prompts: int, seed: int, want: int, precision: float | None) -> dict[str, Any]:
    """Return what it costs to find `want` prompts by the stopping rules, and as many good ones by a fixed screen.

    The screen ("4, on to 24 if they disagree") goes through the same prompts in order until as many of what it keeps
    are truly in the band, or to the end of the pool.
    """
    rng = np.random.default_rng(seed)
    rates = draw_rates(population, prompts, rng)
    schedule = follow(rates, rng, SamplingBudget(want=want, precision=precision))
    kept = schedule.find_certified()
    spent = int(schedule.requested.sum())
    good = int(_find_inside(rates[kept]).sum())
    ours = Price(int((schedule.requested > 0).sum()), len(kept), good, spent)
    setting = {"population": population, "prompts": prompts, "seed": seed, "want": want, "precision": precision}
    ways = {"ours": ours, "screened": screen_until(rates, good, rng)}
    figures = {name: asdict(way) | {"rollouts_per_good": way.rollouts_per_good} for name, way in ways.items()}
    known = [cost_if_known(KNOWN[population], want, recall) for recall in RECALLS] if population in KNOWN else []
    return setting | figures | {"known": known}


def cost_if_known(prior: Belief, want: int, recall: float | None) -> dict[str, float]:
    """Return what a goal costs on average by the cheapest rule of such a recall, where the prior is the truth."""
    outcome = match_fixed(prior, BAND, max_group=SamplingBudget().max_group, recall=recall).outcome
    prompts = want / outcome.kept
    return {"recall": outcome.recall, "looked_at": prompts, "rollouts": prompts * outcome.rollouts}


def screen_until(rates: Values, good: int, rng: np.random.Generator) -> Price:
    """Screen prompts in order until so many of the kept are truly in the band."""
    kept, costs = _screen(rates, rng)
    found = np.cumsum(kept & _find_inside(rates))
    end = min(int(np.searchsorted(found, good)) + 1, len(rates))
    return Price(end, int(kept[:end].sum()), int(found[end - 1]), int(costs[:end].sum()))


def curate(rates: Values, folder: Path, seed: int) -> Quality:
    """Curate prompts with these pass rates, and compare what is kept with the truth."""
    groups, report = curate_rates(rates, folder, seed)
    kept = (groups["decision"] == "keep").to_numpy()
    return _quality(groups["rate"].to_numpy(), kept, report.totals.rollouts)


def curate_rates(
    rates: Values, folder: Path, seed: int, families: Sequence[str] | None = None
) -> tuple[pl.DataFrame, CurationReport]:
    """Run the pipeline over prompts with these pass rates, and return its groups with their `rate`, and its report.

    `families` names each prompt's family; without it all are of one.
    """
    file = folder / "prompts.jsonl"
    named = [{"family": name} for name in families] if families is not None else [{}] * len(rates)
    rows = (
        {"prompt": f"prompt {i}", "verifier": "simulated", "spec": {"rate": rate}} | family
        for i, (rate, family) in enumerate(zip(rates.tolist(), named, strict=True))
    )
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    settings = CurateSettings(
        prompts=PromptSettings(location=str(file)),
        engine=SimulatedSettings(),
        budget=SamplingBudget(),
        seed=seed,
        store=str(folder / "store"),
        workers=0,
    )
    report = run_curation(settings)
    [groups] = (folder / "store" / "groups").glob("*.parquet")
    rate = pl.col("spec").str.json_path_match("$.rate").cast(pl.Float64)
    return pl.read_parquet(groups).with_columns(rate.alias("rate")), report


def sample(rates: Values, rng: np.random.Generator) -> Quality:
    """Decide prompts with these pass rates by the stopping rules alone: as `curate` does, without files and engine."""
    schedule = follow(rates, rng, SamplingBudget())
    kept = np.isin(np.arange(len(rates)), schedule.find_certified())
    return _quality(rates, kept, int(schedule.requested.sum()))


def follow(rates: Values, rng: np.random.Generator, budget: SamplingBudget) -> Schedule:
    """Return a schedule at its end, over prompts of one family with these pass rates."""
    schedule = Schedule(["simulated"] * len(rates), rng.random(len(rates)), BAND, budget)
    schedule.rewards[:] = rng.random(schedule.rewards.shape) < rates[:, None]
    round_ = schedule.request_pilot()
    while len(round_):
        round_ = schedule.request_next_round()
    return schedule


def judge_fixed(rates: Values, group_size: int, rng: np.random.Generator) -> Quality:
    """Keep what has a mean in the band after a fixed group."""
    means = rng.binomial(group_size, rates) / group_size
    return _quality(rates, (means >= BAND.low) & (means <= BAND.high), group_size * len(rates))


def judge_screened(rates: Values, rng: np.random.Generator) -> Quality:
    """Give up after four rollouts that agree, else go on to 24 and look at the mean."""
    kept, costs = _screen(rates, rng)
    return _quality(rates, kept, int(costs.sum()))


def draw_rates(population: str, count: int, rng: np.random.Generator) -> Values:
    """Draw pass rates. Raises `LearnableError` for a population that is not understood."""
    kind, _, text = population.partition(":")
    if kind == "spikes" and re.fullmatch(r"[\d.]+(,[\d.]+)*", text):
        return rng.permutation(np.resize([float(rate) for rate in text.split(",")], count))
    *points, shapes = re.split(r",(?=beta:)|,(?=[\d.]+=)", text) if kind == "mix" else [population]
    found = re.fullmatch(r"beta:([\d.]+),([\d.]+)", shapes)
    if found is None or not all(re.fullmatch(r"[\d.]+=[\d.]+", point) for point in points):
        raise LearnableError(
            f"--population {population!r}: give beta:A,B, mix:RATE=SHARE,...,beta:A,B, or spikes:RATE,..."
        )
    rates = np.round(rng.beta(float(found[1]), float(found[2]), count), 9)
    uniforms, start = rng.random(count), 0.0
    for point in points:
        rate, share = (float(number) for number in point.split("="))
        rates[(uniforms >= start) & (uniforms < start + share)] = rate
        start += share
    return rates


def describe(figures: dict[str, Any]) -> str:
    """Return the figures as a table."""
    rows = [("optimal stopping", figures)]
    rows += [(f"fixed {row['group_size']}", row) for row in figures["fixed"]]
    rows += [("4, to 24 if they disagree", figures["screened"])]
    lines = [f"{figures['population']}, {figures['prompts']:,} prompts, seed {figures['seed']}"]
    lines += [
        f"  {name:<26} precision {row['precision']:.3f}  recall {row['recall']:.3f}  "
        f"{row['rollouts_per_prompt']:6.2f} rollouts a prompt"
        for name, row in rows
    ]
    return "\n".join(lines)


def describe_goal(figures: dict[str, Any]) -> str:
    """Return what a goal costs as a table."""
    lines = [
        f"{figures['population']}, {figures['prompts']:,} prompts, seed {figures['seed']}: "
        f"{figures['want']} wanted, precision {figures['precision']}"
    ]
    lines += [
        f"  {name:<26} {row['good']} good of {row['kept']} kept of {row['looked_at']:,} looked at, "
        f"{row['rollouts']:,} rollouts, {row['rollouts_per_good']:.2f} a good one"
        for name, row in (("optimal stopping", figures["ours"]), ("4, to 24 if they disagree", figures["screened"]))
    ]
    lines += [
        f"  {'if all were known':<26} recall {row['recall']:.3f}: {row['looked_at']:,.0f} looked at, "
        f"{row['rollouts']:,.0f} rollouts"
        for row in figures["known"]
    ]
    return "\n".join(lines)


def plot_frontier(path: Path) -> None:
    """Plot precision and recall against price: fixed groups, and stopping rules that match them, priors known."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, rows = plt.subplots(2, len(KNOWN), figsize=(11, 6), sharex=True, sharey="row", layout="constrained")
    for column, (name, prior) in enumerate(KNOWN.items()):
        fixed = [compute_fixed_outcome(prior, BAND, size) for size in (8, 12, 16, 24, 32, 48)]
        matched = [_matched(prior, size) for size in (8, 12, 16, 24, 32)]
        for axis, key in zip(rows[:, column], ("precision", "recall"), strict=True):
            for outcomes, label, style in ((fixed, "fixed group", "o--"), (matched, "optimal stopping", "s-")):
                axis.plot([o.rollouts for o in outcomes], [getattr(o, key) for o in outcomes], style, label=label)
            axis.grid(alpha=0.3)
        rows[0, column].set_title(name)
        rows[1, column].set_xlabel("rollouts a prompt")
    rows[0, 0].set_ylabel("precision")
    rows[1, 0].set_ylabel("recall")
    rows[0, 0].legend(loc="lower right")
    figure.suptitle(
        "What a decision costs: each square matches the precision and recall of the circle of fixed 8, 12, 16, 24, 32"
    )
    figure.savefig(path, dpi=120)


def _matched(prior: Belief, group_size: int) -> StoppingOutcome:
    precision = compute_fixed_outcome(prior, BAND, group_size).precision
    return match_fixed(prior, BAND, max_group=64, precision=precision, reference_group=group_size).outcome


def _screen(rates: Values, rng: np.random.Generator) -> tuple[Flags, Indices]:
    """Return which prompts the fixed screen keeps, and the rollouts that it spends on each."""
    first = rng.binomial(SCREEN, rates)
    means = (first + rng.binomial(SCREENED_GROUP - SCREEN, rates)) / SCREENED_GROUP
    on = (first > 0) & (first < SCREEN)
    return on & (means >= BAND.low) & (means <= BAND.high), np.where(on, SCREENED_GROUP, SCREEN)


def _find_inside(rates: Values) -> Flags:
    return (rates >= BAND.low) & (rates <= BAND.high)


def _quality(rates: Values, kept: Flags, rollouts: int) -> Quality:
    inside = _find_inside(rates)
    right = int((kept & inside).sum())
    return Quality(
        precision=right / max(int(kept.sum()), 1),
        recall=right / max(int(inside.sum()), 1),
        rollouts_per_prompt=rollouts / len(rates),
    )


if __name__ == "__main__":
    main()
