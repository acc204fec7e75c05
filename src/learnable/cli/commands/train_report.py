"""What `learnable train` shows of a training run at its end."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from learnable.cli.console import Shell
from learnable.cli.display.report_tables import tabulate_held_out, tabulate_parts

if TYPE_CHECKING:
    from learnable.train.results.report import TrainingReport


def show_training(shell: Shell, report: TrainingReport) -> None:
    """Show held-out figures before and after, the verdict, and where things were written."""
    if shell.as_json:
        shell.dump(report.to_json())
        return
    if report.held_out:
        shell.out.print(tabulate_held_out(report.held_out))
    for part, held_out in report.held_out_parts.items():
        shell.out.print(tabulate_held_out(held_out, part))
    shell.line(f"\n{report.verdict}\n")
    if report.forecast:
        shell.line(f"{report.forecast.sentence}\n")
    _show_parts(shell, report)
    for share, step in report.reached.items():
        shell.line(f"{'reached':<12} {share} of held-out completions: {'never' if step is None else f'step {step}'}")
    for alarm in report.alarms:
        shell.line(f"{'alarm':<12} {alarm.rule}, since step {alarm.since}: {alarm.says}")
    for name, place in (("policy", report.trained_policy), ("curve", report.curve), ("metrics", report.metrics)):
        shell.line(f"{name:<12} {place}", whole=True)
    shell.line(f"next         find-learnable --policy {quote(report.trained_policy)}", whole=True)


def _show_parts(shell: Shell, report: TrainingReport) -> None:
    """Show what training on other parts of the set came to."""
    for comparison in report.comparisons:
        shell.out.print(tabulate_parts(comparison))
        shell.line(f"\n{comparison.verdict}\n")
    for objection in report.not_compared:
        shell.line(f"{objection}\n")
    settings = report.settings
    if not report.held_out or report.comparisons or settings.method != "grpo":
        return
    if settings.sampler == "live":
        flags = f"--part pool --sampler static --batch-size {settings.step_size}"
        shell.line(f"baseline     the same command with {flags} shows what certificates and sampler are worth")
    elif settings.part == "train":
        shell.line("control      the same command with --part control shows what the curation is worth")
