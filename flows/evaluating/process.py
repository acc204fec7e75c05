"""Held-out reward before or after training, in a process of its own: an engine and a trainer never share one.

    python -m learnable.flows.evaluating.process SETTINGS.json

The held-out prompts were selected by the policy's rollouts during curation. Those rollouts cannot serve as the figure
before training: prompts that were lucky are over-represented among the kept ones, so the figure would be too near the
middle of the band, and every later one would seem to move away from it. So both figures come from completions of
evaluations, which choose nothing: what the store of the set has of them is not generated again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.data.progress import Silence, progress, watched_by
from learnable.data.storage.places import find_place, write_whole
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.evaluating.completions import measure_policy
from learnable.flows.run import locked_store
from learnable.flows.settings import CurateSettings, PromptSettings, VLLMSettings
from learnable.flows.settings.evaluation import MeasuringSettings, name_store
from learnable.train.child import OnEvent, serve
from learnable.train.results.evaluation import (
    SEED_OFFSET,
    Evaluation,
    EvaluationSettings,
    HeldOutPrompts,
    read_evaluation_settings,
    read_held_out,
)

PATIENCE = 20.0  # seconds: another evaluation of this policy may take hours, and this run then keeps its own


def main(path: Path, emit: OnEvent) -> None:
    """Evaluate as the settings file says and write the result to its `output`."""
    started, settings = time.monotonic(), read_evaluation_settings(path)
    held_out = read_held_out(open_curated(settings.curated), settings.held_out, settings.families, settings.limit)
    total = len(held_out.prompts) * (settings.group_size + 1)
    with watched_by(_Events(emit, total)):
        result = measure_held_out(settings, held_out)
    emit({"event": "rollouts", "done": total, "total": total, "tokens": result.tokens})
    evaluation = {**asdict(result), "seconds": round(time.monotonic() - started, 2)}
    write_whole(Path(settings.output), lambda file: file.write_text(json.dumps(evaluation), encoding="utf-8"))


def measure_held_out(settings: EvaluationSettings, held_out: HeldOutPrompts) -> Evaluation:
    """Return what a group and a greedy completion of each held-out prompt are worth.

    They are generated unless an evaluation with the same seed has drawn them. Raises `LearnableError` when the engine
    or a verifier is given up.
    """
    with _locked(settings) as store:
        run_settings = _make_run_settings(settings, store)
        return measure_policy(run_settings, held_out, greedy=True).evaluation


@contextmanager
def _locked(settings: EvaluationSettings) -> Iterator[str]:
    """Lock the store for the completions: that of the evaluations in `settings.store`, or one beside the output.

    A run whose own store has some goes on there.
    """
    own = name_store(Path(settings.output).parent, settings.seed)
    with ExitStack() as locks:
        if settings.store and not find_place(own).exists():
            shared = name_store(settings.store, settings.seed)
            try:
                locks.enter_context(locked_store(_make_run_settings(settings, shared), wait=PATIENCE))
            except LearnableError as reason:
                locks.close()
                progress().note(f"held-out completions are kept in {own!r} alone: {reason}")
            else:
                yield shared
                return
        locks.enter_context(locked_store(_make_run_settings(settings, own)))
        yield own


def _make_run_settings(settings: EvaluationSettings, store: str) -> CurateSettings:
    return MeasuringSettings(
        prompts=PromptSettings(),
        policy=settings.policy,
        engine=VLLMSettings(dict(settings.engine_options)),
        sampling=settings.sampling,
        budget=SamplingBudget("fixed"),
        group_size=settings.group_size,
        seed=settings.seed + SEED_OFFSET,
        store=store,
        name="evaluation",
        workers=1,
    )


class _Events(Silence):
    """Passes on as events what is generated, of groups and greedy completions together, and what to mind."""

    def __init__(self, emit: OnEvent, total: int) -> None:
        self.emit, self.total = emit, total
        self._earlier = self._so_far = (0, 0)  # rollouts and tokens

    def stage(self, text: str) -> None:
        self._earlier = self._so_far  # whoever begins to generate counts from 0

    def rollouts(self, done: int, total: int, tokens: int) -> None:
        self._so_far = done, tokens = self._earlier[0] + done, self._earlier[1] + tokens
        self.emit({"event": "rollouts", "done": done, "total": self.total, "tokens": tokens})

    def note(self, text: str) -> None:
        self.emit({"event": "note", "message": text})

    def warn(self, text: str) -> None:
        self.emit({"event": "warning", "message": text})


if __name__ == "__main__":
    sys.exit(serve(main, sys.argv[1:]))
