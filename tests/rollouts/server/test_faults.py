from __future__ import annotations

import logging

import pytest

from learnable.rollouts.protocol import EngineError, Refusal
from learnable.rollouts.server.failures import MAX_DELAY
from tests.rollouts.conftest import Clock, Watcher
from tests.rollouts.server.scripted_server_for_tests import (
    GOOD,
    SAMPLING,
    Json,
    Reply,
    ScriptedServer,
    assert_whole,
    engine_on,
    requests,
    roll_out,
)

KEY = "sk-very-secret"
GARBAGE = [
    Reply(body="{not json"),
    Reply(body="<html>busy</html>", headers={"Content-Type": "text/html"}),
    Reply(body="[]"),
    Reply(body={"choices": []}),
    Reply(body={"choices": [{"index": 0, "text": 5, "finish_reason": "stop"}]}),
    Reply(body={"choices": [{"index": 7, "text": "a", "finish_reason": "stop"}]}),
    Reply(body=f"[{'9' * 5000}]"),
    Reply(body="[" * 100_000),
    Reply(body={"error": {"message": "no memory"}}),
    Reply(body='{"choices": [{"index": 1e999, "text": "a", "finish_reason": "stop"}]}'),
]


@pytest.mark.parametrize(
    ("headers", "pause"),
    [({"Retry-After": "7"}, 7.0), ({"retry-after-ms": "1500"}, 1.5), ({"Retry-After": "3600"}, 60.0)],
)
def test_a_pause_that_the_server_asks_for_is_kept(clock: Clock, headers: dict[str, str], pause: float) -> None:
    requested = requests(1)
    with ScriptedServer([Reply(429, {"error": {"message": "slow"}}, headers)]) as server:
        answers = roll_out(engine_on(server), requested)
    assert_whole(answers, requested)
    assert clock.sleeps == [pytest.approx(pause)]  # no longer than patience lasts
    assert len(server.posts) == 2


@pytest.mark.parametrize("fault", [Reply(500, "oops"), Reply(503, {}), Reply(408, {}), Reply(409, {}), *GARBAGE])
def test_a_fault_is_tried_again(clock: Clock, fault: Reply) -> None:
    requested = requests(3)
    with ScriptedServer([fault, fault]) as server:
        answers = roll_out(engine_on(server, concurrency=1), requested)
    assert_whole(answers, requested)
    assert len(server.posts) == 5
    assert len(clock.sleeps) == 2
    assert 0.3 < clock.sleeps[0] < clock.sleeps[1]


@pytest.mark.parametrize("drip", [b"", b" "])
def test_a_request_that_hangs_is_sent_again(drip: bytes) -> None:
    requested = requests(3)
    with ScriptedServer([Reply(hangs=True, drip=drip)]) as server:
        answers = roll_out(engine_on(server, request_timeout=0.3), requested)
    assert_whole(answers, requested)
    assert len(server.posts) == 4


def test_a_server_that_is_away_is_tried_until_it_is_back(clock: Clock, watcher: Watcher) -> None:
    requested = requests(8)
    with ScriptedServer() as server:
        clock.after[3] = server.start
        answers = engine_on(server, concurrency=1).generate(requested, SAMPLING)
        got = [next(answers)]
        server.stop()
        got += answers
    assert_whole(got, requested)
    assert len(clock.sleeps) == 3
    assert len(watcher.warnings) == len(watcher.notes) == 1
    assert server.url in watcher.warnings[0]
    assert server.url in watcher.notes[0]


def test_a_server_that_stays_away_is_given_up(clock: Clock) -> None:
    server = ScriptedServer().start()
    answers = engine_on(server, concurrency=1).generate(requests(4), SAMPLING)
    got = [next(answers)]
    server.stop()
    with pytest.raises(EngineError, match=f"no server has answered for 60 s: {server.url}: connection failed"):
        got.extend(answers)
    assert 1 <= len(got) < 4
    assert 60 <= sum(clock.sleeps) <= 60 + MAX_DELAY


def test_a_failing_server_is_tried_one_request_at_a_time(clock: Clock) -> None:
    with (
        ScriptedServer(always=lambda body: Reply(500, "oops")) as server,
        pytest.raises(EngineError, match="status 500: oops"),
    ):
        roll_out(engine_on(server, concurrency=8), requests(20))
    assert len(server.posts) <= 8 + len(clock.sleeps) + 1


def test_one_success_renews_patience(clock: Clock) -> None:
    faults = [Reply(500, "oops")] * 8  # about 44 s of pauses, where patience is 60 s
    requested = requests(3)
    with ScriptedServer([*faults, GOOD, *faults]) as server:
        answers = roll_out(engine_on(server, concurrency=1), requested)
    assert_whole(answers, requested)
    assert sum(clock.sleeps) > 60


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_server_that_denies_everything_ends_the_run(status: int) -> None:
    with ScriptedServer([Reply(status, {"error": {"message": f"no, {KEY}"}})]) as server:
        engine = engine_on(server, api_key=KEY)
        with pytest.raises(EngineError, match=f"status {status}: no, \\[key\\]"):
            roll_out(engine, requests(1))
    assert len(server.posts) == 1


def test_a_request_that_always_fails_is_refused_at_last(clock: Clock) -> None:
    requested = requests(40)
    poison = requested[0].base_seed

    def always(body: Json) -> Reply:
        return Reply(500, "boom") if body["seed"] == poison else GOOD

    with ScriptedServer(always=always) as server:
        answers = roll_out(engine_on(server), requested)
    [refusal] = [answer for answer in answers if isinstance(answer, Refusal)]
    assert refusal.request is requested[0]
    assert "boom" in refusal.reason
    assert len(answers) == 40


def test_two_servers_share_the_work_and_one_may_die(clock: Clock, watcher: Watcher) -> None:
    requested = requests(40)
    with ScriptedServer() as good, ScriptedServer() as dead:
        engine = engine_on(good, dead)
        answers = engine.generate(requested, SAMPLING)
        got = [next(answers) for _ in range(10)]
        assert good.posts
        assert dead.posts
        dead.stop()
        got += answers
    assert_whole(got, requested)
    assert not any(good.url in warning for warning in watcher.warnings)


def test_the_key_is_sent_and_never_told(caplog: pytest.LogCaptureFixture, clock: Clock, watcher: Watcher) -> None:
    caplog.set_level(logging.DEBUG)
    echo = {"error": {"message": f"bad key {KEY}", "code": 1}}
    with ScriptedServer(always=lambda body: Reply(500, echo)) as server:
        engine = engine_on(server, api_key=f" {KEY}\n")
        with pytest.raises(EngineError) as caught:
            roll_out(engine, requests(2))
    assert set(server.keys) == {f"Bearer {KEY}"}
    told = [caplog.text, str(caught.value), repr(engine), repr(vars(engine)), *watcher.warnings]
    assert not any(KEY in text for text in told)
    assert "bad key [key]" in str(caught.value)
