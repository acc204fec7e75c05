"""What sampling a pool brought: scores, and where each group stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from learnable.filters.posterior.certificate import FamilyPrior


@dataclass(frozen=True, slots=True)
class Collected:
    """Every rollout of a run with its score, one row each, and how many of them this run generated.

    `groups` has a row a prompt: `asked` (rollouts), `stopped`, and the `threshold` of its decision. `beliefs` are the
    families'; `certified` is how many prompts are kept, and `gave_up` whether a goal was given up for a poor yield.
    """

    scores: pl.DataFrame
    groups: pl.DataFrame
    family_priors: Mapping[str, FamilyPrior]
    certified: int
    gave_up: bool
    generated: int

    def followed_by(self, later: Collected) -> Collected:
        """Return what a later pass over more prompts collected, with what both of them generated."""
        return replace(later, generated=self.generated + later.generated)
