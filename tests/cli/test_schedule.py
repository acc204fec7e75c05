"""What is said of a schedule that cannot be kept."""

from __future__ import annotations

import pytest

from tests.cli.files_for_tests import Run

FIND = ("find", "--engine", "simulated", "--family", "simulated", "--limit", "8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*FIND, "--cron", "3 o'clock"), "is no cron expression: give minute, hour, day, month and weekday"),
        ((*FIND, "--cron", "0 3 * * *", "--every", "60"), "--cron and --every are two ways to say when"),
        ((*FIND, "--every", "0.2"), "--every 0.2 is too often"),
        ((*FIND, "--every", "60", "--no-prefect"), "--no-prefect runs at once"),
        (("find", "--form", "hiaku", "--every", "60"), "unknown form 'hiaku'"),
        (("train", "--curated", "none", "--every", "60"), "curated set 'none' does not exist"),
        (("train", "--curated", "none", "--every", "60", "--output", "o"), "leave out --output and --resume"),
        (("loop", "--curated", "none", "--every", "60"), "curated set 'none' does not exist"),
        (("loop", "--curated", "none", "--every", "60", "--output", "o"), "leave out --output"),
        (("refresh", "--curated", "none", "--policy", "p", "--cron", "@daily"), "curated set 'none' does not exist"),
    ],
)
def test_a_schedule_that_cannot_be_kept_is_one_message(run: Run, arguments: tuple[str, ...], message: str) -> None:
    status, _, err = run(*arguments)

    assert status == 2, err
    assert message in err
    assert "Traceback" not in err


def test_a_server_that_does_not_answer_is_named(run: Run) -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}):
        status, _, err = run(*FIND, "--every", "60")

    assert status == 2
    assert "'http://127.0.0.1:9/api' does not answer" in err
    assert "prefect server start" in err
