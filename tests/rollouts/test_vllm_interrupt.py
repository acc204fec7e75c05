"""Ctrl-C inside vLLM stays Ctrl-C, whatever vLLM's own clean-up makes of it. No engine is started."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from learnable.data.records import Prompt, Sampling
from learnable.rollouts.protocol import EngineError, GroupRequest
from learnable.rollouts.vllm_engine import VLLMEngine

REQUEST = GroupRequest(Prompt("2 + 3 = ", "arithmetic", {"answer": 5}, family="f", form="F"), 4)


def fail_after(error: BaseException) -> None:
    """Fail as a `finally` does that uses what the interrupted line was to set."""
    try:
        raise error
    finally:
        raise UnboundLocalError("cannot access local variable 'tok'")


def engine_that(fails: Any, monkeypatch: pytest.MonkeyPatch) -> VLLMEngine:
    engine = object.__new__(VLLMEngine)
    engine.llm = SimpleNamespace(llm_engine=SimpleNamespace(step=fails, abort_request=lambda ids: None))
    monkeypatch.setattr(engine, "_fill", lambda in_flight, *_: in_flight.update(a=REQUEST))
    return engine


@pytest.mark.parametrize(("error", "expected"), [(KeyboardInterrupt(), KeyboardInterrupt), (OSError(), EngineError)])
def test_an_interrupt_is_not_taken_for_a_failure(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, expected: type[BaseException]
) -> None:
    engine = engine_that(lambda: fail_after(error), monkeypatch)
    with pytest.raises(expected):
        next(engine.generate([REQUEST], Sampling()))
