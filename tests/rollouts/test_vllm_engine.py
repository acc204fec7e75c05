"""The real engine on the bundled policy, in a process of its own: vLLM and pytest share no state."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from learnable.data.policies import bundled_policy_path
from tests.support.paths import ROOT
from tests.support.warm_starts import Starter

pytestmark = pytest.mark.e2e

SCRIPT = """
import json
from dataclasses import asdict
from learnable.data.records import Message, Prompt, Sampling
from learnable.rollouts.protocol import GroupRequest
from learnable.rollouts.vllm_engine import VLLMEngine

def main():
    engine = VLLMEngine()
    texts = ["Calculate: 2 + 3 = ", "Calculate: 7 + 8 = ", "Write a haiku about rain."]
    prompts = [Prompt(text, "choice", {"answer": "x"}, family="f", form="F") for text in texts]
    chat = Prompt((Message("user", texts[0]),), "choice", {"answer": "x"}, family="f", form="F")
    long = Prompt("rain " * 600, "choice", {"answer": "x"}, family="f", form="F")

    def rollouts(requests, **sampling):
        groups = engine.generate(requests, Sampling(**sampling))
        return sorted((asdict(r) for g in groups for r in g), key=lambda r: (r["question_id"], r["rollout_index"]))

    requests = [GroupRequest(prompt, 4) for prompt in prompts]
    cut_short = engine.generate(requests, Sampling(max_tokens=32))
    next(cut_short)
    cut_short.close()
    print(json.dumps({
        "policy_id": engine.policy_id,
        "max_context": engine.max_context,
        "counts": engine.count_tokens([*prompts, chat, long]),
        "first": rollouts(requests, max_tokens=32),
        "second": rollouts(requests, max_tokens=32),
        "other_seed": rollouts([GroupRequest(prompt, 4, seed=1) for prompt in prompts], max_tokens=32),
        "grown": rollouts([GroupRequest(prompts[0], 2, first_index=4)], max_tokens=32),
        "short": rollouts([GroupRequest(prompts[2], 2)], max_tokens=3),
        "chat": rollouts([GroupRequest(chat, 2)], max_tokens=8),
    }))

if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory, starter: Starter) -> dict[str, Any]:
    script = tmp_path_factory.mktemp("engine") / "script.py"
    script.write_text(SCRIPT)
    done = starter.run([sys.executable, str(script)])
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_each_group_is_whole_and_named(said: dict[str, Any]) -> None:
    from transformers import AutoTokenizer

    assert len(said["first"]) == 12
    assert {row["rollout_index"] for row in said["first"]} == {0, 1, 2, 3}
    assert {row["policy_id"] for row in said["first"]} == {said["policy_id"]}
    assert said["policy_id"].startswith("policy@")
    assert all(row["num_tokens"] > 0 for row in said["first"])
    tokenizer = AutoTokenizer.from_pretrained(bundled_policy_path())
    for row in said["first"]:
        assert len(row["token_ids"]) == row["num_tokens"]
        assert tokenizer.decode(row["token_ids"], skip_special_tokens=True) == row["completion"]
        assert (row["token_ids"][-1] == tokenizer.eos_token_id) == (row["finish_reason"] == "stop")


def test_a_seed_decides_the_draw(said: dict[str, Any]) -> None:
    seeds = [row["seed"] for row in said["first"]]
    assert len(set(seeds)) == 12
    assert said["first"] == said["second"]
    assert [row["seed"] for row in said["other_seed"]] != seeds
    assert [row["completion"] for row in said["other_seed"]] != [row["completion"] for row in said["first"]]


def test_a_group_grows_by_index(said: dict[str, Any]) -> None:
    assert [row["rollout_index"] for row in said["grown"]] == [4, 5]
    assert not {row["seed"] for row in said["grown"]} & {row["seed"] for row in said["first"]}


def test_completions_out_of_tokens_say_so(said: dict[str, Any]) -> None:
    assert [(row["finish_reason"], row["num_tokens"]) for row in said["short"]] == [("length", 3)] * 2
    assert any(row["finish_reason"] == "stop" for row in said["first"])


def test_prompts_are_counted_as_the_engine_sees_them(said: dict[str, Any]) -> None:
    text, _, _, chat, long = said["counts"]
    assert said["max_context"] == 512
    assert 5 < text < 30
    assert abs(chat - text) <= 1  # the bundled chat template adds no words
    assert long > said["max_context"]
    assert len(said["chat"]) == 2


def test_the_bundled_policy_is_in_the_repository() -> None:
    folder = ROOT / "data" / "policy"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 8 << 20


# One process for all of them: it takes seconds to import vLLM, and vLLM and pytest share no state.
OPTIONS_SCRIPT = """
import sys
from learnable.cli.app import app

def main():
    for option in sys.argv[1:]:
        try:
            app(["find", "--family", "arithmetic", "--limit", "2", "--no-prefect", "--quiet", "--engine-arg", option])
        except SystemExit as ended:
            print("status", ended.code, file=sys.stderr, flush=True)

if __name__ == "__main__":
    main()
"""
MESSAGES = {
    "max_model_le=64": "unknown --engine-arg 'max_model_le': did you mean 'max_model_len'",
    "chat_template=/nowhere": "--engine-arg chat_template has no use here",
    "model=other": "--engine-arg model has no use here: name the policy with --policy",
    "max_model_len=abc": "--engine-arg max_model_len=abc: it takes a whole number",
    "max_model_len=100000": "--engine-arg max_model_len=100000: User-specified max_model_len",
    "max_num_seqs=0": "--engine-arg max_num_seqs=0: Input should be greater than or equal to 1",
}


def test_an_option_that_vllm_does_not_take_is_one_message(tmp_path: Path, starter: Starter) -> None:
    script = tmp_path / "find.py"
    script.write_text(OPTIONS_SCRIPT)
    done = starter.run([sys.executable, str(script), *MESSAGES], cwd=tmp_path)
    told = [line for line in done.stderr.splitlines() if line.startswith(("error: ", "status "))]
    assert told[1::2] == ["status 2"] * len(MESSAGES), done.stderr
    for line, message in zip(told[::2], MESSAGES.values(), strict=True):
        assert message in line
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
