"""The Prefect flow `curate`. Its steps and their order are those of `flows.curation.pipeline`."""

# No postponed annotations here: a deployment loads this file under another name, where Prefect could not resolve them.

from dataclasses import replace
from typing import Annotated

from prefect import flow

from learnable.data.progress import progress
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport, describe_outcome, render_markdown
from learnable.flows.engines import stop_engines
from learnable.flows.finetune import finetune
from learnable.flows.scheduling.events import name_run, show_version
from learnable.flows.scheduling.form import Form
from learnable.flows.scheduling.run_log import logged_unless_watched
from learnable.flows.scheduling.runs import scheduled_run
from learnable.flows.scheduling.steps import USUAL, Tries
from learnable.flows.settings import CurateSettings
from learnable.train.settings import TrainSettings


@flow(name="curate", flow_run_name=name_run, persist_result=False)
def curate(
    settings: Annotated[CurateSettings, Form(CurateSettings)],
    train: Annotated[TrainSettings, Form(TrainSettings)] | None = None,
    tries: Annotated[Tries, Form(Tries)] = USUAL,
) -> CurationReport:
    """Find the prompts that a policy can learn from, and train on them if `train` says how.

    `train.curated` is filled in with the set that was made. Deploy it as `learnable.flows.curate.curate`.
    """
    with scheduled_run():
        with logged_unless_watched() as is_logged:
            report = run_curation(settings, step=tries.as_task)
            if is_logged:  # nobody sees the table
                progress().note(f"{describe_outcome(report)} {report.curated}")
        show_version(report.curated, report.run_id, "curated", render_markdown(report), report.forms)
        if train is not None:
            stop_engines()  # an engine and a trainer never share a machine's memory
            report = replace(report, training=finetune(replace(train, curated=report.curated)))
        return report
