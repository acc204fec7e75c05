"""The figure of a loop: held-out reward before it and after each round."""

from __future__ import annotations

from pathlib import Path

from learnable.data.storage.places import write_whole
from learnable.flows.looping.report import LoopReport
from learnable.train.results.curve import GREY, HELD_OUT_COLOR, INK, STYLE


def draw_rounds(loop: LoopReport, path: Path) -> None:
    """Write a PNG: mean and greedy reward on the same held-out prompts, with 95 % intervals, a round a place."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    places = [float(number) for number, _, _ in loop.measured]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        for measure, label, shift, inside in (
            ("mean_reward", "mean reward", -0.03, HELD_OUT_COLOR),
            ("greedy_reward", "greedy reward", 0.03, "white"),
        ):
            ends = [getattr(figures, measure) for _, _, figures in loop.measured]
            axes.errorbar(
                [place + shift for place in places],
                [end.value for end in ends],
                yerr=[[end.value - end.low for end in ends], [end.high - end.value for end in ends]],
                fmt="o-",
                color=HELD_OUT_COLOR if shift < 0 else GREY,
                mfc=inside,
                capsize=3,
                lw=1.4,
                label=label,
            )
        names = ["before", *(f"round {row.number}\n{row.version}, {row.kept} prompts" for row in loop.rounds)]
        axes.set_xticks(places, names[: len(places)])
        axes.set_ylabel("held-out reward")
        axes.set_xlim(-0.5, places[-1] + 0.5)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        axes.set_title("Held-out reward after each round", loc="left", fontsize=12, color=INK, pad=12)
        write_whole(path, lambda file: figure.savefig(file, format="png"))
