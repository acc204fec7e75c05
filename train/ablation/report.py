"""The report of an ablation: one table over its variants, as JSON, as Markdown, and as cells for a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from pathlib import Path

from learnable.data.records import JsonObject
from learnable.data.storage.places import write_whole
from learnable.train.ablation.planning import write_value
from learnable.train.ablation.preparing import PreparedAblation
from learnable.train.ablation.results import VariantFigures, collect_run, summarise_variants
from learnable.train.results.report import without_nan
from learnable.train.results.statistics import CONFIDENCE, Interval

TABLE_FILE, FIGURE_FILE = "ablation.md", "ablation.png"


@dataclass(frozen=True, slots=True)
class AblationReport:
    """An ablation: its variants side by side.

    `at_step`: where all runs are compared; None for the last step of each. `prompts`: the held-out prompts that all
    runs measured, which alone count. `k`: that of pass@k. `notes` say which runs ended early and what was left out,
    `failed` which did not finish, and why. `figure` and `table` are places.
    """

    name: str
    title: str
    at_step: int | None
    seeds: tuple[int, ...]
    prompts: int
    k: int
    variants: tuple[VariantFigures, ...]
    notes: tuple[str, ...]
    failed: tuple[str, ...]
    figure: str
    table: str

    @property
    def heading(self) -> str:
        """What the table shows, in a line."""
        step = f"at step {self.at_step}" if self.at_step else "each run at its last step"
        seeds = "one seed, so no intervals"
        if len(self.seeds) > 1:
            seeds = f"{len(self.seeds)} seeds, {CONFIDENCE:.0%} intervals over them (Student's t)"
        return f"{step}; {self.prompts} held-out prompts; {seeds}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The headings of the table."""
        first = self.variants[0].name
        figures = ("before", "after", "gain", f"against\n{first}", "greedy", f"pass@{self.k}")
        return ("variant", "runs", *figures, "zero-std\nshare", "tokens", "seconds")

    def list_cells(self, variant: VariantFigures) -> tuple[str, ...]:
        """Return a row of the table; what could not be estimated is `-`, an interval stands under its value."""
        reward, greedy, passes = (variant.measures[name] for name in ("mean_reward", "greedy_reward", "pass_at_k"))
        against = write_interval(variant.against_first) if variant.against_first else "-"
        return (
            variant.name,
            str(len(variant.runs)),
            write_figure(reward.before),
            write_figure(reward.after),
            write_interval(reward.gain),
            against,
            f"{write_figure(greedy.after)}\n({write_figure(greedy.gain.value, '+.3f')})",
            f"{write_figure(passes.after)}\n({write_figure(passes.gain.value, '+.3f')})",
            write_figure(variant.zero_std_share),
            write_figure(variant.tokens, ",.0f"),
            write_figure(variant.seconds, ",.0f"),
        )

    def to_json(self) -> JsonObject:
        """Return the report as plain data; what could not be estimated is null."""
        plain: JsonObject = without_nan(asdict(self))
        return plain

    def to_markdown(self) -> str:
        """Return the table, what differs between its rows, and the notes."""
        rows = [self.columns, *map(self.list_cells, self.variants)]
        lines = ["| " + " | ".join(cell.replace("\n", " ").replace("|", r"\|") for cell in row) + " |" for row in rows]
        lines.insert(1, "| --- |" + " ---: |" * (len(self.columns) - 1))
        differs = [f"- {variant.name}: {write_differences(variant.differs)}" for variant in self.variants]
        notes = [f"- {note}" for note in (*self.notes, *self.failed)]
        parts = [
            [f"# {self.title or self.name}"],
            [self.heading[:1].upper() + self.heading[1:] + "."],
            lines,
            differs,
            notes,
            [f"![gain]({FIGURE_FILE})"],
        ]
        return "\n\n".join("\n".join(part) for part in parts if part) + "\n"

    def write(self, folder: Path) -> None:
        """Write `ablation.json` and `ablation.md`, each whole or not at all."""
        _write_text(folder / "ablation.json", json.dumps(self.to_json(), indent=2) + "\n")
        _write_text(folder / TABLE_FILE, self.to_markdown())


def build_report(prepared: PreparedAblation, failed: Sequence[str] = ()) -> AblationReport:
    """Return the report on the runs that are finished; `failed` says which are not, and why.

    Raises `LearnableError` where what a finished run measured is gone.
    """
    ablation, runs = prepared.ablation, prepared.runs
    results = [collect_run(run, prepared.shared) for run in runs if run.state == "finished"]
    wanted = {(run.variant.name, run.seed): run.settings.steps for run in runs}
    early = [
        f"{run.variant}, seed {run.seed}, was stopped at step {run.steps} of {wanted[run.variant, run.seed]}"
        for run in results
        if run.steps < wanted[run.variant, run.seed]
    ]
    fewer = [
        f"{name} measured {count} held-out prompts, of which all runs share {len(prepared.shared)}"
        for name, count in prepared.measured.items()
        if count > len(prepared.shared)
    ]
    return AblationReport(
        name=ablation.name,
        title=ablation.title,
        at_step=ablation.at_step,
        seeds=ablation.seeds,
        prompts=len(prepared.shared),
        k=runs[0].settings.eval_k,
        variants=summarise_variants(results, runs),
        notes=(*early, *fewer),
        failed=tuple(failed),
        figure=str(prepared.folder / FIGURE_FILE),
        table=str(prepared.folder / TABLE_FILE),
    )


def write_differences(differs: Mapping[str, object]) -> str:
    """Return what differs from [base] in words.

    >>> write_differences({"sampler": "live", "steps": 30}), write_differences({})
    ('sampler=live, steps=30', 'as in [base]')
    """
    return ", ".join(f"{key}={write_value(value)}" for key, value in differs.items()) or "as in [base]"


def write_figure(value: float, style: str = ".3f") -> str:
    """Return a figure, `-` for NaN.

    >>> write_figure(-0.0001, "+.3f"), write_figure(float("nan"))
    ('+0.000', '-')
    """
    return "-" if isnan(value) else format(round(value, 3) + 0.0, style)  # no minus before a zero


def write_interval(interval: Interval) -> str:
    r"""Return a change over its interval, where it has one.

    >>> write_interval(Interval(0.1, 0.05, 0.15))
    '+0.100\n[+0.050, +0.150]'
    """
    value, low, high = (write_figure(end, "+.3f") for end in (interval.value, interval.low, interval.high))
    return value if isnan(interval.low) else f"{value}\n[{low}, {high}]"


def _write_text(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))
