"""Deploys a flow to a work pool of a Prefect server: workers run it, and automations start and recover its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from learnable.data.errors import LearnableError
from learnable.data.progress import progress
from learnable.flows.scheduling.events import PUBLISHED, set_resource
from learnable.flows.scheduling.server import check_answers, has_server
from learnable.flows.scheduling.timetable import Timetable

if TYPE_CHECKING:
    from prefect import Flow
    from prefect.events import EventTrigger

HEARTBEAT = "PREFECT_FLOWS_HEARTBEAT_FREQUENCY"
HEARTBEAT_SECONDS = 30  # the least that Prefect takes
SILENCE_SECONDS = 90.0  # three of them
ENDED = ("Completed", "Failed", "Cancelled", "Crashed", "AwaitingRetry")


def deploy_flow(flow: Flow[..., Any], name: str, parameters: Mapping[str, object], when: Timetable) -> None:
    """Deploy a flow as `FLOW/NAME` to a work pool of the configured server; the pool is made where it is missing.

    Where `when` says `on_published`, each new version of the set of this name starts a run. Raises `LearnableError`
    where no server is configured, or it does not answer.
    """
    url, pool = require_server(), when.work_pool or ""
    from prefect.types.entrypoint import EntrypointType

    make_pool(pool)
    deployment: Any = flow.to_deployment(
        name,
        parameters=dict(parameters),
        work_pool_name=pool,
        tags=["learnable", name],
        triggers=[_start_on_version(flow.name, name)] if when.on_published else [],
        entrypoint_type=EntrypointType.MODULE_PATH,
        job_variables={"working_dir": str(Path.cwd()), "env": {HEARTBEAT: str(HEARTBEAT_SECONDS)}},
        **when.schedule,
    )
    deployment.apply(_sync=True)
    automate_recovery()
    if when.time_limit is not None:
        automate_time_limit(f"{flow.name}/{name}", name, when.time_limit)
    progress().note(
        f"{flow.name}/{name} is deployed on the Prefect server at {url}; its runs need a worker: "
        f"prefect worker start --pool {pool}"
    )


def _start_on_version(flow: str, name: str) -> Any:
    from prefect.events import DeploymentEventTrigger

    return DeploymentEventTrigger(
        name=f"learnable: {flow} on new versions of {name}",
        expect={PUBLISHED},
        match={"prefect.resource.id": set_resource(name)},
    )


def make_pool(name: str) -> None:
    """Make a work pool of processes where there is none of this name, for one run at a time."""
    from prefect import get_client
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectNotFound

    with get_client(sync_client=True) as client:
        try:
            client.read_work_pool(name)
        except ObjectNotFound:
            client.create_work_pool(WorkPoolCreate(name=name, type="process", concurrency_limit=1))


def automate_recovery(silence: float = SILENCE_SECONDS) -> None:
    """Let the server schedule a run anew that says nothing for so many seconds: it goes on from the ledger."""
    from prefect.client.schemas.objects import StateType
    from prefect.events.actions import ChangeFlowRunState

    heartbeat = "prefect.flow-run.heartbeat"
    trigger = _watch({heartbeat}, {heartbeat, *_ends()}, silence, ("learnable",))
    message = "its process ended without a word; the run goes on from the ledger"
    again = ChangeFlowRunState(state=StateType.SCHEDULED, name="AwaitingRetry", message=message, force=True)
    _automate("learnable: recover runs", trigger, again)


def automate_time_limit(what: str, tag: str, seconds: float) -> None:
    """Let the server cancel runs with a tag that take longer."""
    from prefect.events.actions import CancelFlowRun

    trigger = _watch({"prefect.flow-run.Running"}, _ends(), seconds, ("learnable", tag))
    _automate(f"learnable: time limit of {what}", trigger, CancelFlowRun())


def _ends() -> set[str]:
    return {f"prefect.flow-run.{state}" for state in ENDED}


def _watch(after: set[str], expect: set[str], seconds: float, tags: Sequence[str]) -> EventTrigger:
    """Return what fires where a run with these tags has one event and then, for so many seconds, none of the others."""
    from prefect.events import EventTrigger
    from prefect.events.schemas.automations import Posture

    related = [{"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{tag}"} for tag in tags]
    return EventTrigger(
        after=after,
        expect=expect,
        match={"prefect.resource.id": "prefect.flow-run.*"},
        match_related=related,  # type: ignore[arg-type]
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=seconds),
    )


def _automate(name: str, trigger: EventTrigger, action: Any) -> None:
    """Create an automation, or bring the one of this name up to date."""
    from prefect.automations import Automation

    automation = Automation(name=name, trigger=trigger, actions=[action])
    try:
        there = Automation.read(name=name, _sync=True)  # type: ignore[call-overload]
    except ValueError:
        automation.create(_sync=True)  # type: ignore[call-arg]
    else:
        automation.id = there.id
        automation.update(_sync=True)  # type: ignore[call-arg]


def require_server() -> str:
    """Return the address of the configured Prefect server.

    Raises `LearnableError` where none is configured, or it does not answer.
    """
    from prefect.settings import PREFECT_API_URL

    if not has_server():
        raise LearnableError(
            "`work_pool` is on a Prefect server, and none is configured: start one with `prefect server start`, and "
            "type `prefect config set PREFECT_API_URL=http://127.0.0.1:4200/api`"
        )
    url = str(PREFECT_API_URL.value())
    check_answers(url)
    return url
