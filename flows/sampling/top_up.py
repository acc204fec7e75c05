"""What is sampled after the decisions: top-ups of kept prompts, second chances of rejected ones."""

from __future__ import annotations

import numpy as np

from learnable.data.curated.curated_set import UNKEPT_PARTS, CuratedSet, find_versions, open_curated
from learnable.data.progress import progress
from learnable.data.records import content_id, weights_id
from learnable.data.store import Store
from learnable.filters.arrays import Indices
from learnable.flows.sampling.sampler import AdaptiveSampling
from learnable.flows.settings import CurateSettings

CLEAR = ("too_easy", "too_hard", "low_std", "zero_std")  # decisions that a retest may overturn


def top_up(sampling: AdaptiveSampling, store: Store) -> None:
    """Let groups count all that is stored of them, top kept ones up where the budget says so, and retest some others.

    A retest happens only in a run that looks further than the last version did: the same command again costs nothing,
    and where files of the store were lost it costs what was in them.
    """
    budget, schedule = sampling.settings.budget, sampling.schedule
    if budget.sampling == "fixed":
        return
    if budget.want is None:  # a goal that was reached stays so
        sampling.count_stored()
    if budget.top_up:
        kept = schedule.find_certified()
        sampling.grow(kept, np.full(len(kept), sampling.settings.group_size))
    if budget.want is None and budget.retest and sampling.generated:
        rejected = _rejected_before(sampling, store)
        if len(rejected):
            progress().note(f"{len(rejected)} prompts that were rejected before are sampled again")
            sampling.grow(rejected, schedule.requested[rejected] + budget.blocks[-1])


def _rejected_before(sampling: AdaptiveSampling, store: Store) -> Indices:
    """Return the prompts to retest, as rows of the pool.

    They are a share of those that the last version of this set rejected and this run would reject too.
    """
    settings, schedule = sampling.settings, sampling.schedule
    last = _last_version(settings, store, sampling.collector.draw.policy_id)
    if last is None or not _looks_further(sampling, last):
        return np.empty(0, dtype=np.int64)
    rejects = last.read("rejects", columns=["prompt_id", "decision"]).to_pylist()
    previous = {row["prompt_id"] for row in rejects if row["decision"] in CLEAR}
    kept = set(schedule.find_certified().tolist())
    rows = [
        row
        for row, prompt in enumerate(sampling.prompts)
        if prompt.prompt_id in previous
        and row not in kept
        and schedule.requested[row] > 0
        and _chance(prompt.prompt_id, schedule.requested[row]) < settings.budget.retest
    ]
    return np.array(rows, dtype=np.int64)


def _last_version(settings: CurateSettings, store: Store, policy_id: str) -> CuratedSet | None:
    versions = find_versions(store.curated / settings.set_name)
    if not versions:
        return None
    last = open_curated(versions[-1])
    return last if weights_id(last.manifest.policy.policy_id) == weights_id(policy_id) else None


def _looks_further(sampling: AdaptiveSampling, last: CuratedSet) -> bool:
    """Whether any prompt was given more rollouts than the version says."""
    drawn: dict[str, int] = {}
    for part in ("train", "test", *UNKEPT_PARTS):  # these have every prompt once
        if last.shards(part):
            rows = last.read(part, columns=["prompt_id", "rollouts"]).to_pydict()
            drawn.update(zip(rows["prompt_id"], rows["rollouts"], strict=True))
    given = zip(sampling.prompts, sampling.schedule.requested.tolist(), strict=True)
    return any(requested > drawn.get(prompt.prompt_id, 0) for prompt, requested in given)


def _chance(prompt_id: str, rollouts: int) -> float:
    """Return a number in [0, 1) that is another one once the prompt was sampled again."""
    return int(content_id("retest", prompt_id, int(rollouts))[:8], 16) / 2.0**32
