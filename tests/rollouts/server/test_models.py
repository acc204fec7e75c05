from __future__ import annotations

import logging
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.data.policies import Policy, bundled_policy_path, find_policy
from learnable.rollouts.protocol import EngineError
from learnable.rollouts.server.engine import ServerEngine, find_served_policy
from tests.rollouts.conftest import Watcher
from tests.rollouts.server.scripted_server_for_tests import (
    Json,
    Reply,
    ScriptedServer,
    answer,
    assert_whole,
    engine_on,
    requests,
    roll_out,
)
from tests.rollouts.server.servers_for_tests import free_port

KEY = "sk-very-secret"
HERE = str(bundled_policy_path().resolve())


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(401, {"error": "Unauthorized"}), "needs a key: set OPENAI_API_KEY or name another .* `api_key_env`"),
        (Reply(403, {}), "needs a key"),
        (Reply(404, {"detail": "Not Found"}), "has no list of models .*Not Found.*ends in /v1"),
        (Reply(503, "loading"), "is not ready .*loading"),
        (Reply(200, "<html></html>", {"Content-Type": "text/html"}), "answers /models with something else"),
        (Reply(200, "{half"), "answers /models with something else"),
        (Reply(200, {"data": 3}), "answers /models with something else"),
        (Reply(200, {"data": []}), "serves no model"),
        (Reply(200, {"data": [{"id": "m\ud800"}]}), "serves no model"),  # no request could name it
        (Reply(200, {"data": [{"name": "m"}]}), "answers /models with something else"),
        (Reply(200, "[" * 100_000), "answers /models with something else"),
    ],
)
def test_a_server_that_cannot_be_used_is_named_with_the_fix(reply: Reply, message: str) -> None:
    with ScriptedServer(models_reply=reply) as server:
        with pytest.raises(LearnableError, match=f"server {server.url} {message}"):
            ServerEngine([server.url])
        with pytest.raises(LearnableError, match=message):
            find_served_policy([server.url])


def test_a_server_that_is_not_there_is_named() -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    with pytest.raises(LearnableError, match=f"server {url} cannot be reached .* start it, or correct `base_urls`"):
        ServerEngine([url])


@pytest.mark.parametrize("drip", [b"", b" "])  # which no limit on single reads would end
def test_a_server_that_hangs_is_named(drip: bytes) -> None:
    with (
        ScriptedServer(models_reply=Reply(hangs=True, drip=drip)) as server,
        pytest.raises(LearnableError, match=f"server {server.url} does not answer within 0.2 s"),
    ):
        find_served_policy([server.url], request_timeout=0.2)


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://h/v1", "http://", "http://h:99999/v1", "http://[::1/v1"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(LearnableError, match=r"`base_urls` .* is not an address"):
        find_served_policy([url])


def test_no_address_and_a_password_in_one_are_told() -> None:
    with pytest.raises(LearnableError, match="give `base_urls`"):
        find_served_policy([])
    with pytest.raises(LearnableError, match="contains a password") as caught:
        find_served_policy([f"http://user:{KEY}@localhost/v1"])
    assert KEY not in str(caught.value)


def test_a_wrong_key_is_told_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with (
        ScriptedServer(models_reply=Reply(401, {"error": {"message": f"key {KEY} is wrong"}})) as server,
        pytest.raises(LearnableError, match=r"does not accept the key .*\[key\] is wrong") as caught,
    ):
        find_served_policy([server.url], api_key=KEY)
    assert KEY not in caplog.text + str(caught.value)
    for bad in (f"{KEY}\n{KEY}", f"{KEY}é"):
        with pytest.raises(LearnableError, match="`api_key_env`") as caught:
            find_served_policy(["http://localhost/v1"], api_key=bad)
        assert KEY not in str(caught.value)


def test_a_key_of_another_service_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ScriptedServer() as server:
        find_served_policy([server.url])
    assert server.keys == ["Bearer EMPTY"]


@pytest.mark.parametrize(
    ("models", "policy", "chosen", "expected"),
    [
        (["a"], None, None, "a@served-"),
        (["a", "b"], None, "b", "b@served-"),
        (["a", "o/b"], Policy("o/b", "o/b@1"), None, "o/b@1"),
        (["a", "b"], Policy("/models/b", "b@1"), None, "b@1"),
    ],
)
def test_one_model_is_chosen(models: list[str], policy: Policy | None, chosen: str | None, expected: str) -> None:
    with ScriptedServer(models=[{"id": name} for name in models]) as server:
        assert ServerEngine([server.url], policy, model=chosen).policy_id.startswith(expected)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [(None, "serves 'a', 'b': choose one with `served_model`"), ("c", "'a', 'b': not 'c': correct `served_model`")],
)
def test_a_choice_that_fails_lists_the_models(chosen: str | None, message: str) -> None:
    with (
        ScriptedServer(models=[{"id": "a"}, {"id": "b"}]) as server,
        pytest.raises(LearnableError, match=message),
    ):
        ServerEngine([server.url], model=chosen)


def test_all_servers_serve_the_same_model() -> None:
    with ScriptedServer(models=[{"id": "a"}]) as one, ScriptedServer(models=[{"id": "b"}]) as other:
        with pytest.raises(LearnableError, match=f"different models .*{other.url} serves 'b'"):
            ServerEngine([one.url, other.url])
        one.models = other.models = [{"id": "c", "max_model_len": 100}]
        other.models = [{"id": "c", "max_model_len": 50}]
        assert ServerEngine([one.url, f"{other.url}/"]).max_context == 50


def card(root: str, **fields: object) -> Json:
    return {"id": "name", "owned_by": "vllm", "root": root, "max_model_len": 512, **fields}


def test_weights_on_this_machine_give_the_identity(watcher: Watcher) -> None:
    with ScriptedServer(models=[card(HERE)]) as server:
        assert find_served_policy([server.url]) == find_policy(HERE)
        assert ServerEngine([server.url]).policy_id == find_policy().policy_id
    assert watcher.warnings == []


def test_weights_that_cannot_be_hashed_are_told(watcher: Watcher, tmp_path: Path) -> None:
    adapter = card(str(tmp_path), parent="base")
    with ScriptedServer(models=[adapter]) as server:
        assert find_served_policy([server.url]).policy_id.startswith("name@served-")
    assert ["give `policy`" in warning for warning in watcher.warnings] == [True]


@pytest.mark.parametrize(
    ("root", "policy"), [(HERE, Policy("/elsewhere", "policy@0123456789abcdef")), ("o/one", Policy("o/two", "o/two@1"))]
)
def test_other_weights_than_the_policys_are_refused(root: str, policy: Policy) -> None:
    with (
        ScriptedServer(models=[card(root)]) as server,
        pytest.raises(LearnableError, match=f"server {server.url} loaded '{root}', which is not the policy"),
    ):
        ServerEngine([server.url], policy)


def test_the_same_weights_in_another_folder_are_the_same_policy() -> None:
    policy = Policy("/copy", "copy@" + find_policy().policy_id.rpartition("@")[2])
    with ScriptedServer(models=[card(HERE)]) as server:
        assert ServerEngine([server.url], policy).policy_id == policy.policy_id


@pytest.mark.parametrize(
    ("cards", "named"),
    [
        ([{"id": "m"}], None),
        ([{"id": "m"}], ""),
        ([{"id": "m"}], 5),
        ([{"id": "m"}], "M"),
        ([{"id": "m"}], "m:latest"),
        ([{"id": "m"}], "m-2026-11-20"),
        ([{"id": "m"}], "m-20261120"),
        ([{"id": "m"}], "org/m"),
        ([{"id": "m", "root": "/models/other"}], "/models/other"),
        ([{"id": "first", "root": "/w"}, {"id": "m", "root": "/w"}], "first"),  # vLLM answers by its first name
    ],
)
def test_a_server_may_answer_by_another_name_of_the_model(cards: list[Json], named: object) -> None:
    requested = requests(2)
    with ScriptedServer(models=cards, always=lambda body: Reply(body=answer(body) | {"model": named})) as server:
        assert_whole(roll_out(engine_on(server, model="m"), requested), requested)


@pytest.mark.parametrize(
    ("cards", "named"),
    [
        ([{"id": "m"}], "another"),
        ([{"id": "m"}], "m-60"),
        ([{"id": "m"}], "m-instruct"),
        ([{"id": "m"}], "m-2026-99-20"),
        ([{"id": "m-2026-11-20"}, {"id": "m"}], "m2"),
        ([{"id": "base", "root": "/w"}, {"id": "m", "root": "/adapter", "parent": "base"}], "base"),
        ([{"id": "m"}, {"id": "n"}], "n"),
    ],
)
def test_a_server_that_answers_as_another_model_stops_the_run(cards: list[Json], named: str) -> None:
    with ScriptedServer(models=cards, always=lambda body: Reply(body=answer(body) | {"model": named})) as server:
        engine = engine_on(server, model="m")
        with pytest.raises(
            LearnableError, match=rf"server {server.url} was asked for 'm' and answers as '{named}'.*`served_model`"
        ) as caught:
            roll_out(engine, requests(2))
    assert not isinstance(caught.value, EngineError)  # which would be tried again


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("of_models", [True, False])
def test_nothing_is_sent_on_to_another_address(status: int, of_models: bool) -> None:
    with ScriptedServer() as other:
        reply = Reply(status, {}, {"Location": f"{other.url}/elsewhere"})
        script = {"models_reply": reply} if of_models else {"always": lambda body: reply}
        with (
            ScriptedServer(**script) as server,  # type: ignore[arg-type]
            pytest.raises(LearnableError, match=rf"server {server.url}.* sends requests on to {other.url}/elsewhere"),
        ):
            roll_out(engine_on(server, api_key=KEY), requests(1))
        assert other.keys == []


@pytest.mark.parametrize("to", ["/v2/models", "http://[::1", "\x01"])
def test_a_redirect_to_anywhere_is_told(to: str) -> None:
    with (
        ScriptedServer(models_reply=Reply(302, {}, {"Location": to})) as server,
        pytest.raises(LearnableError, match=r"sends requests on to .*`base_urls`"),
    ):
        find_served_policy([server.url])
