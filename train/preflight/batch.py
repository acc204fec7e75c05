"""How many prompts a step takes where nobody said: enough for the usable groups that the usual batch has of the pool.

A group without spread costs tokens and teaches nothing. Of a pool that nobody curated, 8 prompts may give 3 groups that
teach; of a curated set 3 prompts give as many, and so do 3 that the live sampler draws, from that pool too. Adam takes
the same step for either, and 5 groups need not be paid for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import numpy as np

from learnable.data.curated.curated_set import POOL_PART, CuratedSet
from learnable.data.curated.manifest import Forecast, Manifest
from learnable.train.monitor.forecast import forecast_training
from learnable.train.settings import TrainSettings


@dataclass(frozen=True, slots=True)
class UsableShares:
    """The shares of groups with spread that are forecast for one group size: of what a run draws, of the pool's."""

    group_size: int
    drawn: float
    pool: float

    @property
    def enough(self) -> float:
        """The share of a batch of the pool's prompts that has as many usable groups when it is drawn; at most 1.

        >>> UsableShares(16, drawn=0.75, pool=0.375).enough
        0.5
        """
        return min(1.0, self.pool / self.drawn) if self.drawn > 0 else 1.0


def fit_batch(settings: TrainSettings, curated: CuratedSet, prompts: int) -> tuple[TrainSettings, list[str]]:
    """Return the settings with a batch size, and why it is not the usual one where it was chosen here and is not.

    `prompts` are those of the part that is trained on.
    """
    if settings.batch_size is not None:
        return settings, []
    shares = forecast_usable(settings, curated)
    filled = settings.fitted_to(prompts)
    fitted = filled if shares is None else settings.fitted_to(prompts, shares.enough)
    if fitted.batch_size == fitted.usual_batch:
        return fitted, []
    note = explain_batch(fitted, prompts)
    if shares is not None and fitted.step_size < filled.step_size:
        note += f"; {explain_saving(fitted, filled, shares, mean_length(curated.manifest))}"
    return fitted, [note]


def forecast_usable(settings: TrainSettings, curated: CuratedSet) -> UsableShares | None:
    """Return what is forecast of groups of this size; None for a set that does not say, and for some families.

    A pool's forecast is of all its families, and none is needed where the pool is trained on as it is. The control is
    forecast as `train` is: the two are for comparison, at equal batches.
    """
    pool = curated.manifest.forecast.pool
    if settings.families or not pool or (settings.part == POOL_PART and settings.sampler != "live"):
        return None
    part = "train" if settings.part == "control" else settings.named_part
    expected = forecast_training(curated, replace(settings, part=part)) if curated.shards(part) else None
    if expected is None:
        return None
    size = settings.num_generations
    return UsableShares(size, 1 - expected.zero_std_share, read_usable_rate(pool, size))


def read_usable_rate(rows: tuple[Forecast, ...], group_size: int) -> float:
    """Return the forecast share of usable groups; between the sizes of the rows on straight lines in log size."""
    ordered = sorted(rows, key=lambda row: row.group_size)
    sizes = [log(row.group_size) for row in ordered]
    return float(np.interp(log(group_size), sizes, [row.usable_rate for row in ordered]))


def mean_length(manifest: Manifest) -> float | None:
    """Return the mean tokens of the curation's completions; None where the manifest does not say."""
    families = [row for row in manifest.forms if row.form is None]
    rollouts = sum(row.rollouts or 0 for row in families)
    return sum(row.tokens or 0 for row in families) / rollouts if rollouts else None


def explain_batch(settings: TrainSettings, prompts: int) -> str:
    """Return what a step is made of."""
    rest = f" x {settings.num_generations} completions" if settings.method == "grpo" else ""
    named = f"{settings.named_part} prompts" if settings.method == "grpo" else settings.rows_part
    return (
        f"`batch_size` {settings.batch_size}, not the usual {settings.usual_batch}: {settings.prompts_per_step} of the "
        f"set's {prompts} {named} a step{rest}"
    )


def explain_saving(fitted: TrainSettings, filled: TrainSettings, shares: UsableShares, tokens: float | None) -> str:
    """Return why the batch may be smaller than the prompts could fill, and what that saves. `tokens`: a completion."""
    few, many = fitted.prompts_per_step, filled.prompts_per_step
    saved = filled.step_size - fitted.step_size
    cost = "" if tokens is None else f", about {saved * tokens:,.0f} tokens"
    whose = "the groups that the live sampler draws" if fitted.sampler == "live" else "its groups"
    return (
        f"{shares.drawn:.0%} of {whose} are expected to be usable and {shares.pool:.0%} of its pool's, so "
        f"{few} a step give {few * shares.drawn:.1f} usable groups where {many} of the pool's give "
        f"{many * shares.pool:.1f}; that saves {saved} completions a step ({saved / filled.step_size:.0%}{cost}): "
        f"spend them on more `steps`, or give `batch_size` {filled.batch_size}"
    )
