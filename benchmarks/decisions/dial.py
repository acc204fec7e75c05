"""Does the dial find what it says? Against pass rates that are known, and with fresh rollouts of a policy.

Without a family: searches over nine settings whose pass rates are known, prompts differing within a setting, and
reports how each search ended, how often outside the tolerance, and how many prompts it took. With families or data sets
of reasoning-gym: dials each with vLLM, then draws fresh rollouts with another seed at the knobs that were found.

    python -m benchmarks.decisions.dial [--seeds 25] [--policy FOLDER] [--fresh 2000]
        [--family arithmetic]... [--gym leg_counting:max_animals=2..9]...
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import ceil

import numpy as np
from scipy.special import expit

from learnable.filters.arrays import Values
from learnable.filters.dial.aim import Aim
from learnable.filters.dial.search import DialSearch
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.dialing.pipeline import run_dial
from learnable.flows.dialing.report import describe_outcome
from learnable.flows.dialing.rounds import settings_at
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.flows.settings.dial import PROMPTS_A_PICK, DialSettings
from learnable.verifiers.families.knob_grid import find_grid

X = np.linspace(0, 1, 9)
CURVES: dict[str, Values] = {
    "falls": expit(4 - 8 * X),
    "falls between two settings": expit(24 * (0.45 - X)),
    "hump": 0.05 + 0.6 * np.exp(-(((X - 0.5) / 0.2) ** 2)),
    "valley": 0.95 - 0.5 * np.exp(-(((X - 0.3) / 0.2) ** 2)),
    "narrow valley": 0.95 - 0.45 * np.exp(-(((X - 0.25) / 0.12) ** 2)),
    "one setting": np.where(np.arange(9) == 2, 0.5, 0.95),
    "flat at .5": np.full(9, 0.5),
    "flat at .61": np.full(9, 0.61),
    "flat at .63": np.full(9, 0.63),
    "flat at .9": np.full(9, 0.9),
    "step over it": np.where(X < 0.5, 0.95, 0.05),
    "step from .65": np.where(X < 0.5, 0.65, 0.05),
    "rough": np.array([0.9, 0.62, 0.8, 0.3, 0.65, 0.35, 0.7, 0.2, 0.63]),
    "too hard": expit(-0.8 - 3 * X),
}
CONCENTRATION = 1.5  # alpha + beta of the prompts of a setting: few of them are near its mean
BUDGET = 4096  # prompts
FRESH_GROUP = 8  # rollouts a prompt: some settings have few hundred problems


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--family", action="append", default=[])
    parser.add_argument("--gym", action="append", default=[], metavar="NAME:KNOB=RANGE[;KNOB=RANGE]")
    parser.add_argument("--policy")
    parser.add_argument("--fresh", type=int, default=2000)
    arguments = parser.parse_args()
    for family in arguments.family:
        report_generator(family, PromptSettings(families=(family,)), {}, arguments.policy, arguments.fresh)
    for dataset in arguments.gym:
        name, _, knobs = dataset.partition(":")
        prompts = PromptSettings(location=f"reasoning-gym:{name}")
        report_generator(
            "reasoning-gym",
            prompts,
            dict(pair.split("=", 1) for pair in knobs.split(";")),
            arguments.policy,
            arguments.fresh,
        )
    if not arguments.family and not arguments.gym:
        report_curves(arguments.seeds)


def report_curves(seeds: int) -> None:
    """Print how searches end for every curve."""
    aim = Aim()
    for name, rates in CURVES.items():
        ends = [search(rates, aim, seed) for seed in range(seeds)]
        outside = sum(found is not None and abs(rates[found] - aim.target) > aim.tolerance for _, found, _ in ends)
        counts = Counter(outcome for outcome, _, _ in ends)
        prompts = np.mean([prompts for _, _, prompts in ends])
        print(f"{name:28} {dict(counts)}, outside {outside}, {prompts:,.0f} prompts", flush=True)


def search(rates: Values, aim: Aim, seed: int) -> tuple[str, int | None, int]:
    """Return how a search ended, the setting it found, and the prompts it took."""
    rng = np.random.default_rng(1000 + seed)
    dial = DialSearch(np.linspace(0, 1, len(rates))[:, None], aim, seed)
    picks = dial.opening()
    while True:
        for setting in picks:
            own = rng.beta(CONCENTRATION * rates[setting], CONCENTRATION * (1 - rates[setting]), PROMPTS_A_PICK)
            shares = rng.binomial(2, own) / 2
            dial.add(setting, shares, 2 * shares * (1 - shares))
        look, prompts = dial.look(), int(dial.prompts.sum())
        if look.found is not None or look.is_hopeless or prompts >= BUDGET:
            outcome = "found" if look.found is not None else "given up" if look.is_hopeless else "budget spent"
            return outcome, look.found, prompts
        picks = look.picks


def report_generator(
    family: str, prompts: PromptSettings, knobs: Mapping[str, str], policy: str | None, fresh: int
) -> None:
    """Dial a generator, and print what the policy passes at the knobs that were found, by fresh rollouts."""
    with tempfile.TemporaryDirectory() as folder:
        settings = CurateSettings(prompts=prompts, policy=policy, store=f"{folder}/store", workers=0)
        report = run_dial(DialSettings(settings, find_grid(family, knobs), curate=False))
        print(f"{prompts.name}: {describe_outcome(report)} {report.rollouts:,} rollouts", flush=True)
        there = replace(prompts, forms=report.forms, families=report.families, limit=fresh // FRESH_GROUP)
        again = replace(
            settings, prompts=there, budget=SamplingBudget("fixed"), group_size=FRESH_GROUP, seed=7, test_share=0.0
        )
        [row] = run_curation(settings_at(again, report.nearest.knobs)).families
        each = max(FRESH_GROUP, ceil(fresh / row.prompts))  # where there are few questions, more of each
        if each > FRESH_GROUP:
            [row] = run_curation(settings_at(replace(again, group_size=each), report.nearest.knobs)).families
        print(f"{prompts.name}: {row.pass_at_1:.3f} of {each * row.prompts:,} fresh rollouts pass", flush=True)


if __name__ == "__main__":
    main()
