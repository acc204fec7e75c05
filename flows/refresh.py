"""The Prefect flow `refresh`. Its steps and their order are those of `flows.refreshing.pipeline`."""

# No postponed annotations here: a deployment loads this file under another name, where Prefect could not resolve them.

from typing import Annotated, cast

from prefect import flow, runtime
from prefect.states import Completed

from learnable.data.curated.curated_set import find_versions, open_curated
from learnable.data.progress import progress
from learnable.flows.refreshing.pipeline import UnmovedPolicyError, run_refresh
from learnable.flows.refreshing.publishing import RefreshReport, describe_changes, render_changes
from learnable.flows.scheduling.events import name_run, show_version
from learnable.flows.scheduling.form import Form
from learnable.flows.scheduling.run_log import logged_unless_watched
from learnable.flows.scheduling.runs import scheduled_run
from learnable.flows.scheduling.steps import USUAL, Tries
from learnable.flows.settings import RefreshSettings


@flow(name="refresh", flow_run_name=name_run, persist_result=False)
def refresh(
    settings: Annotated[RefreshSettings, Form(RefreshSettings)], tries: Annotated[Tries, Form(Tries)] = USUAL
) -> RefreshReport:
    """Bring a curated set up to date with a policy that has moved. Deploy it as `learnable.flows.refresh.refresh`.

    A deployment's run that finds the policy unmoved ends well, in the state Unmoved: it was there to look.
    """
    with scheduled_run(), logged_unless_watched() as is_logged:
        before = [str(version) for version in find_versions(open_curated(settings.curated).path.parent)]
        try:
            report = run_refresh(settings, step=tries.as_task)
        except UnmovedPolicyError as error:
            if not runtime.deployment.id:  # somebody named this policy
                raise
            return cast(RefreshReport, Completed(name="Unmoved", message=str(error)))  # Prefect takes it for the end
        if is_logged:  # nobody sees the table
            progress().note(f"{describe_changes(report)}\n{report.curated}")
    run_id = "" if report.curated in before else report.run_id
    show_version(report.curated, run_id, "refreshed", render_changes(report))
    return report
