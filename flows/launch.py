"""Runs the curation from a command line or a notebook, as a Prefect flow or without Prefect."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from learnable.data.store import Store
from learnable.flows.engines import engine_for
from learnable.flows.pipeline import run_pipeline
from learnable.flows.progress import Silence, progress, watched_by
from learnable.flows.report import Report
from learnable.flows.settings import CurateSettings
from learnable.flows.steps import find_stored, read_prompts

PREFECT_DEFAULTS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "ERROR",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",  # it shares two cores with the engine's start
}


def run_curation(settings: CurateSettings, *, use_prefect: bool = True) -> Report:
    """Curate, and return the report. Bad input raises `LearnableError` before anything heavy starts."""
    with watched_by(Silence()):
        prompts = read_prompts(settings)
        _, owed = find_stored(prompts, Store(settings.store), settings)
    if not use_prefect:
        return run_pipeline(settings)
    for name, value in PREFECT_DEFAULTS.items():
        os.environ.setdefault(name, value)
    # The temporary server is another process: its start and the engine's go side by side.
    progress().stage("starting the Prefect server and the engine" if owed else "starting the Prefect server")
    with ThreadPoolExecutor(1, thread_name_prefix="prefect-server") as background:
        server = background.submit(_start_server)
        if owed:
            engine_for(settings)
        server.result()
    from learnable.flows.curate import curate

    return curate(settings)


def _start_server() -> None:
    from prefect.settings import PREFECT_API_URL

    if not PREFECT_API_URL.value():
        from prefect.server.api.server import SubprocessASGIServer

        SubprocessASGIServer().start()
