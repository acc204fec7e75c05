"""Prefect in warm processes: with the settings of their own environment, and a server's database migrated already.

A cold start reads the settings when Prefect is imported, and runs every migration that Prefect ever had: half of a
server's start. The database that is copied was made by those migrations, in this run of the tests.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

DATABASE = "LEARNABLE_TEST_DATABASE"  # in the environment of starters: where the database is, once one was needed
SERVERS = (["-m", "learnable.flows.scheduling.server"], ["-m", "prefect"])


def start_anew(arguments: Sequence[str], database: str | None) -> None:
    """Give Prefect, imported in other surroundings, the settings of this process; give a server its database."""
    from prefect import context
    from prefect.logging import configuration

    context.GLOBAL_SETTINGS_CONTEXT = None  # type: ignore[assignment]
    context.refresh_global_settings_context()
    configuration.PROCESS_LOGGING_CONFIG.clear()
    configuration.setup_logging()
    if database and list(arguments[:2]) in SERVERS:
        _lay_database(Path(database), context.get_settings_context().settings.home / "prefect.db")


def _lay_database(migrated: Path, place: Path) -> None:
    if place.exists():
        return
    with migrated.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not migrated.exists() and (pid := os.fork()):
            os.waitpid(pid, 0)
        elif not migrated.exists():
            _migrate_and_end(migrated)
    place.parent.mkdir(parents=True, exist_ok=True)
    copy = place.with_suffix(f".{os.getpid()}")
    shutil.copy(migrated, copy)
    with suppress(FileExistsError):
        os.link(copy, place)
    copy.unlink()


def _migrate_and_end(migrated: Path) -> None:
    from prefect.server.database import provide_database_interface
    from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL, temporary_settings

    status = 1
    try:
        with tempfile.TemporaryDirectory() as folder:
            new = Path(folder) / "prefect.db"
            with temporary_settings({PREFECT_API_DATABASE_CONNECTION_URL: f"sqlite+aiosqlite:///{new}"}):
                asyncio.run(provide_database_interface().create_db())
            made = migrated.with_suffix(".part")
            with sqlite3.connect(new) as opened:
                opened.execute("vacuum into ?", (str(made),))
        made.rename(migrated)
        status = 0
    finally:
        os._exit(status)
