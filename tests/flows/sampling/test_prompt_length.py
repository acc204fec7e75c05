"""Prompts that leave no room for a completion are set aside; where nothing counts tokens, a run says so once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from learnable.data.errors import NothingAnsweredError
from learnable.data.progress import Silence, watched_by
from learnable.data.records import Prompt
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.engines import use_engine
from learnable.flows.sampling.missing import MissingRollouts, drop_long_prompts
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings
from learnable.rollouts.simulated import SimulatedEngine


class MeasuredEngine(SimulatedEngine):
    """Takes prompts of so many tokens each as the context; counts nothing where `counts` is false."""

    def __init__(self, max_context: int, *, counts: bool) -> None:
        super().__init__()
        self.max_context = max_context  # type: ignore[misc]
        self.counts = counts
        self.calls = 0

    def count_tokens(self, prompts: Sequence[Prompt]) -> list[int] | None:
        self.calls += 1
        return super().count_tokens(prompts) if self.counts else None


@dataclass
class Watcher(Silence):
    """Keeps what a run was told."""

    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def run(store: Path, engine: MeasuredEngine, watcher: Watcher) -> int:
    """Return how many rollouts a run has that asks the prompts of its pilot first, and the others later."""
    settings = CurateSettings(
        prompts=PromptSettings(families=("simulated",), limit=40),
        engine=SimulatedSettings(),
        budget=SamplingBudget(pilot_prompts=16),
        store=str(store),
        workers=0,
    )
    with use_engine(engine, settings), watched_by(watcher):
        return run_curation(settings).totals.rollouts


def test_prompts_stay_where_nothing_counts_their_tokens_and_a_note_says_so_once(tmp_path: Path) -> None:
    engine, watcher = MeasuredEngine(1, counts=False), Watcher()
    assert run(tmp_path, engine, watcher) >= 40
    assert engine.calls > 1
    assert ["prompt lengths are unchecked" in note for note in watcher.notes].count(True) == 1
    assert not any("prompts skipped" in warning for warning in watcher.warnings)


def test_prompts_that_fill_the_context_are_set_aside_and_named(tmp_path: Path) -> None:
    watcher = Watcher()
    with pytest.raises(NothingAnsweredError, match="longer than the policy's context of 3 tokens"):
        run(tmp_path, MeasuredEngine(3, counts=True), watcher)  # "simulated prompt 7" has three tokens
    assert any("prompts skipped: longer than the policy's context of 3 tokens" in text for text in watcher.warnings)
    assert not any("unchecked" in note for note in watcher.notes)
    assert not (tmp_path / "curated").exists()


def test_a_prompt_as_long_as_the_context_has_no_room_for_a_completion() -> None:
    class Engine(SimulatedEngine):
        max_context = 10

        def count_tokens(self, prompts: Sequence[Prompt]) -> list[int]:
            return [len(prompt.text) for prompt in prompts]

    missing = [MissingRollouts(Prompt("x" * length, "number", {"answer": 1}, "f", "f"), 0, 4) for length in (9, 10, 11)]
    watcher = Watcher()
    with watched_by(watcher):
        fit, long = drop_long_prompts(missing, Engine())
    assert [len(one.prompt.text) for one in fit] == [9]
    assert [len(prompt.text) for prompt in long] == [10, 11]
    assert "2 prompts skipped" in watcher.warnings[0]
