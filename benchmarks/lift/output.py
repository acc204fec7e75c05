"""The results as Markdown, and as a figure: held-out reward against generated tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isinf, isnan, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lift.arms import ARMS
from benchmarks.lift.results import ArmResult, average_curve
from benchmarks.lift.runs import Run
from learnable.data.storage.places import write_whole
from learnable.train.results.curve import STYLE
from learnable.train.results.statistics import Interval

COLORS = (
    "#5f6b7a",
    "#9aa4b0",
    "#c8553d",
    "#7a5ea8",
    "#1f5fa8",
    "#3aa6b9",
    "#d99a2b",
    "#2a7f5f",
    "#8c2f39",
    "#111111",
    "#b06fbf",
    "#4f8f00",
    "#c2a500",
    "#e07b9a",
)  # in the order of `ARMS`


def write_tables(pool: str, results: Sequence[ArmResult], curation_tokens: int) -> str:
    """Return three tables: what each arm takes to the pool's reward, what it ends at, and how its groups were."""
    tables = [_write_costs(results), _write_ends(results), _write_groups(results)]
    head = (
        f"Pool `{pool}`; the curation generated {curation_tokens:,} tokens of the prompts that are trained on. "
        "Intervals are of 95 %, over seeds."
    )
    return "\n\n".join([head, *tables])


def _write_costs(results: Sequence[ArmResult]) -> str:
    rows = [
        (
            ARMS[one.arm].title,
            f"{one.rate:g}",
            f"{one.steps} x {one.batch_size}",
            f"{one.tokens / 1000:.1f}",
            write_ratio(one.tokens_ratio),
            write_ratio(one.whole_ratio),
            write_ratio(one.measured_ratio),
            write_ratio(one.completions_ratio),
            write_ratio(one.steps_ratio),
            write_ratio(one.trained_ratio),
            write_ratio(one.seconds_ratio),
            write_ratio(one.kept_ratio),
            str(len(one.seeds)),
        )
        for one in results
    ]
    head = ("arm", "rate", "steps x completions", "thousand tokens", "tokens to the pool's end")
    more = ("with finding's", "and evaluation's", "completions, with finding's", "steps", "trained tokens", "seconds")
    return tabulate((*head, *more, "tokens, kept prompts alone", "seeds"), rows)


def _write_ends(results: Sequence[ArmResult]) -> str:
    names = {"reward": "sampled", "kept": "kept prompts", "rejected": "rejected", "greedy": "greedy"} | {
        "pass_at_8": "pass@8"
    }
    rows = [
        (
            ARMS[one.arm].title,
            *(f"{one.ends[name]:.3f} ({write_change(one.changes[name])})" for name in names),
            write_change(one.lead),
        )
        for one in results
    ]
    return tabulate(("held out, at the end (and its change)", *names.values(), "sampled, above the pool's"), rows)


def _write_groups(results: Sequence[ArmResult]) -> str:
    rows = [
        (
            ARMS[one.arm].title,
            f"{one.forecast_zero_std:.2f}",
            f"{one.first_zero_std:.2f}",
            f"{one.whole_zero_std:.2f}",
            "none" if one.stable_rate is None else f"{one.stable_rate:g}",
            f"{one.cpu_seconds / one.steps:.2f}",
        )
        for one in results
    ]
    head = ("groups without spread", "forecast", "first 20 steps", "whole run")
    return tabulate((*head, "highest stable rate", "CPU seconds a step"), rows)


def write_ratio(found: Interval) -> str:
    """Return a ratio with its interval.

    >>> write_ratio(Interval(0.5, 0.4, 0.625)), write_ratio(Interval(float("inf"), float("nan"), float("nan")))
    ('0.50 (0.40 to 0.62)', 'not reached')
    """
    if isnan(found.value):
        return "-"
    if isinf(found.value):
        return "not reached"
    if isnan(found.low):
        return f"{found.value:.2f}"
    return f"{found.value:.2f} ({found.low:.2f} to {'any' if isinf(found.high) else f'{found.high:.2f}'})"


def write_change(found: Interval) -> str:
    """Return a change with its interval.

    >>> write_change(Interval(0.05, 0.03, 0.07))
    '+0.050, +0.030 to +0.070'
    """
    if isnan(found.value):
        return "-"
    ends = "" if isnan(found.low) else f", {found.low:+.3f} to {found.high:+.3f}"
    return f"{found.value:+.3f}{ends}"


def tabulate(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def draw_figure(pool: str, runs: Mapping[str, Sequence[Run]], path: Path) -> None:
    """Write a PNG: a line an arm, the mean over its seeds, in a band of a standard error. `runs` are by arm.

    One panel has all held-out prompts, the other those alone that the curation kept.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.4, 5.2), layout="constrained")
        FigureCanvasAgg(figure)
        panels = {"reward": f"All held-out prompts of the {pool} pool", "kept": "Those that the curation kept"}
        for axes, (name, title) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
            _draw_curves(axes, runs, name)
            axes.set_xlabel("generated tokens, thousands")
            axes.set_ylabel("held-out reward")
            axes.set_title(title, loc="left", fontsize=12)
            if any(runs.values()) and name == "kept":
                axes.legend(loc="lower right", fontsize=8, title="seeds in brackets; band: a standard error")
        write_whole(path, lambda file: figure.savefig(file, format="png"))


def _draw_curves(axes: Any, runs: Mapping[str, Sequence[Run]], name: str) -> None:
    for arm, color in zip(ARMS.values(), COLORS, strict=True):
        if not (found := runs.get(arm.name)):
            continue
        tokens, rewards = average_curve([run.looks for run in found], "tokens", name)
        every = np.array([[getattr(look, name) for look in run.looks] for run in found])
        error = every.std(axis=0, ddof=1) / sqrt(len(found)) if len(found) > 1 else np.zeros_like(rewards)
        axes.fill_between(tokens / 1000, rewards - error, rewards + error, color=color, alpha=0.15, lw=0)
        axes.plot(tokens / 1000, rewards, color=color, lw=2, marker=".", label=f"{arm.title} ({len(found)})")
