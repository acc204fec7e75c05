"""Prefect in warm processes: with the settings of their own environment, and a server's database migrated already.

A cold start reads the settings when Prefect is imported, for which a command may have set its environment before; so a
warm one reads them when it would import Prefect. A cold server runs every migration that Prefect ever had: half of its
start. The database that is copied was made by those migrations, in this run of the tests.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

DATABASE = "LEARNABLE_TEST_DATABASE"  # in the environment of starters: where the database is, once one was needed
SERVERS = (["-m", "learnable.flows.scheduling.server"], ["-m", "prefect"])


def start_anew(arguments: Sequence[str], imported: Sequence[str], database: str | None) -> None:
    """Give Prefect, imported in other surroundings, the settings of this process; give a server its database.

    `imported` are modules as of `is_with_prefect`: the settings are read when the first of them is wanted here.
    """
    if list(arguments[:2]) not in SERVERS:
        modules = {name: sys.modules.pop(name) for name in imported}
        # What `-m` runs is not there yet.
        sys.meta_path.insert(0, _ImportedAhead({name: modules[name] for name in modules if name not in arguments[1:2]}))
        return
    _read_settings()
    if database:
        from prefect import context

        _lay_database(Path(database), context.get_settings_context().settings.home / "prefect.db")


def is_with_prefect(name: str, module: ModuleType) -> bool:
    """Whether a module is Prefect's, or one of ours that imports it at its top."""
    names = vars(module).values() if name.startswith("learnable.flows") else ()
    return name.startswith("prefect") or any("prefect" in str(getattr(each, "__module__", "")) for each in names)


def _read_settings() -> None:
    from prefect import context
    from prefect.logging import configuration

    context.GLOBAL_SETTINGS_CONTEXT = None  # type: ignore[assignment]
    context.refresh_global_settings_context()
    configuration.PROCESS_LOGGING_CONFIG.clear()
    configuration.setup_logging()


class _ImportedAhead(MetaPathFinder, Loader):
    """Brings modules back that this process has imported, all of them when one is wanted."""

    def __init__(self, modules: Mapping[str, ModuleType]) -> None:
        self._modules = modules
        self._specs = {name: module.__spec__ for name, module in modules.items()}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in self._modules:
            return None
        sys.meta_path.remove(self)
        sys.modules.update(self._modules)
        _read_settings()
        return ModuleSpec(name, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._specs[module.__name__]


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
