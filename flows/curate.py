"""The Prefect flow `curate`. Its steps and their order are those of `flows.pipeline`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.logging import get_run_logger

from learnable.data.progress import is_watched, watched_by
from learnable.flows.engines import stop_engines
from learnable.flows.finetune import finetune
from learnable.flows.pipeline import run_pipeline
from learnable.flows.report import Report, render_markdown
from learnable.flows.settings import CurateSettings
from learnable.train.settings import TrainSettings

P = ParamSpec("P")
R = TypeVar("R")


@flow(name="curate", persist_result=False)
def curate(settings: CurateSettings, train: TrainSettings | None = None) -> Report:
    """Find the prompts that a policy can learn from, and train on them if `train` says how.

    `train.curated` is filled in with the set that was made. Deploy it as `learnable.flows.curate.curate`.
    """
    with nullcontext() if is_watched() else watched_by(RunLog()):
        report = run_pipeline(settings, step=as_task)
    create_markdown_artifact(render_markdown(report), key="curated", description=report["curated"])
    if train is not None:
        stop_engines()  # an engine and a trainer never share a machine's memory
        report["training"] = finetune(replace(train, curated=report["curated"]))
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

    def step(self, done: int, total: int, metrics: Mapping[str, Any]) -> None:
        """Log the step."""
        get_run_logger().info("step %d of %d: reward %s", done, total, metrics.get("reward"))

    def note(self, text: str) -> None:
        """Log the note."""
        get_run_logger().info(text)

    def warn(self, text: str) -> None:
        """Log the warning."""
        get_run_logger().warning(text)
