"""A chat is the same tokens for vLLM in this process, for its server, for TRL and in the evaluation."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learnable.data.dialogue.chats import as_chat
from learnable.data.records import Prompt, Sampling
from learnable.rollouts.policy_tokens import encode_prompt, read_tokenizer
from learnable.rollouts.protocol import GroupRequest
from learnable.rollouts.server.answers import write_body
from learnable.rollouts.server.models import find_served
from learnable.train.policy.instruct import make_instruct_policy
from learnable.train.preflight.checks import prepare_run
from learnable.train.settings import TrainSettings
from tests.rollouts.server.servers_for_tests import VLLMServer
from tests.support.warm_starts import Starter

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("ignore:TRL currently supports vLLM:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

TOLD = Sampling(max_tokens=4, stop=("\n",), template_args={"enable_thinking": True})
TEXTS = ("Calculate: 2 + 3 = ", "Calculate: 7 + 8 = ", "Write a haiku about rain.")
CHATS = [
    as_chat(Prompt(text, "arithmetic", {"answer": 5}, family="f", form="F"), system)
    for text in TEXTS
    for system in ("", "Be terse.")
]
ENGINE_SCRIPT = """
import json, sys
from pathlib import Path
from learnable.data.curated.curated_set import open_curated
from learnable.data.records import Sampling
from learnable.rollouts.protocol import GroupRequest
from learnable.rollouts.vllm_engine import VLLMEngine
from learnable.flows.engines import use_engine
from learnable.flows.evaluating.process import measure_held_out
from learnable.flows.settings import CurateSettings
from learnable.train.results.evaluation import EvaluationSettings, read_held_out

def main():
    policy, curated, sampling = sys.argv[1], sys.argv[2], Sampling.from_json(json.loads(sys.argv[3]))
    engine = VLLMEngine(policy)
    seen, add = [], engine.llm.llm_engine.add_request
    def note(request_id, prompt, *more, **named):
        seen.append(prompt["prompt_token_ids"])
        return add(request_id, prompt, *more, **named)
    engine.llm.llm_engine.add_request = note
    settings = EvaluationSettings(curated, policy, sampling, 2, 0, None, sys.argv[4])
    held_out = read_held_out(open_curated(curated))
    list(engine.generate([GroupRequest(prompt, 2) for prompt in held_out.prompts], sampling))
    said = {"engine": list(seen)}
    seen.clear()
    with use_engine(engine, CurateSettings(policy=policy)):
        measure_held_out(settings, held_out)
    said["evaluation"] = list(seen)
    print(json.dumps(said))

if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_instruct_policy(tmp_path_factory.mktemp("policies") / "instruct")


@pytest.fixture
def server(policy: Path, starter: Starter) -> Iterator[VLLMServer]:
    with VLLMServer(starter, policy) as server:
        yield server


def served_tokens(server: VLLMServer, prompt: Prompt) -> list[int]:
    """Return the tokens that the server says it saw, of the request that our engine sends."""
    [served] = find_served([server.url], None, None, None, 10.0)
    path, body = write_body(GroupRequest(prompt, 2), 0, 2, TOLD, served)
    sent = urllib.request.Request(server.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent, timeout=60) as answer:
        tokens: list[int] = json.load(answer)["prompt_token_ids"]
    return tokens


def trained_tokens(policy: Path, curated: Path, folder: Path) -> list[list[int]]:
    """Return the tokens that TRL's trainer, as `learnable train` makes it, generates from."""
    from learnable.train.trainers.grpo import make_trainer
    from learnable.train.trainers.prompts import load_prompts

    settings = TrainSettings(str(curated), str(folder), policy=str(policy), num_generations=2, batch_size=4)
    run = prepare_run(replace(settings, use_vllm=False))
    trainer = make_trainer(run)
    assert trainer.args.generation_kwargs == {"stop_strings": ["\n"], "pad_token_id": 2}
    tokens, _, _ = trainer._tokenize_prompts(list(load_prompts(run.curated.path, "train")["prompt"]))
    generated, _ = trainer._generate_single_turn(tokens[:2], None, {}, 1)
    assert all(0 < len(each) <= TOLD.max_tokens for each in generated)
    return [list(each) for each in tokens]


def test_everybody_reads_the_same_tokens(
    policy: Path, server: VLLMServer, starter: Starter, make_curated: Callable[..., Path], tmp_path: Path
) -> None:
    curated = make_curated(policy, train=CHATS, test=CHATS, sampling=TOLD.to_json())
    tokenizer = read_tokenizer(str(policy))
    wanted = [encode_prompt(tokenizer, chat, TOLD.template_args) for chat in CHATS]
    assert len({tuple(tokens) for tokens in wanted}) == len(CHATS)
    assert {tokens.count(tokenizer.bos_token_id) for tokens in wanted} == {1}
    script = tmp_path / "script.py"
    script.write_text(ENGINE_SCRIPT)
    told = [str(policy), str(curated), json.dumps(TOLD.to_json()), str(tmp_path / "evaluation.json")]
    done: Any = starter.run([sys.executable, str(script), *told])
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert sorted(said["engine"]) == sorted(wanted)
    assert sorted(said["evaluation"]) == sorted(wanted * 2)  # a group and a greedy completion of each
    assert [served_tokens(server, chat) for chat in CHATS] == wanted
    assert trained_tokens(policy, curated, tmp_path / "run") == wanted
