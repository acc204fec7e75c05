"""How well the live sampler predicts pass rates while a policy moves: on a real GRPO run, and on a simulated pool.

visits: 1,209 prompts of a real GRPO run (`rl_visits` in the folder of `LEARNABLE_DATA`), 8 completions at each visit.
From the visits before, and nothing else, the pass count of visit 10, 20 and 40 is predicted of each prompt: the share
of the variance explained, beside that of the exponential mean of the prompt's own past that explains most (its factor
chosen in hindsight), and how often a 90 % interval has the count (a count on an end of it counts in part, as much as
makes the interval one of 90 %).

pool: number tasks of which 70 % have no spread, and a policy whose log-odds rise by RISE over the run, and walk apart
by WALK a batch. 3 prompts x 16 completions a batch: the share of groups without spread in each fifth of the run, for
prompts drawn at random, and by the live sampler: cold, by the pool's mean (prompts without texts), predicting, and with
certificates of CERTIFIED completions.

    python -m benchmarks.decisions.live_prediction [--part visits] [--prompts 1400] [--batches 480] [--seed 1] [--json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit, logit
from scipy.stats import binom

from benchmarks.decisions.prediction import draw_numbers
from benchmarks.decisions.real_models import DATA
from learnable.data.records import Prompt
from learnable.filters.arrays import Values
from learnable.train.live.described import describe_rows
from learnable.train.live.predicted import PredictedRates
from learnable.train.live.rates import LOG_ODDS, Certificates, PassRates
from learnable.train.live.sampler import BatchLayout, PromptPicker

VISITS, COMPLETIONS = (10, 20, 40), 8
FACTORS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
GROUP, PLACES, DEAD_SHARE, DEAD_FROM = 16, 3, 0.7, 0.9
RISE, WALK, CERTIFIED = 1.0, 0.02, 24
ARMS = ("random", "cold", "mean", "predicted", "certificates")


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=("visits", "pool"), help="repeatable; both by default")
    parser.add_argument("--prompts", type=int, default=1_400)
    parser.add_argument("--batches", type=int, default=480)
    parser.add_argument("--seed", type=int, action="append", help="of the pool, repeatable; 1 by default")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    parts = arguments.part or ("visits", "pool")
    if "visits" in parts and DATA.is_dir():
        for figures in predict_visits():
            print(json.dumps(figures) if arguments.json else describe(figures), flush=True)
    for seed in (arguments.seed or [1]) if "pool" in parts else []:
        for arm in ARMS:
            figures = train_on_pool(arm, arguments.prompts, arguments.batches, seed)
            print(json.dumps(figures) if arguments.json else describe(figures), flush=True)


def describe(figures: dict[str, Any]) -> str:
    """Return figures as a line."""
    return ", ".join(f"{name} {value}" for name, value in figures.items())


def predict_visits() -> Iterator[dict[str, Any]]:
    """Yield the figures of each of `VISITS`: what the visits before it told of it."""
    rows = pl.read_parquet(DATA / "rl_visits.parquet")["passes_by_visit"].to_list()
    counts = np.array([row[: max(VISITS) + 1] for row in rows], np.float64)
    rates = PredictedRates(PassRates.of(Certificates.unknown(len(counts))), np.ones(len(counts), bool), ())
    for visit in range(max(VISITS) + 1):
        if visit in VISITS:
            yield {"visit": visit, **judge(rates, counts[:, :visit], counts[:, visit])}
        groups = {row: (int(count), COMPLETIONS - int(count)) for row, count in enumerate(counts[:, visit])}
        rates.observe_batch(groups)


def judge(rates: PredictedRates, past: Values, counts: Values) -> dict[str, Any]:
    """Compare what is predicted of the counts, (prompts,), with them; `past` is (prompts, visits)."""
    each = expit(rates.centers[:, None] + LOG_ODDS)
    chances = np.stack([(rates.weights * binom.pmf(k, COMPLETIONS, each)).sum(1) for k in range(COMPLETIONS + 1)], 1)
    below = np.concatenate([np.zeros((len(counts), 1)), np.cumsum(chances, axis=1)], axis=1)
    place = counts.astype(int)[:, None]
    low, high = (np.take_along_axis(below, place + more, axis=1)[:, 0] for more in (0, 1))
    inside = (np.minimum(high, 0.95) - np.maximum(low, 0.05)).clip(0) / (high - low)
    weights = {factor: factor ** np.arange(past.shape[1] - 1, -1, -1.0) for factor in FACTORS}
    means = {factor: explain(past @ weight / weight.sum(), counts) for factor, weight in weights.items()}
    best = max(means, key=lambda factor: means[factor])
    return {
        "explained": round(explain(COMPLETIONS * rates.expect_rates(), counts), 4),
        "by_best_mean": round(means[best], 4),
        "its_factor": best,
        "in_90_%": round(float(inside.mean()), 4),
        "drift": rates.shared.drift,
        "forgetting": rates.shared.forgetting,
        "scale": rates.shared.scale,
    }


def explain(predicted: Values, counts: Values) -> float:
    """Return the share of the variance of counts that is explained."""
    return float(1 - np.square(counts - predicted).sum() / np.square(counts - counts.mean()).sum())


def draw_pool(count: int, seed: int) -> list[Prompt]:
    """Return number tasks of which `DEAD_SHARE` have no spread in a group of `GROUP`, in random order."""
    rng = np.random.default_rng([seed, 7])
    prompts = draw_numbers(12 * count, rng)
    rates = np.array([prompt.spec["rate"] for prompt in prompts])
    alike = rates**GROUP + (1 - rates) ** GROUP
    dead = round(DEAD_SHARE * count)
    kept = np.flatnonzero((rates > 0.2) & (rates < 0.8))[: count - dead]
    chosen = rng.permutation(np.concatenate([np.flatnonzero(alike >= DEAD_FROM)[:dead], kept]))
    return [prompts[place] for place in chosen]


def train_on_pool(arm: str, count: int, batches: int, seed: int) -> dict[str, Any]:
    """Draw batches for a policy that moves, and return the shares of groups without spread."""
    from datasets import Dataset

    pool = draw_pool(count, seed)
    rng = np.random.default_rng([seed, 8])
    odds = logit(np.clip([prompt.spec["rate"] for prompt in pool], 1e-6, 1 - 1e-6))
    known = Certificates.unknown(count)
    if arm == "certificates":
        passes = rng.binomial(CERTIFIED, expit(odds))
        known = Certificates(known.alpha + passes, known.beta + CERTIFIED - passes, known.p_zero, known.p_one)
    rates = PassRates.of(known)
    if arm in ("mean", "predicted"):
        texts = [prompt.text for prompt in pool] if arm == "predicted" else [""] * count
        rates = PredictedRates(rates, np.ones(count, bool), describe_rows(Dataset.from_dict({"prompt": texts})))
    picker = PromptPicker(rates, BatchLayout(PLACES, GROUP, 1), seed, is_even=arm == "random")
    alike = []
    for _ in range(batches):
        batch = picker.draw()
        passes = rng.binomial(GROUP, expit(odds[batch]))
        alike += [bool(all_same) for all_same in (passes == 0) | (passes == GROUP)]
        picker.observe({prompt: (int(k), GROUP - int(k)) for prompt, k in zip(batch, passes, strict=True)})
        odds += RISE / batches + WALK * rng.standard_normal(count)
    fifths = [round(float(part.mean()), 3) for part in np.array_split(np.array(alike, float), 5)]
    figures = {"arm": arm, "seed": seed, "zero_std": round(float(np.mean(alike)), 3), "fifths": fifths}
    return figures | ({name: round(value, 3) for name, value in rates.list_metrics([0])})


if __name__ == "__main__":
    main()
