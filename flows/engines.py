"""One engine a policy, kept for the process's life, so that it can start while the flow's server does."""

from __future__ import annotations

import atexit
import json
from collections.abc import Iterator
from contextlib import contextmanager

from learnable.flows.settings import CurateSettings
from learnable.rollouts.protocol import Engine

_running: dict[str, Engine] = {}


def engine_for(settings: CurateSettings) -> Engine:
    """Return the engine that `settings` ask for, started at the first call and then shared.

    Raises `LearnableError` when it cannot start.
    """
    key = json.dumps([settings.engine, settings.policy, dict(settings.engine_options)], sort_keys=True, default=str)
    if key not in _running:
        stop_engines()  # two policies at once would not fit most machines
        _running[key] = _start(settings)
    return _running[key]


def stop_engines() -> None:
    """Close every running engine."""
    while _running:
        _running.popitem()[1].close()


@contextmanager
def use_engine(engine: Engine, settings: CurateSettings) -> Iterator[None]:
    """Answer `engine_for(settings)` with a given engine inside the block: for tests and for engines of your own."""
    key = json.dumps([settings.engine, settings.policy, dict(settings.engine_options)], sort_keys=True, default=str)
    _running[key] = engine
    try:
        yield
    finally:
        _running.pop(key, None)


def _start(settings: CurateSettings) -> Engine:
    from learnable.rollouts.vllm_engine import VLLMEngine

    return VLLMEngine(settings.policy, **settings.engine_options)


atexit.register(stop_engines)
