"""What surrounds a scheduled run: it makes sure that runs do not pile up, and that none outlives who started it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import UUID

from prefect import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterNextScheduledStartTime,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType
from prefect.context import FlowRunContext
from prefect.logging import get_run_logger
from prefect.states import Cancelled

from learnable.data.errors import LearnableError

MAX_ATTEMPTS = 5  # of one run, that is brought back as often as its process or its machine dies
SERVED = "LEARNABLE_SERVED"  # in the environment of runs whose serving process hands Ctrl-C on


@contextmanager
def scheduled_run() -> Iterator[None]:
    """Drop the runs of this schedule that came due and did not start, and end with the process that serves it.

    After a run that took longer than the period, or a machine that was off, there is one run to catch up with, not one
    for each time that was missed. Does nothing around a run that no schedule started. Raises `LearnableError` for a run
    that has died too often to be started again.
    """
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    if run is None or run.deployment_id is None:
        yield
        return
    _end_with_server()
    if run.run_count > MAX_ATTEMPTS:
        raise LearnableError(
            f"this run was started {MAX_ATTEMPTS} times and came to no end: find out what kills it, such as too little "
            "memory, and start another one, which goes on from the ledger"
        )
    dropped = drop_missed_runs(run.deployment_id)
    if dropped:
        get_run_logger().info("%d earlier times were missed and are not made up for", dropped)
    yield
    if multiprocessing.parent_process() is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: this process ends by itself


def drop_missed_runs(deployment_id: UUID) -> int:
    """Cancel the runs of a deployment that are due and have not begun; return how many there were."""
    due = FlowRunFilter(
        deployment_id=FlowRunFilterDeploymentId(any_=[deployment_id]),
        state={"type": FlowRunFilterStateType(any_=[StateType.SCHEDULED])},  # type: ignore[arg-type]
        next_scheduled_start_time=FlowRunFilterNextScheduledStartTime(before_=datetime.now(UTC)),  # type: ignore[arg-type]
    )
    with get_client(sync_client=True) as client:
        runs = [
            run for run in client.read_flow_runs(flow_run_filter=due) if run.auto_scheduled
        ]  # nobody asked for them
        for run in runs:
            client.set_flow_run_state(run.id, Cancelled(name="Missed", message="another run took its time"), force=True)
    return len(runs)


def _end_with_server() -> None:
    """Take the serving process's death for Ctrl-C; where that process hands Ctrl-C on, hear it from there alone."""
    parent = multiprocessing.parent_process()
    if parent is None:  # a worker's run
        return
    if SERVED in os.environ:
        os.setpgid(0, 0)
    threading.Thread(target=_interrupt_after, args=(parent,), daemon=True).start()


def _interrupt_after(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(20.0)  # to end by itself
    os._exit(1)  # it cannot report to a server that is gone, and tries for long
