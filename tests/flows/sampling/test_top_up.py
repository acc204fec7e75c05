"""Which rejected prompts get a second chance: a share of them, and others the next time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from learnable.data.records import Prompt
from learnable.flows.sampling import top_up as module

PROMPTS = [Prompt(f"question {index}", "number", {"answer": index}, "f", "f") for index in range(400)]
SHARE = 0.25


def choose(monkeypatch: pytest.MonkeyPatch, requested: int, kept: tuple[int, ...] = ()) -> set[int]:
    """Return the rows to retest of a pool that was rejected whole before, but for what is kept now."""
    rejects = [{"prompt_id": prompt.prompt_id, "decision": "too_hard"} for prompt in PROMPTS[1:]]
    last = SimpleNamespace(read=lambda *_, **__: SimpleNamespace(to_pylist=lambda: rejects), shards=lambda _: [])
    monkeypatch.setattr(module, "_last_version", lambda *_: last)
    counts = np.full(len(PROMPTS), requested)
    counts[2] = 0
    schedule = SimpleNamespace(requested=counts, find_certified=lambda: np.array(kept, dtype=np.int64))
    sampling: Any = SimpleNamespace(
        settings=SimpleNamespace(budget=SimpleNamespace(retest=SHARE)),
        schedule=schedule,
        prompts=PROMPTS,
        collector=SimpleNamespace(draw=SimpleNamespace(policy_id="p")),
    )
    store: Any = None
    return set(module._rejected_before(sampling, store).tolist())


def test_other_rejects_are_retested_once_they_were_sampled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = choose(monkeypatch, 8), choose(monkeypatch, 12)
    for chosen in (first, second):
        assert len(chosen) / len(PROMPTS) == pytest.approx(SHARE, abs=0.08)
    assert len(first & second) / len(first) == pytest.approx(SHARE, abs=0.15)
    assert choose(monkeypatch, 8) == first


def test_what_was_not_rejected_not_sampled_or_is_kept_is_not_retested(monkeypatch: pytest.MonkeyPatch) -> None:
    first = choose(monkeypatch, 8)
    assert not first & {0, 2}
    one = min(first)
    assert choose(monkeypatch, 8, kept=(one,)) == first - {one}
