"""The Prefect flow `finetune`: train on a curated set, and say whether held-out reward rose."""

# No postponed annotations here: a deployment loads this file under another name, where Prefect could not resolve them.

from typing import Annotated

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from learnable.data.progress import progress
from learnable.flows.scheduling.events import name_run
from learnable.flows.scheduling.form import Form
from learnable.flows.scheduling.run_log import logged_unless_watched
from learnable.flows.scheduling.runs import scheduled_run
from learnable.flows.training.stage import run_training
from learnable.train.results.report import TrainingReport
from learnable.train.settings import TrainSettings


@flow(name="finetune", flow_run_name=name_run, persist_result=False)
def finetune(settings: Annotated[TrainSettings, Form(TrainSettings)]) -> TrainingReport:
    """Train on a curated set. Deploy it as `learnable.flows.finetune.finetune`."""
    with scheduled_run(), logged_unless_watched() as is_logged:
        report = run_training(settings, progress())
        if is_logged:  # nobody sees the table
            progress().note(f"{report.verdict}: {report.trained_policy}")
    create_markdown_artifact(report.verdict, key="trained", description=report.trained_policy)
    return report
