"""What surrounds a scheduled run: it makes sure that runs do not pile up, and that none outlives who started it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from prefect import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterNextScheduledStartTime,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType
from prefect.logging import get_run_logger
from prefect.runtime import deployment
from prefect.states import Cancelled


@contextmanager
def scheduled_run() -> Iterator[None]:
    """Drop the runs of this schedule that came due and did not start, and end with the process that serves it.

    After a run that took longer than the period, or a machine that was off, there is one run to catch up with, not one
    for each time that was missed. Does nothing around a run that no schedule started.
    """
    if deployment.id is None:
        yield
        return
    _end_with_server()
    dropped = drop_missed_runs(str(deployment.id))
    if dropped:
        get_run_logger().info("%d earlier times were missed and are not made up for", dropped)
    yield
    if multiprocessing.parent_process() is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: this process ends by itself


def drop_missed_runs(deployment_id: str) -> int:
    """Cancel the runs of a deployment that are due and have not begun; return how many there were."""
    due = FlowRunFilter(
        deployment_id=FlowRunFilterDeploymentId(any_=[deployment_id]),  # type: ignore[list-item]
        state={"type": FlowRunFilterStateType(any_=[StateType.SCHEDULED])},  # type: ignore[arg-type]
        next_scheduled_start_time=FlowRunFilterNextScheduledStartTime(before_=datetime.now(UTC)),  # type: ignore[arg-type]
    )
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(flow_run_filter=due)
        for run in runs:
            client.set_flow_run_state(run.id, Cancelled(name="Missed", message="another run took its time"), force=True)
    return len(runs)


def _end_with_server() -> None:
    """Hear Ctrl-C from the serving process alone, and take its death for one."""
    parent = multiprocessing.parent_process()
    if parent is None:  # a worker's run
        return
    os.setpgid(0, 0)
    threading.Thread(target=_interrupt_after, args=(parent,), daemon=True).start()


def _interrupt_after(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGINT)
