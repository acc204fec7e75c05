"""A LoRA adapter over the bundled policy, asked by the real engine as it is and merged into its base."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from learnable.data.policies import bundled_policy_path, find_policy
from tests.support.warm_starts import Starter

pytestmark = pytest.mark.e2e

SCRIPT = """
import json, sys
from learnable.data.records import Prompt, Sampling
from learnable.rollouts.protocol import GroupRequest
from learnable.rollouts.vllm_engine import VLLMEngine

def main():
    engine = VLLMEngine(sys.argv[1])
    texts = [f"Calculate: {a} + {b} = " for a in range(3, 7) for b in (8, 9)] + ["Write a haiku about rain."]
    requests = [GroupRequest(Prompt(text, "choice", {"answer": "x"}, family="f", form="F"), 1) for text in texts]
    groups = engine.generate(requests, Sampling(temperature=0.0, max_tokens=24))
    said = {group[0].question_id: group[0].completion for group in groups}
    print(json.dumps({"policy_id": engine.policy_id, "said": said}))

if __name__ == "__main__":
    main()
"""
MAKE = """
import sys
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

base, adapter, merged = sys.argv[1:]
torch.manual_seed(0)
model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "o_proj"]))
with torch.no_grad():
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            weight.normal_(std=0.3)
model.save_pretrained(adapter)
model.merge_and_unload().save_pretrained(merged)
AutoTokenizer.from_pretrained(base).save_pretrained(merged)
"""


def run(starter: Starter, script: Path, *arguments: str) -> Any:
    done = starter.run([sys.executable, str(script), *arguments])
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else None


def test_an_adapter_answers_as_the_model_that_it_is_merged_into(tmp_path: Path, starter: Starter) -> None:
    (tmp_path / "make.py").write_text(MAKE)
    (tmp_path / "ask.py").write_text(SCRIPT)
    base, adapter, merged = str(bundled_policy_path()), str(tmp_path / "adapter"), str(tmp_path / "merged")
    run(starter, tmp_path / "make.py", base, adapter, merged)
    adapted, whole, before = (run(starter, tmp_path / "ask.py", policy) for policy in (adapter, merged, base))
    assert adapted["policy_id"] == find_policy(adapter).policy_id
    assert "+" in adapted["policy_id"]
    assert adapted["said"] == whole["said"]
    assert adapted["said"] != before["said"]
