"""What the curated set foretold of training, beside what its first steps then measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from learnable.data.curated.curated_set import CuratedSet
from learnable.filters.decisions.forecast import Forecast, forecast
from learnable.filters.posterior.certificate import read_family_priors
from learnable.train.settings import TrainSettings

FIRST_LOGS = 10  # later, the policy is another one than was asked
NEEDED = ("family", "alpha", "beta", "p_zero", "p_one", "n", "zeros", "ones")


@dataclass(frozen=True, slots=True)
class Foresight:
    """A forecast for the group size that is trained with, and the means of the first logs; None where not logged."""

    group_size: int
    zero_std_share: float
    mean_abs_advantage: float
    measured_zero_std_share: float | None = None
    measured_mean_abs_advantage: float | None = None

    @property
    def sentence(self) -> str:
        """Forecast and measurement in words."""
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


def foresee(curated: CuratedSet, settings: TrainSettings) -> Foresight | None:
    """Forecast the groups of a run from the certificates of its prompts; None for a set that has none."""
    if settings.method != "grpo" or not set(NEEDED) <= set(curated.manifest.get("schema", {})):
        return None
    rows = pl.DataFrame(curated.read(settings.part, settings.families, columns=list(NEEDED)))
    family_priors = read_family_priors(curated.manifest.get("beliefs", {}))
    passes = settings.signal == "pass" or curated.manifest["band"]["signal"] == "pass"
    graded = {name: family_prior.graded and not passes for name, family_prior in family_priors.items()}
    found: list[Forecast] = forecast(rows, graded, [settings.num_generations])
    if not found:
        return None
    return Foresight(settings.num_generations, found[0].zero_std_share, found[0].mean_abs_advantage)


def compare_with_logs(foresight: Foresight, records: Sequence[Mapping[str, Any]]) -> Foresight:
    """Add what the first logs of a run measured."""
    return Foresight(
        foresight.group_size,
        foresight.zero_std_share,
        foresight.mean_abs_advantage,
        _mean_of_first(records, "zero_std_share"),
        _mean_of_first(records, "mean_abs_advantage"),
    )


def _mean_of_first(records: Sequence[Mapping[str, Any]], key: str) -> float | None:
    values = [record[key] for record in records if record.get(key) is not None][:FIRST_LOGS]
    return sum(values) / len(values) if values else None
