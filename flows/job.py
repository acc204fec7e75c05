"""The Prefect flow `job`. Its rounds and their order are those of `flows.looping.job`."""

# No postponed annotations here: a deployment loads this file under another name, where Prefect could not resolve them.

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from learnable.data.progress import progress
from learnable.flows.curate import curate as find
from learnable.flows.finetune import finetune
from learnable.flows.looping.job import run_job
from learnable.flows.looping.job_report import JobReport, render_job
from learnable.flows.looping.pipeline import Stages
from learnable.flows.scheduling.events import name_run
from learnable.flows.scheduling.run_log import logged_unless_watched
from learnable.flows.scheduling.runs import scheduled_run
from learnable.flows.settings import CurateSettings
from learnable.train.settings import TrainSettings


@flow(name="job", flow_run_name=name_run, persist_result=False)
def job(curate: CurateSettings, train: TrainSettings) -> JobReport:
    """Find prompts and train on them, in rounds. Deploy it as `learnable.flows.job.job`."""
    with scheduled_run(), logged_unless_watched() as is_logged:
        report = run_job(curate, train, Stages(train=finetune, find=find))
        if is_logged:  # nobody sees the table
            progress().note(f"{report.training.verdict}: {report.training.trained_policy}")
    create_markdown_artifact(render_job(report), key="job", description=report.training.trained_policy)
    return report
