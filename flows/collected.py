"""What sampling a pool brought: scores, and where each group stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import polars as pl

from learnable.data.errors import InterruptedRunError
from learnable.filters.certificate import Belief
from learnable.flows.adaptive import AdaptiveSampling
from learnable.flows.run import Run


@dataclass(frozen=True, slots=True)
class Collected:
    """Every rollout of a run with its score, one row each, and how many of them this run generated.

    `groups` has a row a prompt: `asked` (rollouts), `stopped`, and the `threshold` of its decision. `beliefs` are the
    families'; `certified` is how many prompts are kept, and `gave_up` whether a goal was given up for a poor yield.
    """

    scores: pl.DataFrame
    groups: pl.DataFrame
    beliefs: Mapping[str, Belief]
    certified: int
    gave_up: bool
    generated: int

    def followed_by(self, later: Collected) -> Collected:
        """Return what a later pass over more prompts collected, with what both of them generated."""
        return replace(later, generated=self.generated + later.generated)


def collect(sampling: AdaptiveSampling) -> Collected:
    """Return what a finished sampling asked for, and none of the rollouts that the ledger holds besides.

    Later runs give some prompts more. Were they counted, a run that goes on would learn other priors and drifts than it
    did at first, and take another way.
    """
    schedule = sampling.schedule
    groups = pl.DataFrame(
        {
            "prompt_id": [prompt.prompt_id for prompt in sampling.prompts],
            "asked": schedule.asked,
            "stopped": schedule.stopped,
            "threshold": schedule.thresholds(),
        }
    )
    scores = sampling.select(sampling.collection.finish())
    generated = sampling.collection.writer.saved
    return Collected(scores, groups, schedule.beliefs, len(schedule.certified()), schedule.gave_up, generated)


@contextmanager
def told_when_stopped(run: Run, sampling: AdaptiveSampling) -> Iterator[None]:
    """Make of a Ctrl-C an `InterruptedRunError`: finished groups are kept, those in flight are dropped whole."""
    writer = sampling.collection.writer
    try:
        yield
    except KeyboardInterrupt as interrupt:
        writer.flush()
        raise InterruptedRunError(
            f"stopped: {writer.saved:,} new rollouts are safe in {run.settings.store}, groups in flight were dropped; "
            "the same command goes on from there"
        ) from interrupt
