"""What commands report, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

from learnable.cli.display.fitted_table import Column, FittedTable, figure
from learnable.cli.flags import name_flags

if TYPE_CHECKING:
    from learnable.data.curated.manifest import SummaryRow
    from learnable.data.ledger.upkeep import LedgerSummary
    from learnable.filters.stopping.plan import Estimate
    from learnable.flows.curation.cost import CostReport
    from learnable.flows.curation.report import CurationReport
    from learnable.flows.looping.report import LoopReport
    from learnable.train.presets import ExplainedSetting
    from learnable.train.results.comparison import HeldOut, MeasureChange
    from learnable.train.results.earlier_runs import PartsComparison
    from learnable.train.results.figures import Figures
    from learnable.train.results.statistics import Interval

MAX_FORM_ROWS = 16  # with more forms than this, each family is one row
FORM_COLUMNS = (
    Column("form", text=20),
    Column("prompts", need=5),
    Column("expected\nwithin-\ngroup\nvariance"),
    Column("mean"),
    Column("within\nstd"),
    Column("between\nstd", need=2),
    Column("zero-\nstd\nshare", need=4),
    Column("pass@1", need=3),
    Column("un-\nread", need=1),
    Column("kept"),
    Column("rejected", need=1),
)
PLANNED = (
    ("prompts", "prompts looked at"),
    ("kept", "prompts kept"),
    ("rollouts", "rollouts"),
    ("tokens", "completion tokens"),
    ("seconds", "time"),
    ("cost", "cost"),
)
STATISTICS = (
    "expected_within_variance",
    "mean",
    "within_std",
    "between_std",
    "zero_std_share",
    "pass_at_1",
    "extraction_failed_share",
)


def tabulate_forms(report: CurationReport) -> FittedTable:
    """Return the table of forms, by expected within-group variance, under a row for each family where several are."""
    table = FittedTable(FORM_COLUMNS, f"policy {report.policy}")
    several, many = len(report.families) > 1, len(report.forms) > MAX_FORM_ROWS
    ranked = sorted(report.forms, key=lambda form: -(form.expected_within_variance or 0.0))
    for family in report.families:
        if several:
            table.add_row(family.family, *_cells(family), style="bold")
        if several and many:
            continue
        for form in ranked:
            if form.family == family.family:
                table.add_row(f"  {form.form}" if several else form.form or "", *_cells(form))
    return table


def tabulate_plan(plan: CostReport) -> FittedTable:
    """Return the table of what a run would come to, a row a figure."""
    table = _titled(f"policy {plan.policy}, 90% intervals", ("expected", "low", "high"))
    for name, label in PLANNED:
        if name in plan.figures:
            table.add_row(label, *_planned_cells(name, plan.figures[name]))
    return table


def _planned_cells(name: str, estimate: Estimate | None) -> list[str]:
    if estimate is None:
        return ["unknown", "", ""]
    in_words = {"seconds": _duration, "cost": "{:,.2f}".format}.get(name, "{:,.0f}".format)
    values = (estimate.expected, estimate.low, estimate.high)
    return ["no end" if value is None else in_words(value) for value in values]


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.0f} s"


def tabulate_ledger(summary: LedgerSummary) -> FittedTable:
    """Return the table of a ledger's policies and samplings."""
    columns = [Column("prompts", need=2), Column("rollouts"), Column("tokens"), Column("files", need=1)]
    table = FittedTable([Column("policy", text=18), Column("sampling", text=8), *columns])
    for part in summary.parts:
        counts = (part.prompts, part.rollouts, part.tokens, part.files)
        table.add_row(part.policy, part.sampling, *(f"{count:,}" for count in counts))
    return table


def tabulate_held_out(held_out: HeldOut, part: str = "") -> FittedTable:
    """Return the table of held-out figures, or of a part of them, with 95 % intervals over prompts."""
    which = f"{part} held-out" if part else "held-out"
    title = f"{held_out.prompts} {which} prompts x {held_out.group_size} fresh completions, 95% intervals"
    table = _titled(title, ("before", "after", "change"))
    for label, measure in (
        ("mean reward", held_out.mean_reward),
        ("pass@1", held_out.pass_at_1),
        (f"pass@{held_out.k}", held_out.pass_at_k),
        ("greedy reward", held_out.greedy_reward),
    ):
        table.add_row(label, *_comparison_cells(measure))
    return table


def tabulate_figures(title: str, rows: Sequence[Figures], *, signed: bool = False) -> FittedTable:
    """Return the table of an evaluation's figures, or with signs of what changed, group by group."""
    ks = sorted({1, *(k for row in rows for k in row.pass_at)})
    columns = [Column("mean reward"), *(Column(f"pass@{k}", need=2 + (k > 1)) for k in ks), Column("greedy", need=4)]
    table = FittedTable([Column("", text=14), Column("prompts", need=5), *columns], title)
    for row in rows:
        passes = [row.pass_at_1 if k == 1 else row.pass_at[k] for k in ks]
        cells = [_interval(measure, signed=signed) for measure in (row.mean_reward, *passes, row.greedy_reward)]
        table.add_row(f"{row.by} {row.name}".strip(), f"{row.prompts:,}", *cells)
    return table


def tabulate_parts(comparison: PartsComparison) -> FittedTable:
    """Return the table of two runs on parts of one set, side by side."""
    title = f"held-out mean reward, the same {comparison.prompts} prompts, 95% intervals"
    figures = [Column(heading) for heading in ("before", "after", "change")]
    table = FittedTable([Column("part", text=8), *figures, Column("run", text=12)], title)
    for run in (comparison.first, comparison.second):
        table.add_row(run.part, *_comparison_cells(run.mean_reward), run.folder)
    return table


def tabulate_rounds(report: LoopReport) -> FittedTable:
    """Return the table of a loop: what each round trained on, and what its policy is worth on the same prompts."""
    counts = [Column("prompts\nkept"), Column("usable\nshare", need=3), Column("refresh\nrollouts", need=2)]
    figures = [Column("held-out\nreward"), Column("gain"), Column("greedy", need=5)]
    figures.append(Column(f"pass@{report.settings.train.eval_k}", need=4))
    table = FittedTable([Column("round", text=6), Column("set", text=5), *counts, Column("steps", need=1), *figures])
    rows, empty = {row.number: row for row in report.rounds}, [""] * 5
    for number, _, measured in report.measured:
        trained, gain = empty, "-"
        if row := rows.get(number):
            trained = [row.version, f"{row.kept:,}", figure(row.usable_share), f"{row.refresh_rollouts:,}"]
            trained.append("-" if row.steps is None else f"{row.steps:,}")
            gain = _interval(row.gain.mean_reward, signed=True) if row.gain else "-"
        measures = (_interval(end) for end in (measured.greedy_reward, measured.pass_at_k))
        table.add_row(str(number or "before"), *trained, _interval(measured.mean_reward), gain, *measures)
    return table


def tabulate_settings(rows: Sequence[ExplainedSetting]) -> FittedTable:
    """Return the table of a run's settings, where each is from and why it is that."""
    table = FittedTable(
        [Column("setting", text=12), Column("value", text=10), Column("from", text=8), Column("why", text=20)]
    )
    for row in rows:
        shown = " ".join(map(str, row.value)) if isinstance(row.value, tuple) else str(row.value)
        table.add_row(row.name, shown, row.source, name_flags(row.why))
    return table


def _titled(title: str, headings: Sequence[str]) -> FittedTable:
    """Return an empty table of figures: a column of labels, then one for each heading."""
    return FittedTable([Column("", text=12), *map(Column, headings)], title)


def _comparison_cells(measure: MeasureChange) -> list[str]:
    return [_interval(measure.before), _interval(measure.after), _interval(measure.change, signed=True)]


def _interval(interval: Interval, *, signed: bool = False) -> str:
    """Write a measure over its interval, so that three fit side by side; `-` where it could not be estimated.

    A measure of too few prompts has no interval.
    """
    if isnan(interval.value):
        return "-"
    if isnan(interval.low):
        return figure(interval.value, 3, signed=signed)
    value, low, high = (figure(end, 3, signed=signed) for end in (interval.value, interval.low, interval.high))
    return f"{value}\n[{low}, {high}]"


def _cells(row: SummaryRow) -> list[str]:
    figures = [figure(getattr(row, name)) for name in STATISTICS]
    return [str(row.prompts), *figures, str(row.kept), str(row.prompts - row.kept)]
