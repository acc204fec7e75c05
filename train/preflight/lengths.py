"""Do prompts and completions fit the policy's context together?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from learnable.data.curated.curated_set import CuratedSet
from learnable.data.errors import LearnableError
from learnable.data.policies import Policy, read_context_length
from learnable.train.settings import TrainSettings

CANDIDATES = 64  # the longest prompts in characters, among which the longest in tokens is looked for


def check_lengths(settings: TrainSettings, curated: CuratedSet, policy: Policy) -> list[str]:
    """Return warnings about the completion length.

    Raises `LearnableError` when the longest prompt and a full completion pass the context. A policy on the hub
    is not looked at: its files may not be here yet.
    """
    context, longest = read_context_length(policy), longest_prompt(curated, settings.rows_part, policy)
    most = settings.sampling.max_tokens
    if context and longest and longest + most > context:
        room = context - longest
        fix = f"give --max-completion-length {room} or less" if room > 0 else "curate the set again for this policy"
        raise LearnableError(
            f"--max-completion-length {most} and the longest prompt ({longest} tokens) pass the context of "
            f"{context} tokens of {policy.path!r}: {fix}"
        )
    curated_at = curated.manifest.sampling.max_tokens
    if most < curated_at and not curated.manifest.find_absent(("sampling",)):
        return [
            f"--max-completion-length {most} is below the {curated_at} tokens of the curation: completions that "
            "passed there may be cut short here"
        ]
    return []


def longest_prompt(curated: CuratedSet, part: str, policy: Policy) -> int | None:
    """Return the tokens of the longest prompt, without a chat template's own; None without a local tokenizer."""
    path = Path(policy.path) / "tokenizer.json"
    if not path.is_file():
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    texts = sorted(prompt_texts(curated, part), key=len)[-CANDIDATES:]
    return max(len(encoding.ids) for encoding in tokenizer.encode_batch(texts))


def prompt_texts(curated: CuratedSet, part: str) -> Iterator[str]:
    """Yield each prompt's words; the turns of a chat are joined."""
    for shard in [*curated.shards(part), *curated.shards("test")]:
        yield from map(_joined, pq.read_table(shard, columns=["prompt"]).column("prompt").to_pylist())


def _joined(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(turn["content"] or "" for turn in prompt)
