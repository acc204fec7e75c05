"""The reward curve: how training went, and what it did to held-out prompts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from learnable.data.storage.places import write_whole
from learnable.train.monitor.records import StepRecord
from learnable.train.results.comparison import HeldOut, MeasureChange, describe_direction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Series = NDArray[np.float64]
REWARD_COLOR, WITHIN_STD_COLOR, ZERO_STD_COLOR, HELD_OUT_COLOR = "#1f5fa8", "#7a5ea8", "#c8553d", "#2a7f5f"
INK, GREY = "#2b3440", "#5f6b7a"
STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9aa4b0",
    "axes.labelcolor": INK,
    "axes.grid": True,
    "grid.color": "#e3e7ec",
    "xtick.color": GREY,
    "ytick.color": GREY,
    "legend.frameon": False,
    "figure.dpi": 150,
}


def draw_curve(records: Sequence[StepRecord], held_out: HeldOut | None, path: Path) -> None:
    """Write a PNG: reward a step with held-out figures at both ends; beneath, within-group std and zero-std share."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.6, 6.4), layout="constrained")
        FigureCanvasAgg(figure)
        upper, middle, lower = figure.subplots(3, 1, sharex=True, height_ratios=[3.4, 1, 1])
        draw_reward(upper, records)
        if held_out:
            draw_held_out(upper, held_out, find_last_step(records))
        if read_series(records, "reward")[0].size:
            draw_series(middle, records, "within_group_std", WITHIN_STD_COLOR, "within-\ngroup std")
            draw_series(lower, records, "frac_reward_zero_std", ZERO_STD_COLOR, "zero-std\ngroups")
            lower.set_ylim(0, 1)
            lower.set_yticks([0, 0.5, 1], ["0", "50%", "100%"])
        else:  # supervised: no groups, no rewards
            draw_series(middle, records, "loss", WITHIN_STD_COLOR, "loss")
            draw_series(lower, records, "grad_norm", ZERO_STD_COLOR, "gradient\nnorm")
        lower.set_xlabel("training step")
        lower.set_xticks(choose_ticks(find_last_step(records)))
        upper.set_title(write_title(held_out), loc="left", fontsize=12, color=INK, pad=12)
        figure.legend(*upper.get_legend_handles_labels(), loc="outside lower center", ncols=4, handlelength=1.6)
        write_whole(path, lambda file: figure.savefig(file, format="png"))


def draw_reward(axes: Axes, records: Sequence[StepRecord]) -> None:
    """Draw mean reward a step and its running mean, and what was held out where training looked at it."""
    steps, rewards = read_series(records, "reward")
    axes.plot(steps, rewards, color=REWARD_COLOR, alpha=0.3, lw=1)
    axes.plot(steps, smooth(rewards), color=REWARD_COLOR, lw=2.4, label="training reward")
    eval_steps, eval_rewards = read_series(records, "eval_reward")
    if eval_steps.size:
        axes.plot(eval_steps, eval_rewards, color=HELD_OUT_COLOR, lw=1, ls=":", marker=".", label="held-out, during")
    axes.set_ylabel("mean reward")
    axes.margins(y=0.12)


def draw_held_out(axes: Axes, held_out: HeldOut, last: float) -> None:
    """Draw held-out mean reward before and after, with intervals, and the greedy reward outside it."""
    unit = 0.035 * max(last, 1)
    mean, greedy = held_out.mean_reward, held_out.greedy_reward
    _draw_ends(axes, (-unit, last + unit), mean, "o", "held-out, before and after")
    _draw_ends(axes, (-2.2 * unit, last + 2.2 * unit), greedy, "D", "held-out, greedy")
    for x, end, side in ((-2.9 * unit, mean.before, "right"), (last + 2.9 * unit, mean.after, "left")):
        axes.text(x, end.value, f"{end.value:.3f}", color=HELD_OUT_COLOR, weight="bold", ha=side, va="center")
    axes.set_xlim(-6.2 * unit, last + 6.2 * unit)


def draw_series(axes: Axes, records: Sequence[StepRecord], name: str, color: str, label: str) -> None:
    """Draw one measure a step as a filled line from zero, with its running mean."""
    steps, values = read_series(records, name)
    axes.fill_between(steps, 0, values, color=color, alpha=0.18, lw=0)
    axes.plot(steps, smooth(values), color=color, lw=1.8)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(label)


def read_series(records: Sequence[StepRecord], name: str) -> tuple[Series, Series]:
    """Return the steps at which `name` was logged, and its values."""
    points = [(record.step, value) for record in records if (value := record.read(name)) is not None]
    steps, values = zip(*points, strict=True) if points else ((), ())
    return np.asarray(steps, dtype=np.float64), np.asarray(values, dtype=np.float64)


def smooth(values: Series, widest: int = 9) -> Series:
    """Return the centred mean over `widest` values, over fewer in a short series and at the ends.

    >>> smooth(np.array([0.0, 3.0, 6.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0]))[:4].tolist()
    [1.5, 3.0, 4.0, 3.0]
    """
    width = min(widest, values.size // 3) // 2 * 2 + 1
    kernel = np.ones(width)
    if values.size < 3:
        return values
    inside = slice(width // 2, width // 2 + values.size)
    return np.asarray(np.convolve(values, kernel)[inside] / np.convolve(np.ones_like(values), kernel)[inside])


def choose_ticks(last: float) -> list[int]:
    """Return about six whole, round steps from 0 to `last`.

    >>> choose_ticks(60), choose_ticks(3)
    ([0, 10, 20, 30, 40, 50, 60], [0, 1, 2, 3])
    """
    rough = max(1.0, last / 7)
    scale = 10 ** int(np.log10(rough))
    step = next(int(scale * unit) for unit in (1, 2, 5, 10) if scale * unit >= rough)
    return list(range(0, int(last) + 1, step))


def find_last_step(records: Sequence[StepRecord]) -> float:
    """Return the last step logged, 0 where there is none."""
    return float(max((record.step for record in records), default=0))


def write_title(held_out: HeldOut | None) -> str:
    """Return what the picture shows, in a line."""
    if held_out is None:
        return "Training reward"
    mean = held_out.mean_reward
    arrow = f"{mean.before.value:.3f} \N{RIGHTWARDS ARROW} {mean.after.value:.3f}"
    return f"Held-out reward {describe_direction(held_out.direction)}: {arrow} ({mean.change.as_change})"


def _draw_ends(axes: Axes, at: tuple[float, float], measure: MeasureChange, marker: str, label: str) -> None:
    ends = (measure.before, measure.after)
    errors = [[end.value - end.low for end in ends], [end.high - end.value for end in ends]]
    inside = HELD_OUT_COLOR if marker == "o" else "white"
    look: dict[str, Any] = {
        "fmt": marker,
        "color": HELD_OUT_COLOR,
        "mfc": inside,
        "ms": 6,
        "capsize": 3,
        "lw": 1.4,
        "zorder": 5,
    }
    axes.errorbar(at, [end.value for end in ends], yerr=errors, label=label, **look)
