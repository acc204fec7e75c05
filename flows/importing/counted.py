"""A curated set straight from pass counts: certificates need counts alone, and no rollout is made up for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from learnable.data.records import Prompt
from learnable.data.sources.rollouts.counts import Counted
from learnable.data.sources.rollouts.files import ImportedQuestion
from learnable.data.sources.selection import PromptSet
from learnable.filters.arrays import Indices
from learnable.filters.decisions.evidence import gather_evidence
from learnable.filters.stopping.schedule import Schedule, hash_to_uniforms
from learnable.flows.run import Run
from learnable.flows.sampling.sampler import Collected
from learnable.flows.sampling.scan import SCORED, RolloutScan

LARGEST = 4096  # completions of one prompt that a set is made from: a row each is counted
Totals = Mapping[str, tuple[int, int]]  # completions and passes by prompt


@dataclass(frozen=True, slots=True)
class CountScan(RolloutScan):
    """Counts as the rows that rollouts would have: rewards of 1 and 0, without texts, tokens or ids."""

    passes: Indices

    def parts(self, prompt_ids: Collection[str] | None = None) -> Iterator[pl.DataFrame]:
        """Yield the rows of the prompts, or of some of them, as of `RolloutScan.parts`."""
        for rows in self._shares(prompt_ids):
            sizes = self.requested[rows]
            whose = np.repeat(rows, sizes)
            place = np.arange(len(whose)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            passed = place < self.passes[whose]
            told = {
                "prompt_id": [self.prompts[row].prompt_id for row in whose.tolist()],
                "rollout_id": [""] * len(whose),
                "rollout_index": place,
                "num_tokens": np.zeros(len(whose), np.int64),
                "reward": passed.astype(np.float64),
                "passed": passed,
                "verdict": ["scored"] * len(whose),
                "reason": [""] * len(whose),
            }
            frame = pl.DataFrame(told, {name: kind for name, kind in SCORED.items() if name != "components"})
            frame = frame.with_columns(components=pl.lit([], SCORED["components"]))
            described = frame.join(self._describe(rows), on="prompt_id", how="left", maintain_order="left")
            yield described.with_columns(opening=pl.lit(True)).drop("_opening")

    def read_texts(self, chosen: pl.DataFrame, *, whole: bool = False) -> Iterator[pl.DataFrame]:
        """Yield nothing: nobody kept the completions."""
        yield from ()


def add_up(counted: Sequence[Counted]) -> dict[str, tuple[Counted, int, int]]:
    """Return for each prompt its first row, and the completions and passes of all of its rows."""
    totals: dict[str, tuple[Counted, int, int]] = {}
    for row in counted:
        first, k, passes = totals.get(row.count.key, (row, 0, 0))
        totals[row.count.key] = (first, k + row.count.k, passes + row.count.passes)
    return totals


def question_of(row: Counted) -> ImportedQuestion:
    """Return the question of a count that has its text."""
    assert row.prompt is not None
    return ImportedQuestion(row.place, row.prompt, str(row.row.get("form") or ""), row.row)


def collect_counts(run: Run, pool: PromptSet, totals: Totals) -> Collected:
    """Return what counts say of each prompt of the pool, as sampling would have collected it."""
    settings, prompts = run.settings, pool.prompts
    sizes = np.array([totals[prompt.prompt_id][0] for prompt in prompts], np.int64)
    passes = np.array([totals[prompt.prompt_id][1] for prompt in prompts], np.int64)
    uniforms = hash_to_uniforms([prompt.prompt_id for prompt in prompts])
    schedule = Schedule([p.family for p in prompts], uniforms, settings.band, settings.budget, settings.group_size)
    places = np.arange(schedule.rewards.shape[1])[None, :]
    schedule.rewards[:] = np.where(places < sizes[:, None], (places < passes[:, None]).astype(np.float64), np.nan)
    schedule.requested[:] = sizes
    schedule.settle()
    nothing = np.zeros(len(prompts), np.int64)
    scan = CountScan(run.store.ledger, run.draw, {}, prompts, sizes, nothing, sizes, {}, passes)
    groups = pl.DataFrame(
        {
            "prompt_id": [prompt.prompt_id for prompt in prompts],
            "requested": sizes,
            "stopped": schedule.stopped,
            "opening": sizes,
            "threshold": schedule.find_thresholds(),
        }
    )
    evidence = gather_evidence(
        scan.parts(), schedule.family_priors, settings.band, settings.group_size, settings.truncated
    )
    evidence = replace(evidence, lengths=evidence.lengths.clear())  # nobody counted tokens
    priors = {name: schedule.family_priors[name] for name in map(str, schedule.names)}
    return Collected(groups, evidence, scan, priors, len(schedule.find_certified()), False, 0)


def is_too_large(prompts: Sequence[Prompt], totals: Totals) -> bool:
    """Whether a prompt has more completions than a set is made from."""
    return any(totals[prompt.prompt_id][0] > LARGEST for prompt in prompts)
