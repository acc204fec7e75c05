"""The order of a curation, written once: as plain calls, or with every step a Prefect task."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

from learnable.data.curated.curated_set import CuratedSet
from learnable.data.progress import progress
from learnable.data.sources.selection import PromptSet
from learnable.flows.curation.goal import next_limit
from learnable.flows.curation.inspection import inspect_pool
from learnable.flows.curation.publishing import publish
from learnable.flows.curation.report import CurationReport, build_report, find_warnings, list_figures
from learnable.flows.curation.steps import decide_groups, read_prompts, roll_out_and_score
from learnable.flows.engines import policy_for
from learnable.flows.garbage import give_back, rarely_collected, set_aside
from learnable.flows.run import Run, locked_store, start_run
from learnable.flows.settings import CurateSettings
from learnable.flows.tracking import check_tracker, track, tracked
from learnable.viewing.report import write_beside

P = ParamSpec("P")
R = TypeVar("R")


class Step(Protocol):
    """Turns a function into one that runs as a step of a flow."""

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return the step."""


def plain(function: Callable[P, R]) -> Callable[P, R]:
    """Run the function as it is."""
    return function


def run_curation(settings: CurateSettings, step: Step = plain, given: PromptSet | None = None) -> CurationReport:
    """Find the prompts that a policy can learn from, and publish them, as the store's only writer.

    `given` are prompts that have their sides of the split already, in place of those that the settings name.
    """
    check_tracker(settings.report_to)
    started = time.monotonic()
    with locked_store(settings) as store, rarely_collected():
        run = start_run(settings, policy_for(settings), store)
        with tracked(settings, run.run_id):
            report, curated = _curate(run, step, given, started)
            write_beside(curated, store)  # once what led to the set has left the memory
            track(list_figures(report), step=report.totals.rollouts)
    for warning in find_warnings(report):
        progress().warn(warning)
    return report


def _curate(run: Run, step: Step, given: PromptSet | None, started: float) -> tuple[CurationReport, CuratedSet]:
    settings, store = run.settings, run.store
    prompts = given or step(read_prompts)(settings)
    set_aside()
    give_back()
    collected = step(roll_out_and_score)(run, prompts)
    while given is None and (limit := next_limit(settings, len(prompts.prompts), collected)):
        prompts = step(read_prompts)(settings, limit)
        collected = collected.followed_by(step(roll_out_and_score)(run, prompts))
    give_back()
    decided = step(decide_groups)(run, prompts, collected)
    collected = collected.without_groups()
    give_back()
    store.write_groups(run.run_id, decided)
    give_back()
    inspection = step(inspect_pool)(decided.rows, collected)
    curated = step(publish)(run, decided, collected, inspection)
    give_back()
    seconds = time.monotonic() - started
    return build_report(run, prompts, decided.rows, curated, collected, inspection, seconds=seconds), curated
