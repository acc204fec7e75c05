"""Samples settings of the knobs by the steps of a curation, so that the ledger keeps and reuses every rollout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from urllib.parse import quote

import numpy as np

from learnable.data.errors import NothingAnsweredError
from learnable.data.progress import Silence, progress, watched_by
from learnable.data.records import Prompt
from learnable.data.sources.selection import PromptSet
from learnable.filters.arrays import Values
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.steps import read_prompts
from learnable.flows.run import Run
from learnable.flows.sampling.sampler import open_sampling
from learnable.flows.settings import CurateSettings
from learnable.flows.settings.dial import ROLLOUTS_A_PROMPT


@dataclass(frozen=True, slots=True)
class KnobSample:
    """New prompts of one setting: the share of each one's rollouts that passed, and their sample variance.

    Prompts that lack an honest score are left out. `is_dry` says that the setting has no prompts beyond these.
    """

    shares: Values
    variances: Values
    is_dry: bool


class WarningsOnly(Silence):
    """Progress of a round, of which only warnings are worth a line, each once; `outer` hears them."""

    def __init__(self) -> None:
        self.outer = progress()
        self._heard: set[str] = set()

    def warn(self, text: str) -> None:
        """Pass it on."""
        if text not in self._heard:
            self._heard.add(text)
            self.outer.warn(text)


def settings_at(settings: CurateSettings, knobs: Mapping[str, str]) -> CurateSettings:
    """Return the settings of a curation with the generator's knobs set so.

    Where prompts have a location it is a generator's, as `reasoning-gym:chain_sum`, and the knobs are its query.

    >>> from learnable.flows.settings import PromptSettings
    >>> chain = CurateSettings(prompts=PromptSettings(location="reasoning-gym:chain_sum?num_terms=4"))
    >>> settings_at(chain, {"level": "2"}).prompts.location
    'reasoning-gym:chain_sum?num_terms=4&level=2'
    """
    prompts = settings.prompts
    if prompts.location:
        query = "&".join(f"{quote(name)}={quote(value)}" for name, value in knobs.items())
        location = f"{prompts.location}{'&' if '?' in prompts.location else '?'}{query}"
        return replace(settings, prompts=replace(prompts, location=location))
    return replace(settings, prompts=replace(prompts, knobs={**prompts.knobs, **knobs}))


class KnobSampler:
    """Draws prompts of each setting in the order of the seed, each once, and has the policy answer them.

    `cells` are the settings. So what was sampled there is the beginning of what a curation at that setting looks at.
    `rollouts` counts all that were looked at, `generated` those that were new.
    """

    def __init__(self, run: Run, cells: list[dict[str, str]]) -> None:
        self.run = replace(run, settings=_with_few_rollouts(run.settings))
        self.cells = cells
        self.rollouts = self.generated = 0
        self._taken = [0] * len(cells)  # prompts of each, from the first on
        self._is_first = True
        self._quiet = WarningsOnly()

    def sample(self, counts: Mapping[int, int]) -> dict[int, KnobSample]:
        """Sample so many new prompts of each of these settings, in one call of the engine.

        Raises `LearnableError` as a curation does, `InterruptedRunError` for Ctrl-C.
        """
        fresh: dict[int, list[Prompt]] = {}
        dry: set[int] = set()
        for cell, count in counts.items():
            fresh[cell], is_dry = self._read(cell, count)
            dry |= {cell} if is_dry else set()
        pool = {prompt.prompt_id: prompt for prompts in fresh.values() for prompt in prompts}
        measured = self._roll_out(list(pool.values())) if pool else {}
        return {cell: _gather(prompts, measured, is_dry=cell in dry) for cell, prompts in fresh.items()}

    def _read(self, cell: int, count: int) -> tuple[list[Prompt], bool]:
        """Return the next prompts of a setting, and whether there are no more."""
        with watched_by(progress() if self._is_first else Silence()):
            limit = self._taken[cell] + count
            prompt_set = read_prompts(settings_at(self.run.settings, self.cells[cell]), limit)
        self._is_first = False
        prompts = prompt_set.prompts[self._taken[cell] :]
        self._taken[cell] = len(prompt_set.prompts)
        return prompts, len(prompt_set.prompts) + len(prompt_set.dropped_prompts) < limit

    def _roll_out(self, prompts: list[Prompt]) -> dict[str, tuple[float, float]]:
        """Return the pass rate and the sample variance of each prompt that has all its scores, by its id."""
        watcher = self._quiet if self.rollouts else progress()
        with watched_by(watcher), open_sampling(self.run, PromptSet(prompts)) as sampling:
            with sampling.interruptible(), self._first_answered():
                sampling.run()
            n, mean, variance = sampling.schedule.measure(np.arange(len(prompts)))
            self.generated += sampling.generated
        self.rollouts += len(prompts) * ROLLOUTS_A_PROMPT
        unbiased = variance * n / np.maximum(n - 1, 1)
        complete = np.flatnonzero(n == ROLLOUTS_A_PROMPT)
        return {prompts[row].prompt_id: (float(mean[row]), float(unbiased[row])) for row in complete}

    @contextmanager
    def _first_answered(self) -> Iterator[None]:
        """Let a setting pass whose prompts have no answer, but not the first look at all of them."""
        try:
            yield
        except NothingAnsweredError:
            if not self.rollouts:
                raise


def _with_few_rollouts(settings: CurateSettings) -> CurateSettings:
    return replace(
        settings,
        preset=settings.preset.override(by="pass"),
        budget=SamplingBudget("fixed"),
        group_size=ROLLOUTS_A_PROMPT,
        test_share=0.0,
        prompts=replace(settings.prompts, limit=None),
    )


def _gather(prompts: list[Prompt], measured: Mapping[str, tuple[float, float]], *, is_dry: bool) -> KnobSample:
    measures = np.array([measured[p.prompt_id] for p in prompts if p.prompt_id in measured]).reshape(-1, 2)
    return KnobSample(measures[:, 0], measures[:, 1], is_dry)
