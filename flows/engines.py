"""One engine a policy, kept for the process's life, so that it can start while the flow's server does."""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from learnable.data.policies import Policy, find_policy
from learnable.flows.settings import CurateSettings
from learnable.flows.settings.engines import RaySettings, ServerSettings, SimulatedSettings, VLLMSettings
from learnable.rollouts.protocol import Engine

SIMULATED = Policy(path="simulated", policy_id="simulated")

_running: dict[str, Engine] = {}
_given: set[str] = set()


def policy_for(settings: CurateSettings) -> Policy:
    """Return the policy that the engine samples. A server is asked which one only where `settings` do not name it.

    Raises `LearnableError` when it cannot be found.
    """
    match settings.engine:
        case SimulatedSettings():
            return SIMULATED
        case ServerSettings() as server if settings.policy is None:
            from learnable.rollouts.server.engine import find_served_policy

            key = os.environ.get(server.api_key_env)
            return find_served_policy(server.base_urls, model=server.served_model, api_key=key)
        case _:
            return find_policy(settings.policy, verify=settings.verify_policy)


def check_engine(settings: CurateSettings) -> None:
    """Raise `LearnableError` for options that the engine cannot take. Nothing is started, and vLLM is not imported."""
    match settings.engine:
        case VLLMSettings() as vllm if vllm.options:
            from learnable.rollouts.vllm_engine import check_options

            check_options(vllm.options)
        case RaySettings() as ray if ray.options:
            from learnable.rollouts.vllm_engine import check_options

            check_options(ray.options, ("EngineArgs", "AsyncEngineArgs"))
        case SimulatedSettings() as simulated:
            from learnable.rollouts.simulated import SimulatedEngine

            SimulatedEngine(**simulated.options)
        case _:
            pass


def engine_for(settings: CurateSettings) -> Engine:
    """Return the engine that `settings` ask for, started at the first call and then shared.

    Raises `LearnableError` when it cannot start.
    """
    key = _key(settings)
    if key not in _running:
        stop_engines()  # two policies at once would not fit most machines
        _running[key] = _start(settings)
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


def _start(settings: CurateSettings) -> Engine:
    match settings.engine:
        case ServerSettings() as server:
            return _start_server_engine(server, policy_for(settings))
        case RaySettings() as ray:
            from learnable.rollouts.ray.engine import RayEngine

            return RayEngine(policy_for(settings), address=ray.ray_address, replicas=ray.replicas, **ray.options)
        case SimulatedSettings() as simulated:
            from learnable.rollouts.simulated import SimulatedEngine

            return SimulatedEngine(**simulated.options)
        case VLLMSettings() as vllm:
            from learnable.rollouts.vllm_engine import VLLMEngine

            return VLLMEngine(policy_for(settings), **vllm.options)


def _start_server_engine(server: ServerSettings, policy: Policy) -> Engine:
    from learnable.rollouts.server.engine import ServerEngine

    return ServerEngine(
        server.base_urls,
        policy,
        model=server.served_model,
        api_key=os.environ.get(server.api_key_env),
        concurrency=server.concurrency,
        request_timeout=server.request_timeout,
        patience=server.patience,
    )


atexit.register(stop_engines)
