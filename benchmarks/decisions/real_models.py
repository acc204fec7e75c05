"""Are certificates right about real models? Half of each prompt's rollouts decides, the other half judges.

Reads pass counts of real models from the folder in `LEARNABLE_DATA` (default `../shared/data`): k completions a prompt,
of which so many passed. The rollouts of each prompt are split at random. One half goes through the default stopping
rules, in random order, as one family a model and data set; the other half was seen by nobody, and is compared with what
the certificates say of it: the chance that G rollouts of it all agree (`zero_std_at_<G>`), G = 4, 8, 16.

What happened to a prompt is counted over all ways to take G rollouts from its other half, without replacement: an
unbiased estimate of the chance itself, whatever the rate is. Reported are, of each data set:

- said and true: the mean of both over all prompts, and over the kept ones;
- worst decile: how far the tenth of the scale from 0 to 1 that is furthest off is, beyond three standard errors, over
  all models and in the one model that is furthest off (a tenth with fewer than 30 prompts is not counted);
- log score: the mean log score of the chance in nats a prompt, the less negative the better;
- of the kept prompts, the pass rate of the other half minus that of the rollouts that decided.

Data sets with fewer than 32 rollouts a prompt are left out: they leave no half that judges.

    python -m benchmarks.decisions.real_models [--prompts 3000] [--seed 1] [--json FILE]
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import gammaln

from benchmarks.decisions.truth_forecast import worst_decile
from benchmarks.figures import make_parser, write_figures
from learnable.data.band import Band
from learnable.filters.arrays import Flags, Indices, Values
from learnable.filters.posterior.certificate import certify
from learnable.filters.stopping.budget import SamplingBudget
from learnable.filters.stopping.schedule import Schedule

DATA = Path(os.environ.get("LEARNABLE_DATA", Path(__file__).parents[3] / "shared" / "data")) / "passcounts"
FILES = {"MATH": "math_counts", "DeepScaleR": "deepscaler", "EvalPerf": "evalperf"}
MIN_ROLLOUTS = 32  # of a prompt, so that 16 are left to judge
SIZES = (4, 8, 16)  # G, rollouts that agree or do not
FAMILY = "real"


@dataclass(frozen=True)
class Judged:
    """Prompts of one model: what was said of the other half of their rollouts, and what is true of it.

    `said` and `true` are the chances that G rollouts all agree, shape (sizes, prompts). `chances` are those to be in
    the band, `excess` the pass rate of the other half minus that of the half that decided, `rollouts` those spent.
    """

    said: Values
    true: Values
    chances: Values
    excess: Values
    kept: Flags
    rollouts: Indices


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--prompts", type=int, default=3_000, help="of a model and data set, at most")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if not DATA.is_dir():
        parser.exit(0, f"no pass counts of real models in {DATA}: set LEARNABLE_DATA\n")
    figures: dict[str, Any] = {}
    for name, file in FILES.items():
        if not (path := DATA / f"{file}.parquet").is_file():
            print(f"{name}: skipped, as there is no {path.name}", flush=True)
            continue
        rng = np.random.default_rng(arguments.seed)
        judged = [judge(*counts, rng) for counts in read_counts(path, arguments.prompts, rng)]
        figures[name] = summarize(judged)
        print(describe(name, figures[name]), flush=True)
    write_figures(arguments.json, figures)


def read_counts(path: Path, prompts: int, rng: np.random.Generator) -> Iterator[tuple[Indices, Indices]]:
    """Yield rollouts and passes of the prompts of each model that has enough, so many prompts at random."""
    counts = pl.read_parquet(path, columns=["model", "prompt_id", "k", "passes"]).filter(pl.col("k") >= MIN_ROLLOUTS)
    for _, members in counts.sort("model", "prompt_id").group_by("model", maintain_order=True):
        chosen = members[rng.permutation(members.height)[:prompts]]
        yield chosen["k"].to_numpy(), chosen["passes"].to_numpy()


def judge(k: Indices, passes: Indices, rng: np.random.Generator) -> Judged:
    """Decide prompts of one model by half of their rollouts, and compare with the other half."""
    half = k // 2
    passes_of_half = rng.hypergeometric(passes, k - passes, half)
    schedule = follow(half, passes_of_half, rng)
    n, mean, variance = schedule.measure(np.arange(len(k)))
    groups = pl.DataFrame({"family": [FAMILY] * len(k), "n": n, "mean": mean, "std": np.sqrt(variance)})
    certificates = certify(groups, {FAMILY: schedule.family_priors[FAMILY]}, schedule.band)
    rest, others = k - half, passes - passes_of_half
    return Judged(
        said=np.array([certificates[f"zero_std_at_{size}"].to_numpy() for size in SIZES]),
        true=np.array([agree_without_replacement(rest, others, size) for size in SIZES]),
        chances=certificates["p_in_band"].to_numpy(),
        excess=others / rest - mean,
        kept=np.isin(np.arange(len(k)), schedule.find_certified()),
        rollouts=schedule.requested,
    )


def follow(half: Indices, passes: Indices, rng: np.random.Generator) -> Schedule:
    """Return the default schedule at its end, over prompts with so many rollouts and passes, in random order."""
    budget = SamplingBudget(max_group=min(SamplingBudget().max_group, int(half.min())))
    schedule = Schedule([FAMILY] * len(half), rng.random(len(half)), Band(), budget)
    for row, (rollouts, passed) in enumerate(zip(half, passes, strict=True)):
        rewards = rng.permutation(np.arange(rollouts) < passed)[: schedule.rewards.shape[1]]
        schedule.rewards[row, : len(rewards)] = rewards
    round_ = schedule.request_pilot()
    while len(round_):
        round_ = schedule.request_next_round()
    return schedule


def agree_without_replacement(n: Indices, passes: Indices, size: int) -> Values:
    """Return the share of the ways to take `size` of n rollouts, so many of them passed, in which all agree."""
    return _share_of_ways(n, passes, size) + _share_of_ways(n, n - passes, size)


def summarize(models: list[Judged]) -> dict[str, Any]:
    """Return the figures of one data set over its models, by name."""
    kept = np.concatenate([model.kept for model in models])
    figures: dict[str, Any] = {
        "models": len(models),
        "prompts": len(kept),
        "kept": int(kept.sum()),
        "rollouts_per_prompt": float(np.concatenate([model.rollouts for model in models]).mean()),
        "chance_in_band_of_kept": float(np.concatenate([model.chances for model in models])[kept].mean()),
        "excess_of_kept": float(np.concatenate([model.excess for model in models])[kept].mean()),
    }
    for number, size in enumerate(SIZES):
        said, true = (_pad([getattr(model, key)[number] for model in models]) for key in ("said", "true"))
        worst, where = worst_decile(said, true)
        by_model = [(said[[row]], true[[row]]) for row in range(len(models))]
        said, true = said[~np.isnan(said)], true[~np.isnan(true)]
        figures[f"G={size}"] = {
            "said": float(said.mean()),
            "true": float(true.mean()),
            "said_of_kept": float(said[kept].mean()),
            "true_of_kept": float(true[kept].mean()),
            "worst_decile": float(worst),
            "where": where,
            "worst_model": max(float(worst_decile(*of_model)[0]) for of_model in by_model),
            "log_score": log_score(said, true),
        }
    return figures


def log_score(said: Values, true: Values) -> float:
    """Return the mean log score of chances, in nats a prompt: the less negative, the better."""
    safe = np.clip(said, 1e-9, 1 - 1e-9)
    return float((true * np.log(safe) + (1 - true) * np.log1p(-safe)).mean())


def describe(name: str, figures: dict[str, Any]) -> str:
    """Return the figures of a data set as lines."""
    lines = [
        f"{name}: {figures['models']} models, {figures['prompts']:,} prompts, {figures['kept']:,} kept, "
        f"{figures['rollouts_per_prompt']:.2f} rollouts a prompt",
        f"  kept: chance in the band {figures['chance_in_band_of_kept']:.3f}, "
        f"pass rate of the other half {figures['excess_of_kept']:+.4f}",
    ]
    for size in SIZES:
        row = figures[f"G={size}"]
        lines.append(
            f"  G = {size:<2}  all: said {row['said']:.4f}, true {row['true']:.4f}   "
            f"kept: said {row['said_of_kept']:.4f}, true {row['true_of_kept']:.4f}   "
            f"log score {row['log_score']:.4f}   worst decile {row['worst_decile']:.4f} ({row['where']}), "
            f"of one model {row['worst_model']:.4f}"
        )
    return "\n".join(lines)


def _share_of_ways(n: Indices, members: Indices, size: int) -> Values:
    """Return the share of the ways to take `size` of n that take from these members alone."""
    enough = members >= size
    some = np.where(enough, members, size)
    ways = gammaln(some + 1) - gammaln(some - size + 1) - gammaln(n + 1) + gammaln(n - size + 1)
    return np.where(enough, np.exp(ways), 0.0)


def _pad(rows: list[Values]) -> Values:
    """Return rows of different lengths as one array, NaN where a row has ended."""
    padded = np.full((len(rows), max(map(len, rows))), np.nan)
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    return padded


if __name__ == "__main__":
    main()
