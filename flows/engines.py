"""One engine a policy, kept for the process's life, so that it can start while the flow's server does."""

from __future__ import annotations

import atexit
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from learnable.data.policies import Policy
from learnable.flows.settings import CurateSettings
from learnable.rollouts.protocol import Engine

_running: dict[str, Engine] = {}
_given: set[str] = set()


def policy_for(settings: CurateSettings) -> Policy:
    """Return the policy that the engine samples. A server is asked which one only where `settings` do not name it.

    Raises `LearnableError` when it cannot be found.
    """
    return settings.engine.find_policy(settings.policy, verify=settings.verify_policy)


def engine_for(settings: CurateSettings) -> Engine:
    """Return the engine that `settings` ask for, started at the first call and then shared.

    Raises `LearnableError` when it cannot start.
    """
    key = _key(settings)
    if key not in _running:
        stop_engines()  # two policies at once would not fit most machines
        _running[key] = settings.engine.start(policy_for(settings))
    return _running[key]


def drop_engine(settings: CurateSettings) -> None:
    """Close an engine that failed, so that the next call of `engine_for` starts another."""
    key = _key(settings)
    if key in _running and key not in _given:
        _running.pop(key).close()


def stop_engines() -> None:
    """Close every running engine."""
    while _running:
        _running.popitem()[1].close()


@contextmanager
def use_engine(engine: Engine, settings: CurateSettings) -> Iterator[None]:
    """Answer `engine_for(settings)` with a given engine inside the block: for tests and for engines of your own."""
    key = _key(settings)
    _running[key] = engine
    _given.add(key)
    try:
        yield
    finally:
        _running.pop(key, None)
        _given.discard(key)


def _key(settings: CurateSettings) -> str:
    return json.dumps([asdict(settings.engine), settings.policy], sort_keys=True, default=str)


atexit.register(stop_engines)
