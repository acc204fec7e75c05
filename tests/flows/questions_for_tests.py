"""A file of questions, a policy that is only a hash, and settings that ask it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.settings import CurateSettings, PromptSettings


def ask(folder: Path, texts: Sequence[str], store: str) -> CurateSettings:
    """Return the settings of a run over `texts`, each answered right by `yes`."""
    policy = folder / "policy"
    policy.mkdir()
    (policy / "config.json").write_text("{}")
    (policy / "model.safetensors").write_bytes(b"weights")
    rows = [{"prompt": text, "answer": "yes", "verifier": "choice"} for text in texts]
    (folder / "q.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    prompts = PromptSettings(location=str(folder / "q.jsonl"))
    return CurateSettings(prompts=prompts, policy=str(policy), store=store, budget=SamplingBudget("fixed"), workers=0)
