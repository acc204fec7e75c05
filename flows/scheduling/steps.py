"""How a step of a flow runs as a Prefect task: what it is called, how often it is tried, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

from prefect import State, runtime, task
from prefect.cache_policies import NO_CACHE
from prefect.utilities.annotations import quote

from learnable.data.errors import LearnableError
from learnable.data.settings import Setting, check_settings

TASK_NAMES = {"resample": "ask_again", "resample_unsure": "ask_unsure"}  # as Prefect's users know them
WITH_ENGINE = ("roll_out_and_score", "resample", "resample_unsure", "run_evaluation")  # each goes on from the ledger

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Tries:
    """How often a step that asks an engine is tried in a run of a deployment, and how long a try may take.

    What Learnable itself explains is not tried again. Raises `LearnableError` for settings that cannot work.
    """

    retries: Annotated[int, Setting("Tries of such a step after the first.", at_least=0, flag=None)] = 2
    retry_delay_seconds: Annotated[float, Setting("Seconds between two tries.", at_least=0, flag=None)] = 10.0
    timeout_seconds: Annotated[
        float | None,
        Setting("Seconds that one try may take; the next one goes on from the ledger.", above=0, flag=None),
    ] = None

    def __post_init__(self) -> None:
        check_settings(self)

    def as_task(self, function: Callable[P, R]) -> Callable[P, R]:
        """Make a step a task. Its result is not cached: the store is what remembers.

        Prefect would walk through all that it is given, to look for results of other tasks: a third of the time of a
        run. So each argument is quoted.
        """
        name = TASK_NAMES.get(function.__name__, function.__name__)
        again: dict[str, Any] = {
            "retries": self.retries,
            "retry_delay_seconds": self.retry_delay_seconds,
            "retry_condition_fn": may_pass,
            "timeout_seconds": self.timeout_seconds,
        }
        limits = again if function.__name__ in WITH_ENGINE else {}
        run: Callable[..., R] = task(name=name, cache_policy=NO_CACHE, persist_result=False, **limits)(function)

        @wraps(function)
        def run_quoted(*args: P.args, **kwargs: P.kwargs) -> R:
            return run(*map(quote, args), **{key: quote(value) for key, value in kwargs.items()})

        return run_quoted


USUAL = Tries()


def may_pass(task: object, run: object, state: State[object]) -> bool:
    """Whether a step may end well if it is done again: its run is a deployment's, and no message says what is wrong."""
    if not runtime.deployment.id:  # somebody waits for it
        return False
    error = state.result(raise_on_failure=False)
    return isinstance(error, Exception) and not isinstance(error, LearnableError)
