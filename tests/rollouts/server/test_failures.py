from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.rollouts.server.failures import (
    MAX_DELAY,
    ServerFailedError,
    ServerHealth,
    read_retry_after,
    shorten,
)

FAILED = ServerFailedError("no")


def test_pauses_grow_and_stay_bounded() -> None:
    health, now, pauses = ServerHealth(patience=1e6), 0.0, []
    for _ in range(12):
        health.fail(FAILED, sent_at=now, now=now)
        pauses.append(health.pause_left(now))
        now += pauses[-1]
    assert pauses[0] < pauses[2] < pauses[4]
    assert 0.75 * MAX_DELAY <= max(pauses) <= MAX_DELAY


def test_what_was_in_flight_together_counts_once() -> None:
    health = ServerHealth(patience=60)
    for moment in range(20):
        health.fail(FAILED, sent_at=0.0, now=1.0 + moment / 100)
    assert health.pause_left(1.0) <= 0.5
    assert not health.is_worth_reporting(FAILED)
    health.fail(FAILED, sent_at=2.0, now=2.0)
    assert health.is_worth_reporting(FAILED)


@given(st.lists(st.floats(0, 500), max_size=20), st.floats(0, 300))
def test_no_pause_outlasts_patience(pauses: list[float], patience: float) -> None:
    health, now = ServerHealth(patience), 1000.0
    for seconds in pauses:
        health.fail(ServerFailedError("no", retry_after=seconds), sent_at=now, now=now)
        pause = health.pause_left(now)
        assert pause <= patience + 1e-6
        now += pause
    assert health.is_hopeless(now + patience) is bool(pauses)


def test_an_answer_resets_patience_but_keeps_a_pause_that_was_pauses() -> None:
    health = ServerHealth(patience=60)
    health.fail(ServerFailedError("slow", retry_after=7), sent_at=0.0, now=0.0)
    health.succeed(1.0)
    assert not health.is_failing
    assert not health.is_hopeless(1000.0)
    assert health.pause_left(0.0) == 7.0


def test_a_slow_failure_is_told_at_once_and_once() -> None:
    health, slow = ServerHealth(patience=60), ServerFailedError("time-out", is_grave=True)
    health.fail(slow, sent_at=0.0, now=30.0)
    assert health.is_worth_reporting(slow)
    health.is_reported = True
    assert not health.is_worth_reporting(slow)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "500"}, 500.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "4"}, 4.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:02:00 GMT"}, 20.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], expected: float | None) -> None:
    assert read_retry_after(headers, now=100.0) == expected


def test_a_message_is_short_and_without_the_key() -> None:
    told = shorten("bad\n key  k-1 " + "x" * 1000, "k-1")
    assert told.startswith("bad key [key] xxx")
    assert len(told) == 300
    assert "k-1" not in shorten("y" * 297 + "k-1", "k-1")
