from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

from learnable.data.records import Message
from learnable.rollouts.protocol import Answer, GroupRequest, Refusal
from tests.rollouts.conftest import Clock
from tests.rollouts.server.scripted_server_for_tests import (
    GOOD,
    MODEL,
    SAMPLING,
    Json,
    Reply,
    ScriptedServer,
    answer,
    assert_whole,
    engine_on,
    requests,
    roll_out,
    rollouts_of,
)


def wait_until(condition: Any) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def test_groups_come_back_whole_and_named() -> None:
    requested = requests(9, group_size=3)
    with ScriptedServer() as server:
        answers = roll_out(engine_on(server), requested)
    assert_whole(answers, requested)
    first = rollouts_of(answers[0])[1]
    assert (first.policy_id, first.sampling_id, first.max_tokens) == ("m@1", SAMPLING.sampling_id, 8)
    assert (first.finish_reason, first.num_tokens) == ("stop", 3)
    assert {post["n"] for post in server.posts} == {3}
    assert not {"top_k", "return_token_ids"} & set(server.posts[0])  # OpenAI's own servers refuse them


def test_a_chat_goes_to_the_chat_endpoint() -> None:
    [requested] = requests(1, prompt=(Message("system", "s"), Message("user", "u")))
    with ScriptedServer() as server:
        answers = roll_out(engine_on(server), [requested])
    assert_whole(answers, [requested])
    assert server.paths == ["/v1/chat/completions"]
    assert server.posts[0]["messages"] == [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]


def test_vllm_is_told_every_setting_and_counts_tokens() -> None:
    def always(body: Json) -> Reply:
        good = answer(body)
        for index, choice in enumerate(good["choices"]):
            choice["token_ids"] = [5] * (index + 1)
        return Reply(body=good)

    card = {"id": MODEL, "owned_by": "vllm", "root": "/nowhere", "max_model_len": 6}
    with ScriptedServer(models=[card], always=always) as server:
        engine = engine_on(server)
        [group] = roll_out(engine, requests(1))
    assert engine.max_context == 6
    assert [rollout.num_tokens for rollout in rollouts_of(group)] == [1, 2]
    said = server.posts[0]
    assert (said["top_k"], said["repetition_penalty"], said["min_p"]) == (0, 1.0, 0.0)
    assert said["max_tokens"] == 6  # vLLM refuses a request for more than its context


def test_a_refusal_is_the_requests_own(clock: Clock) -> None:
    requested = requests(3)
    refused = requested[1].base_seed

    def always(body: Json) -> Reply:
        return Reply(400, {"error": {"message": "too long " * 99}}) if body["seed"] == refused else GOOD

    with ScriptedServer(always=always) as server:
        answers = roll_out(engine_on(server), requested)
    [refusal] = [answer for answer in answers if isinstance(answer, Refusal)]
    assert refusal.request is requested[1]
    assert refusal.reason.startswith("status 400: too long")
    assert len(refusal.reason) < 330
    assert len(answers) == 3
    assert clock.sleeps == []


def test_an_odd_end_is_a_refusal() -> None:
    odd = {"choices": [{"index": 0, "text": "", "finish_reason": "content_filter"}]}
    with ScriptedServer([Reply(body=odd)]) as server:
        [refusal] = roll_out(engine_on(server), requests(1, group_size=1))
    assert isinstance(refusal, Refusal)
    assert "content_filter" in refusal.reason


def test_a_server_that_ignores_n_gets_one_request_a_completion() -> None:
    requested = requests(12, group_size=4)
    with ScriptedServer(always=lambda body: Reply(body=answer(body, choices=1))) as server:
        answers = roll_out(engine_on(server), requested)
    assert_whole(answers, requested)
    assert len(server.posts) == 12 * 4  # the one completion of a first answer is not thrown away
    assert server.posts[-1]["n"] == 1


def test_the_rest_of_a_refused_group_is_not_requested() -> None:
    requested = requests(1, group_size=6)
    one_of_many = Reply(body=answer({"n": 6, "seed": requested[0].base_seed}, choices=1))
    with ScriptedServer([one_of_many, Reply(400, "no")]) as server:
        [refusal] = roll_out(engine_on(server, concurrency=1), requested)
    assert isinstance(refusal, Refusal)
    assert len(server.posts) == 2


def test_requests_are_drawn_lazily() -> None:
    drawn = 0

    def endless() -> Iterator[GroupRequest]:
        nonlocal drawn
        for request in requests(10_000):
            drawn += 1
            yield request

    with ScriptedServer() as server:
        answers = engine_on(server, concurrency=4).generate(endless(), SAMPLING)
        for _ in range(20):
            next(answers)
        answers.close()
    assert drawn <= 20 + 4 * 2


def test_closing_early_drops_what_is_in_flight() -> None:
    before = threading.active_count()
    with ScriptedServer([GOOD], always=lambda body: Reply(hangs=True)) as server:
        answers = engine_on(server).generate(requests(50), SAMPLING)
        next(answers)
        wait_until(lambda: len(server.posts) >= 3)
        answers.close()
        assert not [thread for thread in threading.enumerate() if thread.name == "server-engine"]
        assert server.dropped.wait(20)
    wait_until(lambda: threading.active_count() <= before)
    gc.collect()  # a client left open would warn here


def test_the_engine_works_in_a_thread_without_a_loop() -> None:
    requested = requests(3)
    got: list[Answer] = []
    with ScriptedServer() as server:
        engine = engine_on(server)
        thread = threading.Thread(target=lambda: got.extend(engine.generate(requested, SAMPLING)))
        thread.start()
        thread.join(20)
    assert_whole(got, requested)
