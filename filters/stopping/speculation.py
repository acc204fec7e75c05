"""Which blocks to make before it is known that they are needed, for an engine that would idle."""

from __future__ import annotations

import numpy as np

from learnable.filters.arrays import Indices
from learnable.filters.stopping.pool_beliefs import group_rows, measure_rows
from learnable.filters.stopping.schedule import SamplingRound, Schedule
from learnable.filters.stopping.table import MAX_AHEAD

NEVER = -1  # of the end of what was made ahead: nothing more is
MIN_CHANCE = 0.2  # that a block is needed: less is not worth making, even where slots idle


class Speculation:
    """What is made ahead of a schedule. It decides nothing: a group counts what its schedule has requested.

    `ends` has the end of what was made ahead of each prompt, 0 where nothing was, `NEVER` where nothing is to be.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        size = len(schedule.uniforms)
        self.ends = np.zeros(size, np.int16)
        self._chances = np.zeros((MAX_AHEAD + 1, size), np.float32)  # of each group to go on, as far as it is known
        self._known = np.zeros(size, np.int32)  # by what they were found: one more than was answered, and which fit

    def pick(self, blocks: int) -> SamplingRound:
        """Return as many blocks, those first that are needed most likely: new prompts, then groups in doubt."""
        new = self._find_new(blocks)
        doubtful = self._find_doubtful(blocks - len(new))
        first = np.full(len(new), self.schedule.block_ends[0])
        return SamplingRound.join([SamplingRound(new, np.zeros_like(first), first), doubtful])

    def can_take(self, prompt: int, first: int) -> bool:
        """Whether this is still where a prompt's next block ahead begins."""
        schedule = self.schedule
        if schedule.stopped[prompt] or self.ends[prompt] == NEVER:
            return False
        return max(int(self.ends[prompt]), int(schedule.requested[prompt])) == first

    def _find_new(self, blocks: int) -> Indices:
        """Return prompts that will be asked by all that is known, where fits to come choose among them."""
        order = self.schedule.find_next()
        new: Indices = order[self.ends[order] == 0][:blocks]
        return new

    def _find_doubtful(self, blocks: int) -> SamplingRound:
        schedule, block_ends = self.schedule, self.schedule.block_ends
        prompts = np.flatnonzero((schedule.requested > 0) & ~schedule.stopped)
        made = np.maximum(self.ends[prompts], schedule.requested[prompts])
        requested = np.searchsorted(block_ends, schedule.requested[prompts], side="right")
        following = np.searchsorted(block_ends, made, side="right")
        ahead = following - requested  # blocks that were made ahead
        is_free = (self.ends[prompts] != NEVER) & (ahead < MAX_AHEAD) & (following < len(block_ends))
        prompts, made, following = prompts[is_free], made[is_free], following[is_free]
        self._forecast(prompts)
        # A group that awaits nothing has no fit: whether its next block is needed is not known either.
        needed = self._chances[ahead[is_free] + schedule.awaited[prompts], prompts]
        best = np.argsort(-needed, kind="stable")[: max(blocks, 0)]
        best = best[needed[best] >= MIN_CHANCE]
        return SamplingRound(prompts[best], made[best], block_ends[following[best]])

    def _forecast(self, prompts: Indices) -> None:
        """Bring the chances of these groups up to date: those that were answered or judged anew since."""
        schedule, cohorts = self.schedule, self.schedule.cohorts
        fits, answered = len(cohorts.fits), self._find_answered(prompts)
        cohort = np.minimum(cohorts.of[prompts], fits)
        known = answered + 1 + np.where(cohort < fits, 0, (schedule.rewards.shape[1] + 1) * (1 + fits))
        is_new = self._known[prompts] != known
        prompts, answered, cohort = prompts[is_new], answered[is_new], cohort[is_new]
        self._known[prompts] = known[is_new]
        n, mean, _ = measure_rows(schedule.rewards, prompts, answered)
        for number, members in group_rows(cohort):
            fit, cell = (cohorts.fits[number], cohorts.cell) if number < fits else (schedule.fit, schedule.cell)
            for place, part in group_rows(cell[prompts[members]]):
                rows, rule = members[part], fit.rules.get(fit.cells[place])
                if rule is not None:
                    of = prompts[rows]
                    self._chances[:, of] = rule.forecast_blocks(schedule.uniforms[of], n[rows], (n * mean)[rows])

    def _find_answered(self, prompts: Indices) -> Indices:
        """Return how many rollouts of these prompts were answered, of those that were requested."""
        requested, block_ends = self.schedule.requested[prompts], self.schedule.block_ends
        last = np.searchsorted(block_ends, requested) - 1
        before = np.where(last >= 0, block_ends[last], 0)
        return np.where(self.schedule.awaited[prompts], before, requested)
