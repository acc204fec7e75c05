"""Where predicting pass rates pays: what a run costs with `--predict auto` against `off`, and how right it stays.

Prompts with known pass rates go through the whole pipeline with the simulated engine, in the order that each population
sets. What is kept is compared with the truth: rollouts a prompt, precision and recall (a true rate in 0.2-0.8), the
share of the prompts rejected unsampled that are truly in the band, and certificates by decile: chance said, share true,
and by how much the worst decile is off beyond three standard errors. Populations:

- numbers: four kinds of number tasks of random difficulty; the log-odds of a rate follow the numbers, plus noise;
- unrelated: the same texts, with rates that have nothing to do with them;
- sorted: 150 number tasks first, the pilot among them, then prompts of another kind, whose rates follow nothing;
- reversed: 100 number tasks first, then as many again as of `numbers`, whose rates follow the numbers the other way;
- misleading: a word that goes with success in the pilot, and with nothing after it;
- MATH, MATH with others: pass rates of a real model on MATH, with text, level and subject, and with the rates of two
  other models as columns besides (pass counts in the folder of `LEARNABLE_DATA`; left out where it is not there);
- counts: texts that say nothing, and imported counts of two other models on them, eight completions each; noisy counts:
  likewise of models that toss coins;
- demo, gym: only where they are named, with vLLM and the bundled policy: families of the demo, and eight data sets of
  reasoning-gym at random knobs. Fresh rollouts check what was rejected unsampled, and whether chances come true.

With `--want N`, what N kept prompts cost instead, in rollouts for each that is truly in the band.

    python -m benchmarks.decisions.prediction [--population numbers] [--prompts 3000] [--seed 1] [--want 200] [--json]
    python -m benchmarks.decisions.prediction --population demo [--prompts 3000] [--seed 1] [--fresh-seed 2] [--json]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

from benchmarks.decisions import measured_prediction
from benchmarks.decisions.real_models import DATA
from benchmarks.decisions.sampling import BAND
from benchmarks.decisions.truth_forecast import worst_decile
from learnable.data.ledger.counts import store_counts
from learnable.data.records import PassCount, Prompt, text_key
from learnable.data.sources.selection import PromptSet
from learnable.data.store import Store
from learnable.filters.arrays import Flags, Values
from learnable.filters.decisions.decide import PREDICTED
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings
from learnable.train.settings import Predict

MEASURED = ("demo", "gym")
NOISE = 0.6  # of the log-odds of a rate about what the numbers say
FIRST_SORTED, FIRST_REVERSED = 150, 100
MODELS = ("Qwen2.5-1.5B-Instruct@T1.0", "Qwen2.5-Math-7B@T1.0")  # an instruct model, and a base one
OTHERS = ("Qwen2-1.5B@T1.0", "Qwen2.5-7B@T1.0")
IMPORTED = 8  # completions of each prompt by each other model
COUNTED = 50  # completions of each of these prompts
KINDS = (
    "Add {a} and {b}, then take the last {k} digits.",
    "Which is larger, {a} or {b}? Compare {k} times.",
    "How often does the digit {k} stand in {a} and in {b}?",
    "Multiply {a} by {b} in {k} steps.",
)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--population", action="append", choices=[*POPULATIONS, *MEASURED], help="repeatable")
    parser.add_argument("--prompts", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--want", type=int, help="measure what so many kept prompts cost")
    parser.add_argument("--fresh-seed", type=int, default=2, help="of the rollouts that check the real engine's")
    parser.add_argument("--calibrated", type=int, default=600, help="prompts whose chances those check")
    parser.add_argument("--json", action="store_true", help="one JSON object a population")
    arguments = parser.parse_args()
    for name in arguments.population or POPULATIONS:
        if name in MEASURED:
            with tempfile.TemporaryDirectory() as folder:
                told = measured_prediction.measure(
                    name,
                    arguments.prompts,
                    arguments.seed,
                    arguments.fresh_seed,
                    Path(folder),
                    calibrated=arguments.calibrated,
                )
            print(json.dumps(told) if arguments.json else measured_prediction.describe(told), flush=True)
            continue
        if name.startswith("MATH") and not DATA.is_dir():
            continue
        for title, prompts, *counts in POPULATIONS[name](arguments.prompts, arguments.seed):
            figures = {"population": title, **compare(prompts, arguments.seed, arguments.want, *counts)}
            print(json.dumps(figures) if arguments.json else describe(figures), flush=True)


def compare(
    prompts: Sequence[Prompt], seed: int, want: int | None = None, counts: Sequence[PassCount] = ()
) -> dict[str, Any]:
    """Return the figures of both ways, and the rollouts of the predicted one as a share of the other's."""
    ways = {predict: measure(prompts, seed, predict, want, counts) for predict in ("off", "auto")}
    price = "rollouts_a_good_prompt" if want else "rollouts_a_prompt"
    ratio = ways["auto"][price] / max(ways["off"][price], 1e-9)
    return {"prompts": len(prompts), "seed": seed, "want": want, "rollouts_ratio": round(ratio, 4), **ways}


def measure(
    prompts: Sequence[Prompt], seed: int, predict: Predict, want: int | None = None, counts: Sequence[PassCount] = ()
) -> dict[str, Any]:
    """Curate the prompts in their order, and compare what is said of them with their true rates.

    `counts` of other models are imported before.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        settings = CurateSettings(
            prompts=PromptSettings(location=str(Path(folder) / "prompts.jsonl")),
            engine=SimulatedSettings(),
            budget=SamplingBudget(want=want),
            seed=seed,
            test_share=0.0,
            store=str(Path(folder) / "store"),
            workers=0,
            predict=predict,
        )
        store = Store(settings.store)
        with store.hold(wait=0, on_wait=print):
            store_counts(store.root, counts)
        report = run_curation(settings, given=PromptSet(list(prompts)))
        [file] = (Path(folder) / "store" / "groups").glob("*.parquet")
        rate = pl.col("spec").str.json_path_match("$.rate").cast(pl.Float64)
        groups = pl.read_parquet(file).with_columns(rate.alias("rate"))
    told = next(iter(report.predictions.values()), None)
    figures = judge(groups, report.totals.rollouts, len(prompts))
    figures["explained"] = None if told is None else told.deviance_explained
    return figures | {"seconds": round(time.monotonic() - started, 1)}


def judge(groups: pl.DataFrame, rollouts: int, prompts: int) -> dict[str, Any]:
    """Return the figures of one run by its groups, which have a true `rate` each."""
    rate, chances = groups["rate"].to_numpy(), groups["p_in_band"].to_numpy()
    inside = (rate >= BAND.low) & (rate <= BAND.high)
    kept = (groups["decision"] == "keep").to_numpy()
    unsampled = groups["decision"].cast(pl.String).is_in(PREDICTED).to_numpy()
    good = int(inside[kept].sum())
    worst, where = worst_decile(chances[None], inside[None].astype(np.float64))
    return {
        "rollouts_a_prompt": round(rollouts / prompts, 3),
        "rollouts_a_good_prompt": round(rollouts / max(good, 1), 3),
        "precision": round(good / max(int(kept.sum()), 1), 4),
        "recall": round(good / max(int(inside.sum()), 1), 4),
        "rejected_unsampled": int(unsampled.sum()),
        "of_them_in_band": round(float(inside[unsampled].mean()), 4) if unsampled.any() else 0.0,
        "worst_decile": round(float(worst), 4),
        "where": where,
        "deciles": list_deciles(chances, inside),
    }


def list_deciles(chances: Values, inside: Flags) -> list[tuple[int, float, float]]:
    """Return for each decile of chances how many prompts it has, the mean chance said, and the share in the band."""
    decile = np.minimum(np.floor(10 * chances), 9)
    rows = [(mine, int(mine.sum())) for mine in (decile == number for number in range(10))]
    return [
        (count, round(float(chances[mine].mean()), 3), round(float(inside[mine].mean()), 3)) if count else (0, 0.0, 0.0)
        for mine, count in rows
    ]


def describe(figures: dict[str, Any]) -> str:
    """Return the figures of a population as lines."""
    lines = [f"{figures['population']}: rollouts {figures['rollouts_ratio']:.3f} of those without a prediction"]
    for predict in ("off", "auto"):
        row = figures[predict]
        explained = "" if row["explained"] is None else f", deviance explained {row['explained']:.2f}"
        lines.append(
            f"  {predict:<4} {row['rollouts_a_prompt']:6.2f} rollouts a prompt, {row['rollouts_a_good_prompt']:6.2f} a "
            f"good one, precision {row['precision']:.3f}, recall {row['recall']:.3f}, {row['rejected_unsampled']} "
            f"unsampled ({row['of_them_in_band']:.2%} in band), worst decile {row['worst_decile']:.3f} "
            f"({row['where']}){explained}, {row['seconds']:.0f} s"
        )
    return "\n".join(lines)


Population = Callable[[int, int], Sequence[tuple[Any, ...]]]
"""Makes so many prompts by a seed: titles, prompts and, where other models are known, their counts."""


def draw_numbers(count: int, rng: np.random.Generator, sign: float = 1.0) -> list[Prompt]:
    """Return number tasks of random difficulty, whose rates follow kind and numbers, plus noise."""
    a, b = (rng.integers(1, 10 ** rng.integers(1, 5, count)) for _ in range(2))
    k, kind = rng.integers(2, 8, count), rng.integers(len(KINDS), size=count)
    ease = 5.0 - 1.6 * (np.log10(a) + np.log10(b)) - 0.5 * (k - 4) + np.array([0.0, 2.5, -1.0, -2.0])[kind]
    rates = expit(sign * ease + NOISE * rng.standard_normal(count))
    texts = [KINDS[which].format(a=x, b=y, k=z) for which, x, y, z in zip(kind, a, b, k, strict=True)]
    return [
        make_prompt(f"{text} Task {number}.", rate)
        for number, (text, rate) in enumerate(zip(texts, rates, strict=True))
    ]


def make_prompt(text: str, rate: float, columns: dict[str, Any] | None = None) -> Prompt:
    """Return a prompt with a pass rate, which the simulated engine alone looks at."""
    return Prompt(text, "simulated", {"rate": round(float(rate), 9)}, "pool", "Any", columns=columns or {})


def numbers(count: int, seed: int) -> list[tuple[str, list[Prompt]]]:
    """Return prompts whose rates follow the numbers in their texts."""
    return [("numbers", draw_numbers(count, np.random.default_rng([seed, 1])))]


def unrelated(count: int, seed: int) -> list[tuple[str, list[Prompt]]]:
    """Return the same texts with the rates of others."""
    rng = np.random.default_rng([seed, 2])
    prompts = draw_numbers(count, rng)
    others = [prompts[place].spec["rate"] for place in rng.permutation(count)]
    return [("unrelated", [make_prompt(p.text, rate) for p, rate in zip(prompts, others, strict=True)])]


def sort_kinds(count: int, seed: int) -> list[tuple[str, list[Prompt]]]:
    """Return number tasks, then prompts of another kind whose rates follow nothing."""
    rng = np.random.default_rng([seed, 3])
    rest = [
        make_prompt(f"Name a word with {rng.integers(3, 12)} letters like item {number}.", rate)
        for number, rate in enumerate(rng.beta(0.4, 0.5, count - FIRST_SORTED))
    ]
    return [("sorted", [*draw_numbers(FIRST_SORTED, rng), *rest])]


def reverse_numbers(count: int, seed: int) -> list[tuple[str, list[Prompt]]]:
    """Return number tasks, then others whose rates follow the numbers the other way."""
    rng = np.random.default_rng([seed, 4])
    rest = draw_numbers(count - FIRST_REVERSED, rng, sign=-1.0)
    others = [make_prompt(f"{prompt.text} Anew.", prompt.spec["rate"]) for prompt in rest]
    return [("reversed", [*draw_numbers(FIRST_REVERSED, rng), *others])]


def mislead(count: int, seed: int) -> list[tuple[str, list[Prompt]]]:
    """Return prompts with a word that goes with success in the pilot alone."""
    rng = np.random.default_rng([seed, 5])
    rates, pilot = rng.beta(0.4, 0.5, count), np.arange(count) < SamplingBudget().pilot_prompts
    bright = np.where(pilot, rates > 0.5, rng.random(count) < 0.5)
    words = np.where(bright, "bright", "dark")
    return [
        (
            "misleading",
            [make_prompt(f"The {w} riddle {i}.", r) for i, (w, r) in enumerate(zip(words, rates, strict=True))],
        )
    ]


def math(count: int, seed: int, *, with_others: bool = False) -> list[tuple[str, list[Prompt]]]:
    """Return prompts of MATH with the pass rates of real models, one population a model."""
    counts = pl.read_parquet(DATA / "math_counts.parquet").with_columns(rate=pl.col("passes") / pl.col("k"))
    wide = counts.filter(pl.col("model").is_in([*MODELS, *OTHERS])).pivot("model", index="prompt_id", values="rate")
    rows = pl.read_parquet(DATA / "math_prompts.parquet").join(wide, on="prompt_id").sort("prompt_id")
    rng = np.random.default_rng([seed, 6])
    chosen = rows[rng.permutation(rows.height)[:count]]
    found = []
    for model in MODELS:
        prompts = []
        for row in chosen.unique("prompt", maintain_order=True).iter_rows(named=True):
            columns = {"level": row["level"], "subject": row["subject"]}
            columns |= {f"solve_rate_{number}": row[name] for number, name in enumerate(OTHERS)} if with_others else {}
            # Anywhere between two counts: a tenth of the rates would lie on the band's very ends.
            rate = np.clip(row[model] + rng.uniform(-0.5, 0.5) / COUNTED, 0, 1)
            prompts.append(make_prompt(row["prompt"], rate, columns))
        found.append((f"MATH{' with others' if with_others else ''}, {model}", prompts))
    return found


def count_others(count: int, seed: int, *, noisy: bool = False) -> list[tuple[str, list[Prompt], list[PassCount]]]:
    """Return prompts whose texts say nothing, with the passes of two other models, one better and one worse."""
    rng = np.random.default_rng([seed, 7])
    odds = 3 * rng.standard_normal(count)
    prompts = [make_prompt(f"Riddle {n}.", rate) for n, rate in enumerate(expit(odds + 0.4 * rng.normal(size=count)))]
    counts = []
    for model, shift in (("better", 1.0), ("worse", -1.0)):
        rates = np.full(count, 0.5) if noisy else expit(odds + shift + 0.4 * rng.normal(size=count))
        passes = rng.binomial(IMPORTED, rates).tolist()
        counts += [PassCount(text_key(p.text), model, IMPORTED, one) for p, one in zip(prompts, passes, strict=True)]
    return [("noisy counts" if noisy else "counts", prompts, counts)]


POPULATIONS: dict[str, Population] = {
    "numbers": numbers,
    "unrelated": unrelated,
    "sorted": sort_kinds,
    "reversed": reverse_numbers,
    "misleading": mislead,
    "counts": count_others,
    "noisy counts": lambda count, seed: count_others(count, seed, noisy=True),
    "MATH": math,
    "MATH with others": lambda count, seed: math(count, seed, with_others=True),
}

if __name__ == "__main__":
    main()
