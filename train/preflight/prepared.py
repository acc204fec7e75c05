"""Prepared runs, beside a flow's parameters, which must be plain data: what was checked is not checked again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict

from learnable.train.preflight.checks import PreparedRun, prepare_run
from learnable.train.settings import TrainSettings

_kept: ContextVar[dict[str, PreparedRun] | None] = ContextVar("prepared", default=None)


@contextmanager
def preparing_once() -> Iterator[None]:
    """Inside the block, and in blocks inside it, a run that was prepared is not prepared again before it is trained."""
    if _kept.get() is not None:
        yield
        return
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def prepare_once(settings: TrainSettings) -> PreparedRun:
    """Return the run as `prepare_run` does, and in a block of `preparing_once` keep it for whoever trains it.

    Raises `LearnableError` as `prepare_run` does.
    """
    kept, key = _kept.get(), _name(settings)
    if kept is None:
        return prepare_run(settings)
    if key not in kept:
        run = prepare_run(settings)
        kept[key] = kept[_name(run.settings)] = run
    return kept[key]


def take_prepared(settings: TrainSettings) -> PreparedRun:
    """Return the run as `prepare_once` does, and let go of it: once trained, its folder is no longer as it was.

    Raises `LearnableError` as `prepare_run` does.
    """
    run, kept = prepare_once(settings), _kept.get()
    for key in [key for key, one in (kept or {}).items() if one is run]:
        del (kept or {})[key]
    return run


def _name(settings: TrainSettings) -> str:
    return json.dumps(asdict(settings), sort_keys=True, default=str)
