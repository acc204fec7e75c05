"""`learnable` with a clock that is a year slow from the moment that the path `$SLOW_FROM` exists."""

from __future__ import annotations

import datetime
import importlib
import os
import sys
import time
from pathlib import Path

import learnable
from learnable.cli.app import main

YEAR = 365 * 86_400
now, now_ns = time.time, time.time_ns


def lag() -> int:
    return YEAR if Path(os.environ["SLOW_FROM"]).exists() else 0


class SlowDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> SlowDatetime:
        return cls.fromtimestamp(time.time(), tz)


def slow_down() -> None:
    """Replace the clock in the standard library, `datetime` in our modules: extension modules insist on their own."""
    time.time = lambda: now() - lag()
    time.time_ns = lambda: now_ns() - lag() * 10**9
    root = Path(learnable.__file__).parent
    for path in (path for package in ("data", "flows") for path in (root / package).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "datetime" in source and "import prefect" not in source and "from prefect" not in source:
            importlib.import_module(".".join(("learnable", *path.relative_to(root).with_suffix("").parts)))
    for name, loaded in list(sys.modules.items()):
        if name.startswith("learnable.") and getattr(loaded, "datetime", None) is datetime.datetime:
            loaded.datetime = SlowDatetime  # type: ignore[attr-defined]


if __name__ == "__main__":
    slow_down()
    main()
