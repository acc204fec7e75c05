"""The policy that ships: loads where users load it, and reads text as it was trained to."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from learnable.data.policies import bundled_policy_path
from learnable.train.policy.tokenizer import encode_pairs

FOLDER = bundled_policy_path()


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(FOLDER)


def test_the_weights_are_small_and_bfloat16():
    weights = FOLDER / "model.safetensors"
    assert weights.stat().st_size <= 8_000_000
    with weights.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    assert {entry["dtype"] for name, entry in header.items() if name != "__metadata__"} == {"BF16"}


def test_the_card_says_how_to_make_it_again():
    assert "python -m learnable.train.policy" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_digits_stand_apart(tokenizer):
    assert len(tokenizer("2047", add_special_tokens=False).input_ids) == 4


def test_raw_text_begins_with_bos_and_has_no_end(tokenizer):
    ids = tokenizer("What is 3 + 4?").input_ids
    assert ids[0] == tokenizer.bos_token_id
    assert tokenizer.eos_token_id not in ids


def test_a_chat_is_its_messages_joined(tokenizer):
    turns = [{"role": "user", "content": "What is 3 + 4?"}, {"role": "assistant", "content": "7"}]
    assert tokenizer.apply_chat_template(turns, tokenize=False) == "What is 3 + 4?7"


@pytest.mark.parametrize("text", ["Soft rain\nfell — on 12 stones", "def f(n):\n    return n % 2 == 0\n", "naïve"])
def test_the_tokenizer_loses_nothing(tokenizer, text):
    assert tokenizer.decode(tokenizer(text, add_special_tokens=False).input_ids) == text


def test_a_completion_is_encoded_apart_and_ends(tokenizer):
    (encoded,) = encode_pairs(FOLDER, ["Calculate: 7 + 8 = "], ["15"])
    assert encoded.prompt == tokenizer("Calculate: 7 + 8 = ").input_ids
    assert encoded.completion[-1] == tokenizer.eos_token_id
    assert len(encoded.weights) == len(encoded.completion) == 3


def test_transformers_loads_it_and_it_answers(tokenizer):
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32)
    ids = tokenizer("Is 97 greater than 3? Answer Yes or No.", return_tensors="pt").input_ids
    answer = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=4)
    assert tokenizer.decode(answer[0, ids.shape[1] :], skip_special_tokens=True) == "Yes"


def test_the_command_explains_itself_without_loading_torch():
    run = "runpy.run_module('learnable.train.policy', run_name='__main__')"
    check = "assert 'torch' not in sys.modules"
    code = f"import sys, runpy; sys.argv = ['x', '--help']\ntry:\n    {run}\nfinally:\n    {check}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--seed" in done.stdout
