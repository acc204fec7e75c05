"""Predictions of pass rates with vLLM and the bundled policy, checked by fresh rollouts of what was not sampled.

A pool is curated twice, with `--predict auto` and `off`. Then prompts are asked anew with other random numbers: those
that were rejected unsampled, and others drawn from all that have a certificate.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import beta, betabinom

from benchmarks.decisions.refresh import learnable
from benchmarks.decisions.sampling import BAND
from learnable.data.records import Prompt
from learnable.data.sources.family import take_turns
from learnable.filters.arrays import Values
from learnable.filters.decisions.decide import PREDICTED

FRESH = 32  # rollouts of each prompt that is checked
CHECKED, CALIBRATED = 2_000, 600  # prompts at most: rejected unsampled, and of all that have a certificate
FAMILIES = ("arithmetic", "comparison", "counting")  # of the demo: those whose rewards are pass and fail
SETTINGS = 24  # of each data set's knobs, drawn at random
KNOBS: dict[str, dict[str, Sequence[int]]] = {  # of reasoning-gym: from very easy to beyond the bundled policy
    "chain_sum": {"max_terms": (2, 6), "max_digits": (1, 3)},
    "letter_counting": {"max_words": (1, 24)},
    "lcm": {"max_value": (3, 60)},
    "gcd": {"max_value": (3, 200)},
    "count_bits": {"max_n": (4, 2_000)},
    "leg_counting": {"max_animals": (2, 9)},
    "products": {"max_terms": (2, 3), "max_digits": (1, 3)},
    "count_primes": {"max_n": (5, 400)},
}
MIN_KNOBS = {"min_terms": 2, "min_digits": 1, "min_words": 1, "min_value": 1, "min_n": 1, "min_animals": 1}
BELIEF = ("alpha", "beta", "p_zero", "p_one")  # columns of a certificate
ROW = ("prompt", "verifier", "spec", "family", "form", "difficulty")


def measure(
    population: str, prompts: int, seed: int, fresh_seed: int, folder: Path, *, calibrated: int = CALIBRATED
) -> dict[str, Any]:
    """Return what a pool costs with predictions and without, and how right they are by fresh rollouts."""
    started = time.monotonic()
    find = ("find", "--limit", prompts, "--seed", seed, "--test-share", 0, "--near-duplicates", 1, "--store")
    source: tuple[object, ...] = tuple(part for name in FAMILIES for part in ("--family", name))
    if population == "gym":
        source = ("--prompts", write_rows(folder / "gym.jsonl", map(to_row, islice(draw_gym(seed), prompts))))
    reports, groups = {}, {}
    for predict in ("auto", "off"):
        reports[predict] = learnable(*find, folder / "store", *source, "--predict", predict, "--name", predict)
        groups[predict] = pl.read_parquet(folder / "store" / "groups" / f"{reports[predict]['run_id']}.parquet")
    told = groups["auto"].filter(pl.col("p_in_band").is_not_null())
    is_unsampled = pl.col("decision").cast(pl.String).is_in(PREDICTED)
    unsampled = told.filter(is_unsampled)
    chosen = told.sample(min(calibrated, told.height), seed=fresh_seed)
    checked = unsampled.sample(min(CHECKED, unsampled.height), seed=fresh_seed)
    to_check = pl.concat([chosen, checked]).unique("prompt_id", maintain_order=True)
    fresh = ask_anew(to_check, fresh_seed, folder)
    rollouts = {predict: report["totals"]["rollouts"] for predict, report in reports.items()}
    return {
        "population": population,
        "prompts": told.height,
        "seed": seed,
        "fresh_seed": fresh_seed,
        "rollouts_ratio": round(rollouts["auto"] / rollouts["off"], 4),
        "rollouts": rollouts,
        "kept": {predict: report["totals"]["kept"] for predict, report in reports.items()},
        "predictions": {
            family: {key: one[key] for key in ("deviance_explained", "rejected", "audited", "sources")}
            for family, one in reports["auto"].get("predictions", {}).items()
        },
        "rejected_unsampled": dict(unsampled["family"].value_counts().iter_rows()),
        "checked": estimate_in_band(checked.select("prompt_id", *BELIEF).join(fresh, on="prompt_id")),
        "deciles": list_deciles(chosen.select("prompt_id", "p_in_band", *BELIEF).join(fresh, on="prompt_id")),
        "seconds": round(time.monotonic() - started),
    }


def estimate_in_band(fresh: pl.DataFrame) -> dict[str, float | int]:
    """Estimate which share of prompts is in the band, by `FRESH` rollouts of each.

    `plain` is the share whose fresh rate is in the band, noise and all: of prompts near its ends some stray into it.
    `at_most` is its upper bound (Clopper and Pearson, one-sided, 95 %), `expected` what it should be by the
    certificates, with the same noise.
    """
    count = fresh.height
    if not count:
        return {"prompts": 0, "found": 0, "plain": 0.0, "at_most": 1.0, "expected": 0.0}
    found = int(fresh["mean"].is_between(BAND.low, BAND.high).sum())
    figures = {
        "plain": found / count,
        "at_most": float(beta.ppf(0.95, found + 1, count - found)) if found < count else 1.0,
        "expected": float(expect_in_band(fresh).mean()),
    }
    return {"prompts": count, "found": found, **{name: round(value, 4) for name, value in figures.items()}}


def expect_in_band(certified: pl.DataFrame) -> Values:
    """Return the chance that the rate of `FRESH` rollouts is in the band, by each prompt's certificate."""
    a, b, zero, one = (certified[name].to_numpy()[:, None] for name in BELIEF)
    passes = np.arange(FRESH + 1)
    inside = (passes >= BAND.low * FRESH) & (passes <= BAND.high * FRESH)
    mass: Values = np.asarray(betabinom.pmf(passes, FRESH, a, b))
    chances: Values = (1 - zero - one)[:, 0] * mass[:, inside].sum(axis=1)
    return chances


def list_deciles(checked: pl.DataFrame) -> list[dict[str, float | int]]:
    """Return for each decile of `p_in_band` the mean chance said, its standard error, and the share that is there."""
    rows = []
    for decile in range(10):
        mine = checked.filter((pl.col("p_in_band") * 10).floor().clip(0, 9) == decile)
        said = mine["p_in_band"].to_numpy()
        if mine.height:
            error = float(np.sqrt((said * (1 - said)).sum())) / mine.height
            rows.append(
                {"decile": decile, "said": round(float(said.mean()), 4), "error": round(error, 4)}
                | estimate_in_band(mine)
            )
    return rows


def ask_anew(to_check: pl.DataFrame, seed: int, folder: Path) -> pl.DataFrame:
    """Return the `mean` of fresh rollouts of prompts, in a store of their own."""
    file = write_rows(folder / "fresh.jsonl", to_check.select(ROW).iter_rows(named=True))
    fixed = ("--sampling", "fixed", "--group-size", FRESH, "--predict", "off", "--near-duplicates", 1)
    report = learnable(
        "find", "--prompts", file, *fixed, "--seed", seed, "--test-share", 0, "--store", folder / "fresh"
    )
    groups = pl.read_parquet(folder / "fresh" / "groups" / f"{report['run_id']}.parquet")
    return groups.filter(pl.col("n") > 0).select("prompt_id", "mean")


def draw_gym(seed: int) -> Iterator[Prompt]:
    """Yield prompts of eight data sets of reasoning-gym, each at knobs drawn at random, which take turns."""
    from learnable.data.sources.gym.configuring import make_config
    from learnable.data.sources.gym.generation import entries
    from learnable.data.sources.gym.prompts import make_prompt

    rng = random.Random(f"{seed}:gym")
    streams = []
    for number in range(SETTINGS):
        for name, knobs in KNOBS.items():
            drawn = {knob: round(low * (high / low) ** rng.random()) for knob, (low, high) in knobs.items()}
            least = {f"min_{knob.partition('_')[2]}": MIN_KNOBS[f"min_{knob.partition('_')[2]}"] for knob in knobs}
            config = make_config(name, {knob: str(value) for knob, value in {**least, **drawn}.items()})
            streams.append(entries(name, config, seed * SETTINGS + number))
    for entry in take_turns(streams):
        yield make_prompt(entry, "reasoning-gym")


def to_row(prompt: Prompt) -> dict[str, Any]:
    """Return a prompt as a row of a file."""
    return {name: getattr(prompt, name) for name in ROW}


def write_rows(file: Path, rows: Iterator[dict[str, Any]]) -> Path:
    """Write rows as JSON lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(row, default=dict)}\n" for row in rows))
    return file


def describe(figures: dict[str, Any]) -> str:
    """Return the figures of a population as lines."""
    checked = figures["checked"]
    lines = [
        f"{figures['population']}: rollouts {figures['rollouts']}, {figures['rollouts_ratio']:.3f}; "
        f"kept {figures['kept']}; rejected unsampled {figures['rejected_unsampled']}",
        f"  of {checked['prompts']} of them {checked['found']} have a fresh rate in the band ({checked['plain']:.2%}, "
        f"at most {checked['at_most']:.2%}); expected {checked['expected']:.2%}",
    ]
    lines += [
        f"  decile {row['decile']}: {row['prompts']} prompts, said {row['said']:.3f} (s.e. {row['error']:.3f}), plain "
        f"{row['plain']:.3f} (expected {row['expected']:.3f})"
        for row in figures["deciles"]
    ]
    return "\n".join(lines)
