"""The Prefect flow `curate`. Its steps and their order are those of `flows.curation.pipeline`."""

# No postponed annotations here: a deployment loads this file under another name, where Prefect could not resolve them.

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from prefect import State, flow, runtime, task
from prefect.cache_policies import NO_CACHE
from prefect.utilities.annotations import quote

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport, describe_outcome, render_markdown
from learnable.flows.engines import stop_engines
from learnable.flows.finetune import finetune
from learnable.flows.scheduling.events import name_run, show_version
from learnable.flows.scheduling.run_log import logged_unless_watched
from learnable.flows.scheduling.runs import scheduled_run
from learnable.flows.settings import CurateSettings
from learnable.train.settings import TrainSettings

TASK_NAMES = {"resample": "ask_again", "resample_unsure": "ask_unsure"}  # as Prefect's users know them

WITH_ENGINE = ("roll_out_and_score", "resample", "resample_unsure", "run_evaluation")  # each goes on from the ledger
RETRIES, RETRY_SECONDS = 2, 10.0

P = ParamSpec("P")
R = TypeVar("R")


@flow(name="curate", flow_run_name=name_run, persist_result=False)
def curate(settings: CurateSettings, train: TrainSettings | None = None) -> CurationReport:
    """Find the prompts that a policy can learn from, and train on them if `train` says how.

    `train.curated` is filled in with the set that was made. Deploy it as `learnable.flows.curate.curate`.
    """
    with scheduled_run():
        with logged_unless_watched() as is_logged:
            report = run_curation(settings, step=as_task)
            if is_logged:  # nobody sees the table
                progress().note(f"{describe_outcome(report)} {report.curated}")
        show_version(report.curated, report.run_id, "curated", render_markdown(report), report.forms)
        if train is not None:
            stop_engines()  # an engine and a trainer never share a machine's memory
            report = replace(report, training=finetune(replace(train, curated=report.curated)))
        return report


def may_pass(task: object, run: object, state: State[object]) -> bool:
    """Whether a step may end well if it is done again: its run is a deployment's, and no message says what is wrong."""
    if not runtime.deployment.id:  # somebody waits for it
        return False
    error = state.result(raise_on_failure=False)
    return isinstance(error, Exception) and not isinstance(error, LearnableError)


def as_task(function: Callable[P, R]) -> Callable[P, R]:
    """Make a step a task. Its result is not cached: the store is what remembers.

    Prefect would walk through all that it is given, to look for results of other tasks: a third of the time of a run.
    So each argument is quoted.
    """
    name = TASK_NAMES.get(function.__name__, function.__name__)
    again: dict[str, Any] = (
        {"retries": RETRIES, "retry_delay_seconds": RETRY_SECONDS, "retry_condition_fn": may_pass}
        if function.__name__ in WITH_ENGINE
        else {}
    )
    run: Callable[..., R] = task(name=name, cache_policy=NO_CACHE, persist_result=False, **again)(function)

    @wraps(function)
    def run_quoted(*args: P.args, **kwargs: P.kwargs) -> R:
        return run(*map(quote, args), **{key: quote(value) for key, value in kwargs.items()})

    return run_quoted
