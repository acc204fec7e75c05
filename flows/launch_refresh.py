"""Runs a refresh from a command line or a notebook, as a Prefect flow or without Prefect."""

from __future__ import annotations

from learnable.data.progress import Silence, progress, watched_by
from learnable.flows.curation.report import Report
from learnable.flows.engines import engine_for
from learnable.flows.launch import prefect_server
from learnable.flows.refreshing.pipeline import is_engine_needed, run_refresh
from learnable.flows.refreshing.pool import open_pool
from learnable.flows.settings import RefreshSettings
from learnable.flows.stores import held_store


def launch_refresh(settings: RefreshSettings, *, use_prefect: bool = False) -> Report:
    """Refresh a curated set, and return the report. Bad input raises `LearnableError` before anything heavy starts."""
    pool = open_pool(settings)
    with held_store(pool.settings):
        with watched_by(Silence()):  # the run itself will say it
            needed = is_engine_needed(settings)
        if not (use_prefect and needed):  # nothing to generate: a server would take longer to start
            return run_refresh(settings)
        progress().stage("Starting the Prefect server and the engine")
        with prefect_server():
            engine_for(pool.settings)
        from learnable.flows.refresh import refresh

        return refresh(settings)
