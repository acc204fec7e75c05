"""The arms of the comparison, and how many steps each takes for the same generated tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.lift.pools import measure_length
from learnable.data.curated.curated_set import CuratedSet
from learnable.train.preflight.batch import fit_batch
from learnable.train.preflight.shards import count_rows
from learnable.train.settings import USUAL_BATCH, Part, Sampler, TrainSettings


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
    """

    name: str
    title: str
    part: Part
    sampler: Sampler = "static"
    is_fitted: bool = False
    is_curated: bool = True
    is_blind: bool = False

    @property
    def drawn_part(self) -> Part:
        """The part that most of its prompts are of: a live sampler draws from the pool what the curation would keep.

        One that is blind has to try the pool's prompts first.
        """
        return "train" if self.sampler == "live" and not self.is_blind else self.part


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
    """Return the plan under which an arm generates as many tokens as the pool does in so many steps."""
    batch = choose_fitted_batch(curated) if arm.is_fitted else USUAL_BATCH
    tokens = baseline_steps * USUAL_BATCH * measure_length(curated, BASELINE.part)
    return plan_steps(tokens, batch, measure_length(curated, arm.drawn_part))


def plan_steps(tokens: float, batch_size: int, length: float) -> Plan:
    """Return as many steps as come nearest to `tokens`; `length` is the mean tokens of a completion.

    >>> plan_steps(12_800, 48, 4.0)
    Plan(steps=67, batch_size=48, tokens=12864.0, looks=6)
    """
    steps = max(1, round(tokens / (batch_size * length)))
    return Plan(steps, batch_size, steps * batch_size * length)


def choose_fitted_batch(curated: CuratedSet) -> int:
    """Return the completions a step that `learnable train --part train` takes for a curated set where nobody says."""
    settings = TrainSettings(str(curated.path), "", part="train").filled_from(curated.manifest)
    return fit_batch(settings, curated, count_rows(curated, "train"))[0].step_size
