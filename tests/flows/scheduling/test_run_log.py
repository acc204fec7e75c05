"""What a run without a console leaves to read: its words, and the error that ended it, steer no terminal."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest
from prefect.settings import PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW, temporary_settings

from learnable.data.progress import Silence, progress, watched_by
from learnable.flows.scheduling.run_log import LOGGERS, PlainRecords, logged_unless_watched

BAD = "\x1b[31m\x07\r\u202e"
SHOWN = r"\x1b[31m\x07\r\u202e"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the root logger's handler writes."""
    root, written = logging.getLogger(), io.StringIO()
    handler = logging.StreamHandler(written)
    root.addHandler(handler)
    yield written
    for name in LOGGERS:
        for one in logging.getLogger(name).handlers:
            for added in [added for added in one.filters if isinstance(added, PlainRecords)]:
                one.removeFilter(added)
    root.removeHandler(handler)


def test_names_and_errors_are_logged_as_escapes(log: io.StringIO) -> None:
    outside = temporary_settings({PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW: "ignore"})  # no run is served here
    with outside, logged_unless_watched() as is_logged:
        assert is_logged
        logging.getLogger("prefect.flow_runs").error("form %s", BAD)
        try:
            raise ValueError(BAD)
        except ValueError:
            logging.getLogger("prefect.flow_runs").exception("failed")
    assert log.getvalue().count(SHOWN) == 2
    assert not {"\x1b", "\x07", "\r", "\u202e"} & set(log.getvalue())


def test_one_filter_is_enough_for_many_runs(log: io.StringIO) -> None:
    for _ in range(3):
        with logged_unless_watched():
            pass
    assert {len(handler.filters) for handler in logging.getLogger().handlers} == {1}


def test_a_watched_run_logs_nothing_of_its_own(log: io.StringIO) -> None:
    with watched_by(Silence()), logged_unless_watched() as is_logged:
        assert not is_logged
        progress().warn(BAD)
    assert log.getvalue() == ""
