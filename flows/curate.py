"""The Prefect flow `curate`. Its steps and their order are those of `flows.pipeline`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import ParamSpec, TypeVar

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.logging import get_run_logger

from learnable.flows.pipeline import run_pipeline
from learnable.flows.progress import is_watched, watched_by
from learnable.flows.report import Report, render_markdown
from learnable.flows.settings import CurateSettings

P = ParamSpec("P")
R = TypeVar("R")


@flow(name="curate", persist_result=False)
def curate(settings: CurateSettings) -> Report:
    """Find the prompts that a policy can learn from. Deploy it as `learnable.flows.curate.curate`."""
    with nullcontext() if is_watched() else watched_by(RunLog()):
        report = run_pipeline(settings, step=as_task)
    create_markdown_artifact(render_markdown(report), key="curated", description=report["curated"])
    return report


def as_task(function: Callable[P, R]) -> Callable[P, R]:
    """Make a step a task. Its result is not cached: the store is what remembers."""
    return task(name=function.__name__, cache_policy=NO_CACHE, persist_result=False)(function)


class RunLog:
    """Progress of a scheduled run, in the run's own log."""

    def stage(self, text: str) -> None:
        """Log the stage."""
        get_run_logger().info(text)

    def rollouts(self, done: int, total: int, tokens: int) -> None:
        """Log every tenth of the way."""
        if total >= 10 and done * 10 // total > (done - 1) * 10 // total:
            get_run_logger().info("%d of %d rollouts, %d tokens", done, total, tokens)

    def note(self, text: str) -> None:
        """Log the note."""
        get_run_logger().info(text)

    def warn(self, text: str) -> None:
        """Log the warning."""
        get_run_logger().warning(text)
