"""The arms of the comparison, and how many steps each takes for the same generated tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from benchmarks.lift.pools import measure_length
from learnable.data.curated.curated_set import CuratedSet
from learnable.train.preflight.batch import fit_batch
from learnable.train.preflight.shards import count_rows
from learnable.train.settings import USUAL_BATCH, Part, Sampler, Stored, TrainSettings

Finds = Literal["", "rate-8", "job"]


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to train on a pool.

    Args:
        name: in commands and folders.
        title: in tables.
        part: the part of the curated set that is trained on.
        sampler: how prompts are drawn from it.
        is_fitted: whether the batch is what preflight fits to the curated set, and not the usual one.
        is_curated: whether it needs the curation, whose tokens are then counted in a column of their own.
        is_blind: whether its live sampler is told nothing of the curation's certificates, and learns as it trains.
        predicts: whether its live sampler predicts the rates of prompts that it has not drawn.
        stored: whether it begins with the curation's rollouts.
        finds: how it finds its own prompts, in place of the curation: by plain pass rates of 8 rollouts, or as
            `learnable train --pool` does. What that takes is counted with the run.
        refills: whether groups without spread are dropped and others generated until the batch is full, as DAPO does.
    """

    name: str
    title: str
    part: Part
    sampler: Sampler = "static"
    is_fitted: bool = False
    is_curated: bool = True
    is_blind: bool = False
    predicts: bool = False
    stored: Stored = "off"
    finds: Finds = ""
    refills: bool = False

    @property
    def drawn_part(self) -> Part:
        """The part that most of its prompts are of: a live sampler draws from the pool what the curation would keep.

        One that is blind has to try the pool's prompts first.
        """
        finds = self.refills or (self.sampler == "live" and (self.predicts or not self.is_blind))
        return "train" if finds else self.part


BASELINE = Arm("pool", "pool", "pool", is_curated=False)
# A small batch alone might be the gain: the pool is trained on with it too.
SMALL_POOL = Arm("pool-fitted", "pool, the fitted batch", "pool", is_fitted=True, is_curated=False)
CONTROL = Arm("control", "random control, as many as curated", "control", is_curated=False)
ARMS: Mapping[str, Arm] = {
    arm.name: arm
    for arm in (
        BASELINE,
        SMALL_POOL,
        CONTROL,
        Arm("curated", "curated, the pool's batch", "train"),
        Arm("curated-fitted", "curated, the fitted batch", "train", is_fitted=True),
        Arm("reviewed", "curated and reviewed, the fitted batch", "reviewed", is_fitted=True),
        Arm("pool-live", "pool, live sampler", "pool", "live", is_fitted=True),
        Arm("curated-live", "curated, live sampler", "train", "live", is_fitted=True),
        Arm(
            "pool-blind",
            "pool, live sampler without certificates",
            "pool",
            "live",
            is_fitted=True,
            is_curated=False,
            is_blind=True,
        ),
        Arm(
            "predicted",
            "pool, live sampler that predicts, no curation",
            "pool",
            "live",
            is_fitted=True,
            is_curated=False,
            is_blind=True,
            predicts=True,
        ),
        Arm("stored", "pool, stored rollouts first, then live", "pool", "live", is_fitted=True, stored="first"),
        Arm("one-job", "one job", "pool", "live", is_fitted=True, is_curated=False, predicts=True, finds="job"),
        Arm("rate-8", "pass rates of 8 rollouts in 0.2-0.8", "train", is_curated=False, finds="rate-8"),
        Arm("dapo", "pool, groups without spread refilled (DAPO)", "pool", is_curated=False, refills=True),
    )
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What an arm takes: optimizer steps, completions a step, and the tokens that this is expected to generate.

    `looks` is how often held-out prompts are answered on the way, the last time at the end.
    """

    steps: int
    batch_size: int
    tokens: float
    looks: int = 6


def plan_arm(arm: Arm, curated: CuratedSet, baseline_steps: int) -> Plan:
    """Return the plan under which an arm generates as many tokens as the pool does in so many steps.

    Steps on stored rollouts generate none, so an arm that begins with those generates less.
    """
    batch = choose_fitted_batch(curated) if arm.is_fitted else USUAL_BATCH
    tokens = baseline_steps * USUAL_BATCH * measure_length(curated, BASELINE.part)
    length = measure_length(curated, arm.drawn_part)
    return plan_steps(tokens, batch, length / measure_usable_share(curated) if arm.refills else length)


def plan_steps(tokens: float, batch_size: int, length: float) -> Plan:
    """Return as many steps as come nearest to `tokens`; `length` is the mean tokens of a completion.

    >>> plan_steps(12_800, 48, 4.0)
    Plan(steps=67, batch_size=48, tokens=12864.0, looks=6)
    """
    steps = max(1, round(tokens / (batch_size * length)))
    return Plan(steps, batch_size, steps * batch_size * length)


def measure_usable_share(curated: CuratedSet) -> float:
    """Return the expected share of the pool's groups that have spread."""
    chances = pl.DataFrame(curated.read(BASELINE.part, columns=["zero_std_at_16"]))["zero_std_at_16"]
    return 1 - float(chances.to_numpy().mean())


def choose_fitted_batch(curated: CuratedSet) -> int:
    """Return the completions a step that `learnable train --part train` takes for a curated set where nobody says."""
    settings = TrainSettings(str(curated.path), "", part="train").filled_from(curated.manifest)
    return fit_batch(settings, curated, count_rows(curated, "train"))[0].step_size
