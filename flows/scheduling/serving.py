"""Serves a flow on a schedule, in one process that needs nothing beside it, and ends in good order."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from learnable.data.progress import progress
from learnable.flows.scheduling.server import PREFECT_DEFAULTS, check_answers, has_server, start_own_server
from learnable.flows.scheduling.timetable import Timetable

if TYPE_CHECKING:
    from prefect import Flow
    from prefect.runner import Runner


def serve_flow(flow: Flow[..., Any], name: str, parameters: Mapping[str, object], when: Timetable) -> None:
    """Run a flow when it is due, one run at a time, each in a process of its own, until SIGINT or SIGTERM.

    With a work pool, deploy it instead: its workers run it. Raises `LearnableError` where no server answers.
    """
    if when.work_pool is not None:
        from learnable.flows.scheduling.deploying import deploy_flow

        deploy_flow(flow, name, parameters, when)
        return
    with scheduling_server() as url:
        from prefect.runner import Runner

        from learnable.flows.scheduling.runs import SERVED

        runner = Runner(name=name, limit=1)
        os.environ[SERVED] = "1"  # its runs inherit it
        runner.add_flow(flow, name=name, parameters=dict(parameters), cron=when.cron, interval=when.every)
        progress().note(f"{flow.name}/{name} runs {when}, on the Prefect server at {url}; Ctrl-C ends it")
        with suppress(asyncio.CancelledError):
            asyncio.run(_serve_until_stopped(runner))
    progress().note("stopped; the same command takes the schedule up again")


@contextmanager
def scheduling_server() -> Iterator[str]:
    """Use the configured Prefect server inside the block, or else one of this process's own; yield its address.

    Raises `LearnableError` when the configured one does not answer.
    """
    for name, value in PREFECT_DEFAULTS.items():
        if name != "PREFECT_LOGGING_LEVEL":  # the log is all that a scheduled run leaves to read
            os.environ.setdefault(name, value)
    from prefect.settings import PREFECT_API_URL, temporary_settings

    if has_server():
        url = str(PREFECT_API_URL.value())
        check_answers(url)
        yield url
        return
    progress().stage("Starting a Prefect server")
    server = start_own_server({})
    try:
        server.wait_until_ready()
        with temporary_settings({PREFECT_API_URL: server.url}):
            yield server.url
    finally:
        server.stop()


async def _serve_until_stopped(runner: Runner) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    stop = _stopper(task.cancel if task else loop.stop)
    loop.add_signal_handler(signal.SIGINT, stop)

    def stop_soon(*_: object) -> None:
        loop.call_soon_threadsafe(stop)

    runner.handle_sigterm = stop_soon  # type: ignore[method-assign]  # Prefect's own forgets to await what it calls
    await runner.start()


def _stopper(cancel: Callable[[], object]) -> Callable[[], None]:
    """Return what stops serving: a run under way hears of it as of Ctrl-C, and is killed the second time."""
    calls = 0

    def stop() -> None:
        nonlocal calls
        calls += 1
        # It complains of runs that have ended by themselves.
        logging.getLogger("prefect.runner").setLevel(logging.CRITICAL)
        for run in multiprocessing.active_children():
            with suppress(ProcessLookupError):
                _stop_run(run.pid or 0, kill=calls > 1)
        cancel()

    return stop


def _stop_run(pid: int, *, kill: bool) -> None:
    has_begun = os.getpgid(pid) == pid  # until then there is nothing to save, and nobody to take Ctrl-C in good order
    gently = signal.SIGINT if has_begun else signal.SIGTERM
    os.kill(pid, signal.SIGKILL if kill else gently)
