"""Deploys a flow to a work pool of a Prefect server: workers run it, and automations start its runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
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
    from prefect.events.schemas.automations import AutomationCore

TAG = "learnable"  # of each deployment, so of each of its runs
SILENCE = timedelta(minutes=10)  # three heartbeats of Prefect's usual 180 s, and one minute
_OURS: dict[str, str | list[str]] = {
    "prefect.resource.role": "tag",
    "prefect.resource.id": f"prefect.tag.{TAG}",
}
COMING_BACK = ("curate", "refresh")  # their steps go on from the ledger; a training would begin anew, and pay again


def deploy_flow(flow: Flow[..., Any], name: str, parameters: Mapping[str, object], when: Timetable) -> None:
    """Deploy a flow as `FLOW/NAME` to a work pool of the configured server; the pool is made where it is missing.

    Where `when` says `on_published`, each new version of the set of this name starts a run. Raises `LearnableError`
    where no server is configured, or it does not answer.
    """
    url, pool = require_server(), when.work_pool or ""
    from prefect.types.entrypoint import EntrypointType

    make_pool(pool)
    bring_back_runs()
    deployment: Any = flow.to_deployment(
        name,
        parameters=dict(parameters),
        work_pool_name=pool,
        tags=[TAG, name],
        triggers=[_start_on_version(flow.name, name)] if when.on_published else [],
        entrypoint_type=EntrypointType.MODULE_PATH,
        job_variables={"working_dir": str(Path.cwd())},
        cron=when.cron,
        interval=when.every,
    )
    deployment.apply(_sync=True)
    progress().note(
        f"{flow.name}/{name} is deployed on the Prefect server at {url}; its runs need a worker of the pool {pool}"
    )


def _start_on_version(flow: str, name: str) -> Any:
    from prefect.events import DeploymentEventTrigger

    return DeploymentEventTrigger(
        name=f"learnable: {flow} on new versions of {name}",
        expect={PUBLISHED},
        match={"prefect.resource.id": set_resource(name)},
    )


def make_pool(name: str) -> None:
    """Make a work pool of this name where there is none: processes, one at a time, since an engine fills a machine."""
    from prefect import get_client
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound

    with get_client(sync_client=True) as client:
        try:
            client.read_work_pool(name)
        except ObjectNotFound:
            with suppress(ObjectAlreadyExists):  # a worker that starts now makes its pool too
                client.create_work_pool(WorkPoolCreate(name=name, type="process", concurrency_limit=1))


def bring_back_runs() -> None:
    """Make the automations by which runs outlive a machine, where the server lacks them. `prefect.yaml` calls this too.

    A run that is silent has crashed: that frees its place in the pool. A curation or a refresh that crashed is
    scheduled again, and goes on from the ledger.
    """
    from prefect import get_client

    with get_client(sync_client=True) as client:
        for automation in (_crash_what_is_silent(), _schedule_what_crashed()):
            if not client.read_automations_by_name(automation.name):
                client.create_automation(automation)


def _crash_what_is_silent() -> AutomationCore:
    """Return the automation of Prefect's guide, "Detect zombie flows". The server refuses to crash what has ended."""
    from prefect.client.schemas.objects import StateType
    from prefect.events import AutomationCore, ChangeFlowRunState, EventTrigger, Posture

    heartbeat = "prefect.flow-run.heartbeat"
    ends = {f"prefect.flow-run.{end}" for end in ("Completed", "Failed", "Cancelled", "Crashed")}
    return AutomationCore(
        name="learnable: a silent run has crashed",
        trigger=EventTrigger(
            posture=Posture.Proactive,
            after={heartbeat},
            expect={heartbeat, *ends},
            for_each={"prefect.resource.id"},
            within=SILENCE,
            match={"prefect.resource.id": "prefect.flow-run.*"},
            match_related=_OURS,
        ),
        actions=[
            ChangeFlowRunState(
                name=None,
                state=StateType.CRASHED,
                message="It was silent: its machine or process is gone.",
                force=False,
            )
        ],
    )


def _schedule_what_crashed() -> AutomationCore:
    """Return the automation that brings back what crashed while it ran: what cannot even start would crash forever."""
    from prefect.client.schemas.objects import StateType
    from prefect.events import AutomationCore, ChangeFlowRunState, EventTrigger, Posture

    return AutomationCore(
        name="learnable: a crashed run comes back",
        trigger=EventTrigger(
            posture=Posture.Reactive,
            after={"prefect.flow-run.Running"},
            expect={"prefect.flow-run.Crashed"},
            for_each={"prefect.resource.id"},
            within=timedelta(days=7),
            match={"prefect.resource.id": "prefect.flow-run.*"},
            match_related=[_OURS, {"prefect.resource.role": "flow", "prefect.resource.name": list(COMING_BACK)}],
        ),
        actions=[
            ChangeFlowRunState(
                name="AwaitingRetry", state=StateType.SCHEDULED, message="It goes on from the ledger.", force=False
            )
        ],
    )


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
