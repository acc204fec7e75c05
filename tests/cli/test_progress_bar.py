"""What a terminal shows of a training run as it goes."""

from __future__ import annotations

import io

from rich.console import Console

from learnable.cli.display.progress_bar import ConsoleProgress

METRICS = {"reward": 0.51234, "frac_reward_zero_std": 0.125, "kl": 0.0042, "entropy": 0.5}


def show(*, terminal: bool, **metrics: float | None) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=80)
    shown = ConsoleProgress(console)
    shown.step(1, 60, {**METRICS, **metrics})  # type: ignore[dict-item]  # null in a line of metrics
    shown.close()
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_a_step_is_shown_with_its_figures() -> None:
    assert "1/60 steps, reward 0.512, 12% zero-std, KL 0.004" in show(terminal=True)
    assert "1/60 steps, reward 0.512, 12% zero-std, KL 0.004" in show(terminal=False)


def test_what_was_not_logged_is_not_shown() -> None:
    assert "1/60 steps, 12% zero-std" in show(terminal=False, reward=None, kl=None)


class CountingFile(io.StringIO):
    """Counts how often it is asked what it is: a call of the system, where it is a real file."""

    times = 0

    def isatty(self) -> bool:
        self.times += 1
        return False


def test_what_it_writes_to_is_not_looked_at_for_every_group() -> None:
    file = CountingFile()
    shown = ConsoleProgress(Console(file=file))
    before = file.times
    for done in range(1000):
        shown.rollouts(done, 2000, 0)
    assert file.times - before < 10
