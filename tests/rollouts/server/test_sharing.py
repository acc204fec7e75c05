"""How several servers share the work, and what a run says of them meanwhile."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from learnable.rollouts.server import client
from learnable.rollouts.server.client import ServerPool
from learnable.rollouts.server.endpoint import POOL, Access, Endpoint, find_room
from learnable.rollouts.server.failures import ServerFailedError, ServerHealth
from learnable.rollouts.server.limits import ConcurrencyLimit
from learnable.rollouts.server.models import Served
from learnable.rollouts.server.spending import Allowance, Spending
from tests.rollouts.conftest import Clock, Watcher
from tests.rollouts.server.scripted_server_for_tests import (
    GOOD,
    MODEL,
    SAMPLING,
    Reply,
    ScriptedServer,
    assert_whole,
    engine_on,
    requests,
    roll_out,
)


def test_the_last_requests_are_left_to_the_quick_server() -> None:
    access = Access(None, request_timeout=60.0, patience=60.0)
    slow, quick = (Endpoint(Served(f"http://{name}/v1", MODEL), ConcurrencyLimit(4), access) for name in "ab")
    slow.seconds, quick.seconds = 10.0, 0.1
    pool = ServerPool([slow, quick], "m@1", SAMPLING, access, Spending(Allowance()), lambda _: None)
    for request in requests(3):
        pool.add(request)
    assert not pool._is_left_to_others(slow)  # more may come
    pool.end_requests()
    assert pool._is_left_to_others(slow)
    assert not pool._is_left_to_others(quick)
    quick.health.fail(ServerFailedError("gone"), sent_at=1.0, now=2.0)
    assert not pool._is_left_to_others(slow)
    quick.health.succeed(3.0)
    for request in requests(1000):  # of which the quick one answers 40 a second
        pool.add(request)
    assert not pool._is_left_to_others(slow)


def test_a_pause_until_a_date_is_kept(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    date = formatdate(time.time() + 30, usegmt=True)
    requested = requests(1)
    with ScriptedServer([Reply(429, {}, {"Retry-After": date})]) as server:
        answers = roll_out(engine_on(server), requested)
    assert_whole(answers, requested)
    assert 15 < clock.sleeps[0] <= 30


def test_a_failure_that_others_outlived_is_no_fault_of_the_server() -> None:
    health = ServerHealth(patience=60)
    health.succeed(2.0)
    health.fail(ServerFailedError("broken"), sent_at=1.0, now=3.0)
    assert not health.is_failing
    assert health.pause_left(3.0) <= 0
    health.fail(ServerFailedError("too much", retry_after=5), sent_at=1.0, now=3.0)
    assert health.pause_left(3.0) == 5.0


def test_a_run_says_how_the_servers_do(watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "STATUS_SECONDS", 0.0)
    with ScriptedServer([GOOD, Reply(429, {}), Reply(503, {}), Reply(429, {}), GOOD]) as server:
        roll_out(engine_on(server, concurrency=1), requests(8))
    last = [note for note in watcher.notes if "limit" in note][-1]
    assert last.startswith(f"{server.url}: 0 requests under way, limit 1, ")
    assert last.endswith("3 failed (status 429 2, status 503 1)")


def test_more_connections_than_one_client_keeps_are_shared_by_several() -> None:
    count = POOL + 20
    requested = requests(count)
    with ScriptedServer() as server:
        engine = engine_on(server, concurrency=count)
        for limit in engine._limits:
            limit.value = count
        assert_whole(roll_out(engine, requested), requested)


def test_no_more_requests_than_files_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    limits, unlimited = [1024, 4096], resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda _, given: limits.__setitem__(slice(None), given))
    assert find_room(200, servers=2) == 200
    assert limits == [1024, 4096]  # enough
    assert find_room(1000, servers=2) == 1000
    assert limits == [2512, 4096]  # raised as far as it takes
    assert find_room(4096, servers=2) == 1792
    limits[:] = [1024, unlimited]
    assert find_room(4096, servers=2) == 4096
