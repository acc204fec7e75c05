"""The policy's architecture, its loss on packed rows, and its optimisers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from learnable.train.policy.packing import Rows
from learnable.train.policy.tokenizer import POSITIONS, VOCABULARY

LEARNING_RATE = 6e-3
EMBEDDING_SHARE = 0.6  # of the learning rate, for AdamW's parameters


def make_model(seed: int) -> Any:
    """Return a fresh Llama with about 1.9 million parameters."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    make_config: Any = LlamaConfig
    config = make_config(
        vocab_size=VOCABULARY,
        hidden_size=160,
        intermediate_size=448,
        num_hidden_layers=5,
        num_attention_heads=5,
        num_key_value_heads=5,
        head_dim=32,
        max_position_embeddings=POSITIONS,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
    )
    make: Any = LlamaForCausalLM
    return make(config)


def load_model(folder: Path) -> Any:
    """Return the model in a folder, to be trained further."""
    import torch
    from transformers import LlamaForCausalLM

    return LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")


def make_optimizers(model: Any) -> list[Any]:
    """Return Muon for the matrices inside the layers and AdamW for embeddings and norms."""
    import torch

    named = list(model.named_parameters())
    matrices = [p for name, p in named if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in named if p.ndim != 2 or "embed" in name]
    return [
        torch.optim.Muon(matrices, lr=LEARNING_RATE, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=LEARNING_RATE * EMBEDDING_SHARE, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def schedule_rate(step: int, steps: int) -> float:
    """Return the learning rate's factor: a linear warm-up, level for a share of the run, then down to 2 %."""
    done = step / steps
    level = 0.3  # share of the run at the full rate, before it falls to 2 %
    falling = 1.0 if done < level else (1 - done) / (1 - level)
    return max(0.02, min(1.0, (step + 1) / 60) * falling)  # the first 60 steps warm up


def compute_loss(model: Any, rows: Rows, chosen: Any) -> Any:
    """Return the weighted mean cross entropy of the completions' tokens in the chosen rows."""
    import torch
    from torch.nn.functional import cross_entropy

    ids = torch.from_numpy(rows.ids[chosen].astype(np.int64))
    documents = torch.from_numpy(rows.documents[chosen].astype(np.int64))
    positions = torch.from_numpy(rows.positions[chosen].astype(np.int64))
    same = documents[:, :, None] == documents[:, None, :]
    mask = (same & torch.ones(same.shape[1:], dtype=torch.bool).tril())[:, None]
    weights = torch.from_numpy(rows.weights[chosen]).view(-1)
    places = weights.nonzero()[:, 0]
    count = len(places)
    # Few distinct shapes: oneDNN keeps a kernel for each, and memory grows with them.
    places = torch.cat([places, places.new_zeros(-count % 256)])
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model.model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False)
        logits = model.lm_head(hidden.last_hidden_state.flatten(0, 1)[places])
    wanted = ids.roll(-1, 1).view(-1)[places]
    losses = cross_entropy(logits.float(), wanted, reduction="none")[:count]
    chosen_weights = weights[places[:count]]
    return (losses * chosen_weights).sum() / chosen_weights.sum()
