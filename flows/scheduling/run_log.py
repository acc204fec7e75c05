"""Progress of a run that nobody watches, in the run's own log: what a scheduled flow leaves to read."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.context import FlowRunContext, TaskRunContext
from prefect.logging import get_run_logger

from learnable.data.plain_text import escape_controls
from learnable.data.progress import is_watched, watched_by

LOGGERS = (None, "prefect.flow_runs", "prefect.task_runs")  # those with handlers; None is the root


class RunLog:
    """Implements `learnable.data.progress.Progress` on the logger of the current flow or task run."""

    def stage(self, text: str) -> None:
        """Log the stage."""
        get_run_logger().info(text)

    def __init__(self) -> None:
        self._shown: dict[str, tuple[Any, int]] = {}  # by what is counted: its artifact, and the twentieths shown

    def rollouts(self, done: int, total: int, tokens: int) -> None:
        """Log the end, for groups come by the thousand, and show each twentieth of the way."""
        self._show("rollouts", done, total)
        if done == total:
            get_run_logger().info("%d rollouts, %d tokens", total, tokens)

    def step(self, done: int, total: int, metrics: Mapping[str, float]) -> None:
        """Log every tenth of the way, and show each twentieth."""
        self._show("steps", done, total)
        if done * 10 // total > (done - 1) * 10 // total:
            get_run_logger().info("step %d of %d: reward %s", done, total, metrics.get("reward"))

    def complete(self) -> None:
        """Show that all is done: a run that stops when it knows enough had a later end in view."""
        for made, _ in self._shown.values():
            update_progress_artifact(made, 100.0)

    def _show(self, what: str, done: int, total: int) -> None:
        """Keep a progress artifact of the run that is under way, if one is."""
        twentieths = done * 20 // max(total, 1)
        if (FlowRunContext.get() or TaskRunContext.get()) is None:
            return
        told = f"{done:,} of {total:,} {what}"
        if what not in self._shown:
            made = create_progress_artifact(5.0 * twentieths, key=what, description=told)
            self._shown[what] = (made, twentieths)
        elif self._shown[what][1] != twentieths:
            made = self._shown[what][0]
            update_progress_artifact(made, 5.0 * twentieths, description=told)
            self._shown[what] = (made, twentieths)

    def note(self, text: str) -> None:
        """Log the note."""
        get_run_logger().info(text)

    def warn(self, text: str) -> None:
        """Log the warning."""
        get_run_logger().warning(text)


class PlainRecords(logging.Filter):
    """Shows controls as escapes in what is logged, tracebacks too: Prefect logs an error in the error's words."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Escape the record where it stands."""
        record.msg, record.args = escape_controls(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = escape_controls(logging.Formatter().formatException(record.exc_info))
        return True


@contextmanager
def logged_unless_watched() -> Iterator[bool]:
    """Let the run's log hear of the run inside the block, unless a console does already; give whether it does."""
    if is_watched():
        yield False
        return
    for name in LOGGERS:
        for handler in logging.getLogger(name).handlers:
            if not any(isinstance(kept, PlainRecords) for kept in handler.filters):
                handler.addFilter(PlainRecords())
    log = RunLog()
    with watched_by(log):
        yield True
    log.complete()
