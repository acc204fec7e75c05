"""Where figures of a curation go beside the console: a tracker that accelerate knows, such as TensorBoard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any

from learnable.data.errors import LearnableError
from learnable.flows.settings import CurateSettings

PROJECT = "learnable"
RUNS = "runs"  # where training runs are, and TensorBoard reads of both

_current: ContextVar[Any] = ContextVar("tracker", default=None)


def check_tracker(name: str) -> None:
    """Raise `LearnableError` where the package of a tracker is not installed."""
    if name != "none" and find_spec(name) is None:
        raise LearnableError(f"`report_to` {name} needs a package that is not installed: pip install {name}")


def is_tracked() -> bool:
    """Whether a tracker hears of this run."""
    return _current.get() is not None


def track(figures: Mapping[str, float], step: int) -> None:
    """Tell the tracker of this run, if it has one, the figures of a step, under `curation/`."""
    if is_tracked():
        _current.get().log({f"curation/{name}": float(value) for name, value in figures.items()}, step=step)


@contextmanager
def tracked(settings: CurateSettings, run_id: str) -> Iterator[None]:
    """Let the tracker that `settings` name hear of the run inside the block.

    TensorBoard's files are in `runs/curate-SET-RUN`; the others have a project `learnable`. Raises `LearnableError`
    where its package is not installed.
    """
    if settings.report_to == "none":
        yield
        return
    check_tracker(settings.report_to)
    from accelerate.state import PartialState  # type: ignore[import-untyped]
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS  # type: ignore[import-untyped]

    PartialState(cpu=True)  # the engine alone uses an accelerator
    name = f"curate-{settings.set_name}-{run_id}"
    kind: Any = LOGGER_TYPE_TO_CLASS[settings.report_to]
    if settings.report_to == "tensorboard":
        tracker = kind(name, RUNS)
    else:
        tracker = kind(PROJECT, **{"run_name" if settings.report_to == "mlflow" else "name": name})
    tracker.start()
    token = _current.set(tracker)
    try:
        yield
    finally:
        _current.reset(token)
        tracker.finish()
