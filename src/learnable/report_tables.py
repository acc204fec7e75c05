"""What commands report, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

MOST_FORM_ROWS = 16  # with more forms than this, each family is one row
HEADINGS = (
    "prompts",
    "learn-\nability",
    "mean",
    "within\nstd",
    "between\nstd",
    "zero-std\nshare",
    "pass@1",
    "kept",
    "rejected",
)
MEASURES = (
    ("mean reward", "mean_reward"),
    ("pass@1", "pass_at_1"),
    ("pass@{k}", "pass_at_k"),
    ("greedy reward", "greedy_reward"),
)
PLANNED = (
    ("prompts", "prompts looked at"),
    ("kept", "prompts kept"),
    ("rollouts", "rollouts"),
    ("tokens", "completion tokens"),
    ("seconds", "time"),
    ("cost", "cost"),
)
STATISTICS = ("learnability", "mean", "within_std", "between_std", "zero_std_share", "pass_at_1")


def forms_table(report: Mapping[str, Any]) -> Table:
    """Return the table of forms, the most learnable first, under a row for each family where there are several."""
    table = Table(
        title=f"policy {report['policy']}",
        title_justify="left",
        title_style="dim",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    table.add_column("form", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    several, many = len(report["families"]) > 1, len(report["forms"]) > MOST_FORM_ROWS
    ranked = sorted(report["forms"], key=lambda form: -(form["learnability"] or 0.0))
    for family in report["families"]:
        if several:
            table.add_row(family["family"], *_cells(family), style="bold")
        if several and many:
            continue
        for form in ranked:
            if form["family"] == family["family"]:
                table.add_row(f"  {form['form']}" if several else form["form"], *_cells(form))
    return table


def plan_table(plan: Mapping[str, Any]) -> Table:
    """Return the table of what a run would come to, a row a figure."""
    table = _titled(f"policy {plan['policy']}, 90% intervals", ("expected", "low", "high"))
    for name, label in PLANNED:
        if name in plan["figures"]:
            table.add_row(label, *_planned_cells(name, plan["figures"][name]))
    return table


def _planned_cells(name: str, figure: Mapping[str, float | None] | None) -> list[str]:
    if figure is None:
        return ["unknown", "", ""]
    in_words = {"seconds": _duration, "cost": "{:,.2f}".format}.get(name, "{:,.0f}".format)
    values = [figure[end] for end in ("expected", "low", "high")]
    return ["no end" if value is None else in_words(value) for value in values]


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.0f} s"


def holdings_table(holdings: Mapping[str, Any]) -> Table:
    """Return the table of a ledger's policies and samplings."""
    table = Table("policy", "sampling", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    keys = ("prompts", "rollouts", "tokens", "files")
    for heading in keys:
        table.add_column(heading, justify="right", no_wrap=True)
    for part in holdings["parts"]:
        table.add_row(part["policy"], part["sampling"], *(f"{part[key]:,}" for key in keys))
    return table


def held_out_table(held_out: Mapping[str, Any]) -> Table:
    """Return the table of held-out figures, with 95 % intervals over prompts."""
    title = f"{held_out['prompts']} held-out prompts x {held_out['group_size']} fresh completions, 95% intervals"
    table = _titled(title, ("before", "after", "change"))
    for name, key in MEASURES:
        measure = held_out[key]
        label = name.format(k=held_out["k"])
        table.add_row(label, *(_interval(measure[when], when == "change") for when in ("before", "after", "change")))
    return table


def parts_table(comparison: Mapping[str, Any]) -> Table:
    """Return the table of two runs on parts of one set, side by side."""
    title = f"held-out mean reward, the same {comparison['prompts']} prompts, 95% intervals"
    table = _titled(title, ("before", "after", "change", "run"))
    for run in (comparison["first"], comparison["second"]):
        measure = run["mean_reward"]
        cells = (_interval(measure[when], when == "change") for when in ("before", "after", "change"))
        table.add_row(run["part"], *cells, run["folder"])
    return table


def _titled(title: str, headings: Sequence[str]) -> Table:
    """Return an empty table of figures: a column of labels, then one for each heading."""
    table = Table(title=title, title_justify="left", title_style="dim", box=SIMPLE_HEAD, show_edge=False)
    table.add_column("", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _interval(interval: Mapping[str, float | None], signed: bool) -> str:
    if interval["value"] is None:
        return "-"
    form = "+.3f" if signed else ".3f"
    return f"{interval['value']:{form}} [{interval['low']:{form}}, {interval['high']:{form}}]"


def _cells(row: Mapping[str, Any]) -> list[str]:
    figures = ["-" if row[key] is None else f"{row[key]:.2f}" for key in STATISTICS]
    return [str(row["prompts"]), *figures, str(row["kept"]), str(row["prompts"] - row["kept"])]
