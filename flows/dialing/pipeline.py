"""The order of a search for the right difficulty: look, sample, look again; then curate at what was found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count

import numpy as np

from learnable.data.errors import LearnableError
from learnable.data.progress import Silence, progress, watched_by
from learnable.filters.dial.search import DialSearch, Look
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.steps import read_prompts
from learnable.flows.dialing.report import DialReport, SearchEnd, build_report
from learnable.flows.dialing.rounds import KnobSampler, settings_at
from learnable.flows.engines import policy_for
from learnable.flows.run import locked_store, start_run
from learnable.flows.settings.dial import PROMPTS_A_PICK, ROLLOUTS_A_PROMPT, DialSettings
from learnable.verifiers.families.knob_grid import find_moved_forms
from learnable.verifiers.families.registry import find_family, find_forms


def run_dial(settings: DialSettings) -> DialReport:
    """Find the knobs at which the policy passes at the wanted rate, curate there, and return the report.

    A search is a function of its settings and of the rewards, and its rollouts are in the ledger: the same command goes
    on where an earlier one stopped. Raises `LearnableError` for bad input before anything is sampled.
    """
    settings.curation.engine.check()
    settings = leave_out_unmoved(settings)
    list_examples(settings)
    with locked_store(settings.curation) as store:
        run = start_run(settings.curation, policy_for(settings.curation), store)
        sampler = KnobSampler(run, settings.grid.cells())
        search = DialSearch(np.array(settings.grid.points()), settings.aim, settings.curation.seed)
        look, outcome = _search(settings, search, sampler)
        report = build_report(run, settings, search, look, outcome)
        report = replace(report, rollouts=sampler.rollouts, generated=sampler.generated)
        if not (settings.curate and report.is_reached):
            return report
        progress().note(f"curating at {report.nearest.named}")
        return replace(report, curation=run_curation(settings_at(settings.curation, report.nearest.knobs)))


def leave_out_unmoved(settings: DialSettings) -> DialSettings:
    """Return the settings with those forms of a family that the knobs move, and say which others are left out.

    Forms that users name stay.
    """
    prompts = settings.curation.prompts
    if not prompts.families:
        return settings
    family = find_family(prompts.families[0])
    moved = find_moved_forms(family.name, settings.grid, settings.curation.seed)
    if not (still := [form for form in family.forms if form not in moved]):
        return settings
    turned = " and ".join(settings.grid.turned)
    progress().note(
        f"left out: {', '.join(still)}, which {turned} does not move, or leaves without prompts at some settings"
    )
    # A name that another family has too would mean that one's form.
    own = [form for form in moved if find_forms([form]) == [(family.name, form)]]
    forms = tuple(dict.fromkeys([*own, *prompts.forms]))
    return replace(settings, curation=replace(settings.curation, prompts=replace(prompts, forms=forms, families=())))


def list_examples(settings: DialSettings) -> list[str]:
    """Return the first prompt of every setting.

    Raises `LearnableError` for a setting that the generator refuses, or at which it makes nothing.
    """
    examples = []
    for knobs in settings.grid.cells():
        try:
            with watched_by(Silence()):
                prompt_set = read_prompts(settings_at(settings.curation, knobs), 1)
        except LearnableError as error:
            named = ", ".join(f"{name}={value}" for name, value in knobs.items())
            raise LearnableError(f"nothing can be asked at {named}: {error}") from error
        examples.append(prompt_set.prompts[0].text)
    return examples


def _search(settings: DialSettings, search: DialSearch, sampler: KnobSampler) -> tuple[Look, SearchEnd]:
    picks: tuple[int, ...] = search.opening()
    for number in count(1):
        _sample(settings, search, sampler, picks)
        look = search.look()
        progress().note(_describe(settings, sampler, look, number))
        if look.found is not None:
            return look, "reached"
        if look.is_hopeless:
            return look, "unreachable"
        if not look.picks:
            return look, "dry"
        if _prompts_left(settings, sampler) < 1:
            return look, "budget"
        picks = look.picks
    raise AssertionError("rounds do not end")


def _sample(settings: DialSettings, search: DialSearch, sampler: KnobSampler, picks: tuple[int, ...]) -> None:
    """Sample the picked settings, as far as the budget goes: a setting that was picked twice gets twice as many."""
    left = _prompts_left(settings, sampler)
    affordable = picks[: max(left // PROMPTS_A_PICK, 1)]
    counts = {cell: times * min(PROMPTS_A_PICK, left) for cell, times in Counter(affordable).items()}
    for cell, sampled in sampler.sample(counts).items():
        search.add(cell, sampled.shares, sampled.variances)
        if sampled.is_dry:
            search.close_setting(cell)


def _prompts_left(settings: DialSettings, sampler: KnobSampler) -> int:
    return (settings.budget - sampler.rollouts) // ROLLOUTS_A_PROMPT


def _describe(settings: DialSettings, sampler: KnobSampler, look: Look, number: int) -> str:
    cell = look.nearest if look.found is None else look.found
    named = ", ".join(f"{name}={value}" for name, value in settings.grid.cells()[cell].items())
    return (
        f"round {number}: {sampler.rollouts:,} of at most {settings.budget:,} rollouts; nearest {named}, which passes "
        f"{look.mean[cell]:.2f} [{look.low[cell]:.2f}, {look.high[cell]:.2f}]"
    )
