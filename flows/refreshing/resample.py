"""Asks a policy some prompts of a curated set, and decides those by what it answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from learnable.data.progress import progress
from learnable.data.records import Prompt
from learnable.data.sources.selection import PromptSet
from learnable.filters.decisions.presets import Preset
from learnable.flows.curation.steps import decide_groups, open_sampling
from learnable.flows.run import Run
from learnable.flows.sampling.collected import Collected


@dataclass(frozen=True, slots=True)
class Asked:
    """Prompts that the policy was asked, decided anew from its rollouts, and what was collected of them."""

    prompt_ids: Sequence[str]
    decided: pl.DataFrame
    collected: Collected

    def followed_by(self, later: Asked) -> Asked:
        """Return what a later call over these prompts and more brought, with what both of them generated."""
        return replace(later, collected=self.collected.followed_by(later.collected))


def ask_again(run: Run, prompts: Sequence[Prompt]) -> Asked:
    """Sample prompts, each as long as its decision is worth it, and decide them.

    Ctrl-C raises `InterruptedRunError`, as in a curation.
    """
    chosen = PromptSet(list(prompts))
    with open_sampling(run, chosen) as sampling, sampling.told_when_stopped():
        sampling.run()
        progress().stage("Scoring the last rollouts")
        collected = sampling.collected()
    # One by one: what the preset and a goal for precision ask for, they ask of the whole set.
    budget, preset = replace(run.settings.budget, precision=None), Preset("band", band=run.settings.band)
    alone = replace(run, settings=replace(run.settings, budget=budget, preset=preset))
    return Asked([prompt.prompt_id for prompt in prompts], decide_groups(alone, chosen, collected), collected)
