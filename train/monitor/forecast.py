"""What the certificates of a set forecast of a run's groups, beside what its first steps measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from learnable.data.curated.curated_set import CuratedSet
from learnable.filters.decisions.forecast import forecast
from learnable.filters.posterior.certificate import ZERO_STD_AT
from learnable.train.live.hooks import read_certificates
from learnable.train.live.rates import PassRates
from learnable.train.live.sampler import share_places
from learnable.train.monitor.records import StepRecord
from learnable.train.settings import TrainSettings


@dataclass(frozen=True, slots=True)
class TrainingForecast:
    """A forecast for the group size of the training, and the means of the first logs; None where nothing was logged.

    `zero_std_share`: share of groups whose rewards are all equal. `mean_abs_advantage`: mean of |advantage| as TRL
    scales it.
    """

    group_size: int
    zero_std_share: float
    mean_abs_advantage: float
    measured_zero_std_share: float | None = None
    measured_mean_abs_advantage: float | None = None

    @property
    def sentence(self) -> str:
        """Forecast and measurement, as a sentence."""
        text = (
            f"forecast at G = {self.group_size}: {self.zero_std_share:.0%} of groups without spread, mean |advantage| "
            f"{self.mean_abs_advantage:.2f}"
        )
        if self.measured_zero_std_share is None or self.measured_mean_abs_advantage is None:
            return text
        return (
            f"{text}; measured in the first steps: {self.measured_zero_std_share:.0%}, "
            f"{self.measured_mean_abs_advantage:.2f}"
        )


def forecast_training(curated: CuratedSet, settings: TrainSettings) -> TrainingForecast | None:
    """Forecast the groups of a run from the certificates of its prompts; None for a set that has none, and for SFT.

    Of the live sampler they are those that it draws at the start, and without it every prompt counts alike. None too
    where the certificates are of another signal: see `explain_other_signal`.
    """
    needed = ("family", "alpha", "beta", "p_zero", "p_one", "n", "zeros", "ones")
    if settings.method != "grpo" or not set(needed) <= set(curated.manifest.schema.keys()):
        return None
    if explain_other_signal(curated, settings):
        return None
    known = curated.manifest.schema.keys()
    more = (*ZERO_STD_AT.values(), "n_eff", "pass_rate")  # the live sampler reads the last two
    columns = [*needed, *(name for name in more if name in known)]
    rows = curated.read(settings.named_part, settings.families, columns=columns)
    weights = None
    if settings.sampler == "live" and rows.num_rows:
        usable = PassRates.of(read_certificates(rows)).expect_usable(settings.num_generations)
        weights = share_places(np.nan_to_num(usable))  # a prompt without a score has no certificate
    graded = _find_graded(curated, settings)
    forecasts = forecast(pl.DataFrame(rows), graded, [settings.num_generations], weights)
    if not forecasts:
        return None
    return TrainingForecast(settings.num_generations, forecasts[0].zero_std_share, forecasts[0].mean_abs_advantage)


def explain_other_signal(curated: CuratedSet, settings: TrainSettings) -> list[str]:
    """Return why a run has no forecast where it trains on rewards and its certificates are of passes, or vice versa.

    A verifier whose every reward is its pass has one signal, and nothing is in the way.
    """
    certified, trained = curated.manifest.band.signal, settings.signal
    columns = ("mean", "pass_rate")
    if settings.method != "grpo" or certified == trained or not set(columns) <= set(curated.manifest.schema):
        return []
    rows = pl.DataFrame(curated.read(settings.named_part, settings.families, columns=columns))
    if not rows.filter((pl.col("mean") - pl.col("pass_rate")).abs() > 1e-6).height:  # rewards are float32
        return []
    names = {"pass": "passes", "reward": "graded rewards"}
    return [
        f"no forecast of groups without spread: the certificates of this set are of {names[certified]}, and "
        f"{names[trained]} are trained on; `signal` {certified} trains on what was certified"
    ]


def add_measured(expected: TrainingForecast, records: Sequence[StepRecord]) -> TrainingForecast:
    """Return the forecast with what the first logs of a run measured."""
    return replace(
        expected,
        measured_zero_std_share=_average_first(records, "zero_std_share"),
        measured_mean_abs_advantage=_average_first(records, "mean_abs_advantage"),
    )


def _find_graded(curated: CuratedSet, settings: TrainSettings) -> dict[str, bool]:
    """Return for each family whether its rewards are graded, not just pass and fail."""
    passes = settings.signal == "pass" or curated.manifest.band.signal == "pass"
    priors = curated.manifest.family_priors
    return {family: prior.is_graded and not passes for family, prior in priors.items()}


def _average_first(records: Sequence[StepRecord], key: str) -> float | None:
    values = [value for record in records if (value := record.read(key)) is not None]
    first = values[:10]  # later, the policy is no longer the one that was curated for
    return sum(first) / len(first) if first else None
