"""The Prefect flow `loop`. Its stages and their order are those of `flows.looping.pipeline`."""

# No postponed annotations here: a deployment loads this file under another name, where Prefect could not resolve them.

from functools import partial
from typing import Annotated

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from learnable.data.progress import progress
from learnable.flows.evaluating.pipeline import run_evaluation
from learnable.flows.finetune import finetune
from learnable.flows.looping.pipeline import Stages, run_loop
from learnable.flows.looping.report import LoopReport, render_rounds
from learnable.flows.refresh import refresh
from learnable.flows.scheduling.events import name_run
from learnable.flows.scheduling.form import Form
from learnable.flows.scheduling.run_log import logged_unless_watched
from learnable.flows.scheduling.runs import scheduled_run
from learnable.flows.scheduling.steps import USUAL, Tries
from learnable.flows.settings.loop import LoopSettings


@flow(name="loop", flow_run_name=name_run, persist_result=False)
def loop(
    settings: Annotated[LoopSettings, Form(LoopSettings)], tries: Annotated[Tries, Form(Tries)] = USUAL
) -> LoopReport:
    """Train and refresh in rounds while that pays. Deploy it as `learnable.flows.loop.loop`."""
    with scheduled_run(), logged_unless_watched() as is_logged:
        report = run_loop(settings, Stages(finetune, tries.as_task(run_evaluation), partial(refresh, tries=tries)))
        if is_logged:  # nobody sees the table
            progress().note(f"{report.end}\n{report.best[1]}")
    create_markdown_artifact(render_rounds(report), key="looped", description=report.best[1])
    return report
