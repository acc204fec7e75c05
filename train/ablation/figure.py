"""The picture of an ablation: what each variant gained on held-out prompts, and how its training reward went."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from learnable.data.storage.places import write_whole
from learnable.train.ablation.report import AblationReport
from learnable.train.ablation.results import RunFigures, VariantFigures
from learnable.train.monitor.records import read_metrics
from learnable.train.results.curve import GREY, INK, STYLE, Series, choose_ticks, read_series, smooth

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which the colour-blind can tell apart; more variants than these begin again, dashed.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#2b3440")


def draw_ablation(report: AblationReport) -> None:
    """Write a PNG: gains with intervals and each seed's own at the top, reward curves averaged over seeds beneath."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = 0.42 * len(report.variants) + 1.0
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.6, height + 4.4), layout="constrained")
        FigureCanvasAgg(figure)
        upper, lower = figure.subplots(2, 1, height_ratios=[height, 3.6])
        figure.suptitle(report.title or report.name, x=0.01, ha="left", fontsize=12, color=INK, wrap=True)
        draw_gains(upper, report.variants)
        draw_rewards(lower, report.variants)
        write_whole(Path(report.figure), lambda file: figure.savefig(file, format="png"))


def draw_gains(axes: Axes, variants: Sequence[VariantFigures]) -> None:
    """Draw each variant's gain in held-out reward, from the top down: mean, interval, and a ring for each seed."""
    for place, variant in enumerate(variants):
        color, gain = choose_color(place), variant.measures["mean_reward"].gain
        own = [run.after["mean_reward"] - run.before["mean_reward"] for run in variant.runs]
        axes.scatter(own, [place] * len(own), s=26, facecolors="none", edgecolors=color, alpha=0.8, zorder=3)
        if not isnan(gain.low):
            axes.plot([gain.low, gain.high], [place, place], color=color, lw=2.4, solid_capstyle="butt")
        axes.plot([gain.value], [place], marker="D", color=color, ms=6, zorder=4)
    several = any(len(variant.runs) > 1 for variant in variants)
    axes.axvline(0, color=GREY, lw=1)
    axes.margins(x=0.08)
    axes.set_yticks(range(len(variants)), [variant.name for variant in variants])
    axes.set_ylim(len(variants) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    shown = "diamonds: mean, with 95 % interval over seeds; rings: seeds" if several else "one seed"
    axes.set_xlabel(f"gain in held-out reward ({shown})")


def draw_rewards(axes: Axes, variants: Sequence[VariantFigures]) -> None:
    """Draw the smoothed training reward of each variant, averaged over its seeds."""
    last = 0.0
    for place, variant in enumerate(variants):
        steps, rewards = average_rewards(variant.runs)
        style = "-" if place < len(COLORS) else "--"
        axes.plot(steps, smooth(rewards), style, color=choose_color(place), lw=1.8, label=variant.name)
        last = max(last, float(steps.max(initial=0)))
    axes.set_xticks(choose_ticks(last))
    axes.set_xlabel("training step")
    axes.set_ylabel("training reward")
    axes.legend(loc="best", fontsize=9)


def average_rewards(runs: Sequence[RunFigures]) -> tuple[Series, Series]:
    """Return the steps that all runs logged a reward at, and the mean over runs at each."""
    logged = [read_series(read_metrics(Path(run.folder) / "metrics.jsonl"), "reward") for run in runs]
    by_step = [dict(zip(steps.tolist(), rewards.tolist(), strict=True)) for steps, rewards in logged]
    common = sorted(set.intersection(*map(set, by_step)))
    means = [sum(rewards[step] for rewards in by_step) / len(by_step) for step in common]
    return np.asarray(common, dtype=np.float64), np.asarray(means, dtype=np.float64)


def choose_color(place: int) -> str:
    """Return the colour of the variant at a place."""
    return COLORS[place % len(COLORS)]
