"""A run's progress on a terminal, or a line now and then where there is none."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from learnable.cli.flags import name_flags

LIVE = (("reward", "reward {:.3f}"), ("frac_reward_zero_std", "{:.0%} zero-std"), ("kl", "KL {:.3f}"))
PLAIN_SECONDS = 10.0  # between progress lines where there is no terminal


class CountColumn(ProgressColumn):
    """How many of how many, then tokens a second of rollouts, or the figures of a training step."""

    def render(self, task: Task) -> Text:
        """Return the cell."""
        text = f"{task.completed:,.0f}/{task.total or 0:,.0f} {task.description}"
        if (tokens := task.fields.get("tokens")) and task.elapsed:
            text += f", {tokens / task.elapsed:,.0f} tokens/s"
        return Text(text + task.fields.get("figures", ""))


class ConsoleProgress:
    """Implements `learnable.data.progress.Progress` on a console. Warnings are shown even when `quiet`."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self.console = console
        self.quiet = quiet
        self._is_terminal = console.is_terminal  # asks the system, and groups come by the thousand
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._last_line = 0.0

    def stage(self, text: str) -> None:
        """Print the stage and take the bar down."""
        self.close()
        self._print(f"[dim]{escape(text)} ...[/dim]")

    def rollouts(self, done: int, total: int, tokens: int) -> None:
        """Move the bar."""
        self._advance("rollouts", done, total, tokens=tokens)

    def completions(self, done: int, total: int) -> None:
        """Move the bar of a scoring run."""
        self._advance("completions", done, total)

    def step(self, done: int, total: int, metrics: Mapping[str, float]) -> None:
        """Move the bar of a training run."""
        known = [(shown, metrics[name]) for name, shown in LIVE if metrics.get(name) is not None]
        self._advance("steps", done, total, figures="".join(f", {shown.format(value)}" for shown, value in known))

    def note(self, text: str) -> None:
        """Print a note."""
        self._print(f"[dim]{escape(name_flags(text))}[/dim]")

    def warn(self, text: str) -> None:
        """Print a warning."""
        self.console.print(
            f"[yellow]warning:[/yellow] {escape(name_flags(text))}", highlight=False, soft_wrap=self._whole
        )

    def close(self) -> None:
        """Take the bar down."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _print(self, text: str) -> None:
        if not self.quiet:
            self.console.print(text, highlight=False, soft_wrap=self._whole)

    @property
    def _whole(self) -> bool:
        """Whether lines are printed whole: a terminal would break them inside words, a file is searched by line."""
        return not self._is_terminal

    def _advance(self, what: str, done: int, total: int, **fields: Any) -> None:
        if self.quiet:
            return
        if not self._is_terminal:
            self._print_line(f"{what}{fields.get('figures', '')}", done, total)
            return
        if self._bar is None:
            bar = BarColumn(bar_width=12 if fields.get("figures") else 40)  # or 80 columns would not do
            columns = (TextColumn(" "), bar, CountColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self.console, transient=True)
            self._task = self._bar.add_task(what, total=total, **fields)
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total, **fields)
        if done >= total:
            self.close()

    def _print_line(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done >= total or now - self._last_line > PLAIN_SECONDS:
            self._last_line = now
            self._print(f"  {done:,}/{total:,} {what}")
