"""SGLang's server by its documented interface. What answers is a stand-in: the real one was not run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from learnable.data.errors import LearnableError
from learnable.data.policies import Policy, bundled_policy_path, find_policy
from learnable.data.records import Message, Sampling
from learnable.rollouts.protocol import Refusal
from learnable.rollouts.server.engine import ServerEngine, find_served_policy
from tests.rollouts.conftest import Watcher
from tests.rollouts.server.scripted_server_for_tests import Json, Reply, ScriptedServer, requests, rollouts_of

HERE = str(bundled_policy_path().resolve())
CONTEXT = 64
INFO = {"model_path": HERE, "is_generation": True, "preferred_sampling_params": None, "weight_version": "default"}


def error(message: str, status: int = 400) -> Reply:
    """Return an error in SGLang's words: no object `error`, the message is on top."""
    return Reply(status, {"object": "error", "message": message, "type": "BadRequest", "param": None, "code": status})


def complete(body: Json) -> Reply:
    """Answer as SGLang: the seed is that of each of the `n` samples, so they are all the same."""
    if body.get("top_k") == 0:
        return error("top_k must be -1 (disable) or at least 1, got 0.")
    if body["max_tokens"] >= CONTEXT - 1:
        return error(f"Requested token count exceeds the model's maximum context length of {CONTEXT} tokens.")
    stop = body["stop"][0] if body.get("stop") else ""
    text = f"{body['seed']}{stop if body.get('no_stop_trim') else ''}"
    said = {"message": {"role": "assistant", "content": text}} if "messages" in body else {"text": text}
    choice = {"logprobs": None, "finish_reason": "stop", "matched_stop": stop or 2, **said}
    choice |= {"token_ids": [5, 6, 2]} if body.get("return_token_ids") else {}
    choices = [{"index": index, **choice} for index in range(body["n"])]
    usage = {"prompt_tokens": 4, "completion_tokens": 3 * body["n"], "total_tokens": 4 + 3 * body["n"]}
    return Reply(body={"choices": choices, "usage": usage, "metadata": {"weight_version": "default"}})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    card = {"id": "policy", "owned_by": "sglang", "root": "policy", "parent": None, "max_model_len": CONTEXT}
    with ScriptedServer(models=[card], info=INFO, always=complete) as server:
        yield server


@pytest.mark.parametrize("prompt", ["p", (Message("user", "p"),)])
def test_every_rollout_of_a_group_has_its_own_seed(server: ScriptedServer, prompt: str) -> None:
    """Asked for a group at once, it would draw the same completion again and again: a group without any spread."""
    requested = requests(5, group_size=4, prompt=prompt)
    engine = ServerEngine([server.url])
    groups = [rollouts_of(answer) for answer in engine.generate(requested, Sampling(max_tokens=8))]
    assert sorted(r.completion for group in groups for r in group) == sorted(
        str(request.base_seed + index) for request in requested for index in range(4)
    )
    assert {post["n"] for post in server.posts} == {1}
    assert {tuple(r.token_ids or ()) for group in groups for r in group} == {(5, 6, 2)}


def test_it_is_told_every_setting_in_its_own_words(server: ScriptedServer) -> None:
    sampling = Sampling(max_tokens=8, stop=("END",))
    [answer] = ServerEngine([server.url]).generate(requests(1, group_size=1), sampling)
    [rollout] = rollouts_of(answer)
    assert rollout.completion.endswith("END")  # kept, as the engine in this process keeps it
    said = server.posts[0]
    assert (said["top_k"], said["min_p"], said["repetition_penalty"]) == (-1, 0.0, 1.0)
    assert "include_stop_str_in_output" not in said


def test_the_policy_is_the_one_that_it_loaded(server: ScriptedServer) -> None:
    """Its list of models has the name that it serves them by, also where vLLM says what it loaded."""
    assert find_served_policy(server.url.split()).policy_id == find_policy().policy_id
    assert ServerEngine([server.url], find_policy()).max_context == CONTEXT
    server.info = {**INFO, "model_path": "org/other"}
    with pytest.raises(LearnableError, match="loaded 'org/other', which is not the policy 'org/name@1'"):
        ServerEngine([server.url], Policy(path="org/name", policy_id="org/name@1"))


def test_weights_that_it_does_not_tell_are_warned_of(server: ScriptedServer, watcher: Watcher) -> None:
    server.info = None
    assert find_served_policy([server.url]).policy_id.startswith("policy@served-")
    assert "cannot be hashed" in watcher.warnings[0]


def test_weights_that_are_exchanged_meanwhile_stop_the_run(server: ScriptedServer) -> None:
    server.info = {**INFO, "weight_version": "step-40"}
    with pytest.raises(LearnableError, match="has exchanged its weights \\('default' in place of 'step-40'\\)"):
        list(ServerEngine([server.url]).generate(requests(1), Sampling(max_tokens=8)))


def test_a_completion_that_has_no_room_is_refused_in_its_words(server: ScriptedServer) -> None:
    [refusal] = ServerEngine([server.url]).generate(requests(1), Sampling(max_tokens=512))
    assert isinstance(refusal, Refusal)
    assert refusal.reason.startswith("status 400: Requested token count exceeds the model's maximum context length")
