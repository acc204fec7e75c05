"""Which stored rollouts can be trained on, dealt into groups and batches: all of it a function of store and seed.

A group has `size` completions of one prompt, by the policy that training begins with and under its sampling. No rollout
is in two groups, and groups without spread are left out, as they have no gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from learnable.data.band import Signal
from learnable.data.ledger.ledger import Draw, Ledger
from learnable.data.records import Prompt, content_id

SCORE = ("reward", "passed", "verdict", "reason", "components")
UNUSABLE = 0.1  # share of a prompt's rollouts; where more cannot be used, the rest is a biased sample of it


def read_scored(ledger: Ledger, draw: Draw, prompts: Sequence[Prompt], versions: dict[str, str]) -> pl.DataFrame:
    """Return the stored rollouts of these prompts that have an honest score, a row each, and how many there are in all.

    Columns: `prompt_id`, `rollout_id`, `finish_reason`, `num_tokens`, those of `SCORE`, and `found`: the rollouts of
    the prompt that are stored, those without a score or of another cap on tokens among them. Where prompts share a
    question and so their rollouts, the first prompt has them. Raises `LearnableError` as the ledger does.
    """
    stored, others = ledger.find_rollouts(draw, prompts)
    scores = ledger.find_scores(draw, stored, versions).select("prompt_id", "rollout_id", *SCORE)
    counts = pl.concat([stored, others], how="diagonal_relaxed").group_by("prompt_id").agg(found=pl.len())
    return (
        stored.unique("rollout_id", keep="first", maintain_order=True)
        .select("prompt_id", "rollout_id", "finish_reason", "num_tokens")
        .join(scores, on=["prompt_id", "rollout_id"], maintain_order="left")
        .filter(pl.col("reward").is_not_null())
        .join(counts, on="prompt_id", maintain_order="left")
    )


def add_tokens(
    ledger: Ledger, draw: Draw, prompts: Sequence[Prompt], rows: pl.DataFrame, tokenizer: Any
) -> pl.DataFrame:
    """Return the rows whose tokens are known, with a column `token_ids` of what the policy drew, its end included.

    They are the ledger's own, or, of rollouts without, those of their text: where decoding them gives the text back,
    and they are as many as were counted when it was drawn. Raises `LearnableError` as the ledger does.
    """
    known = [pl.DataFrame(schema={"rollout_id": pl.String, "token_ids": pl.List(pl.Int32)})]
    wanted = rows.select("rollout_id", "finish_reason", "num_tokens")
    for texts in ledger.read_completions(draw, rows, prompts, reasoning=True, tokens=True):
        known += [pl.DataFrame(texts.filter(pl.col("token_ids").is_not_null()).select("rollout_id", "token_ids"))]
        rest = texts.filter(pl.col("token_ids").is_null()).join(wanted, on="rollout_id", maintain_order="left")
        ids = _encode(tokenizer, rest, draw.sampling.stop)
        known += [
            pl.DataFrame({"rollout_id": rest["rollout_id"], "token_ids": pl.Series(ids, dtype=pl.List(pl.Int32))})
        ]
    ids_of = pl.concat(known).filter(pl.col("token_ids").list.len() > 0)
    return rows.join(ids_of, on="rollout_id", maintain_order="left")


def _encode(tokenizer: Any, rows: pl.DataFrame, stop: Sequence[str]) -> list[list[int] | None]:
    """Return the tokens of each whole text; None where it is not sure that they are those that were drawn."""
    tokens: list[list[int] | None] = []
    for part in rows.with_columns(text=pl.col("reasoning") + pl.col("completion")).iter_slices(4096):
        texts = part["text"].to_list()
        encoded = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        decoded = tokenizer.batch_decode(encoded, skip_special_tokens=True)
        ends = part.select("finish_reason", "num_tokens").iter_rows()
        for text, (reason, count), ids, again in zip(texts, ends, encoded, decoded, strict=True):
            ended = reason == "stop" and not text.endswith(tuple(stop) or ("\0",))
            drawn = [*ids, tokenizer.eos_token_id] if ended else list(ids)
            tokens.append(drawn if again == text and len(drawn) == count else None)
    return tokens


def deal_groups(rows: pl.DataFrame, size: int, signal: Signal, seed: int) -> pl.DataFrame:
    """Return the rows that are in groups, group by group, with a column `group` that numbers these.

    Each prompt's rollouts are shuffled by the seed and dealt into as many whole groups as there are; those whose
    rewards, or passes, are all alike are dropped. Prompts of which more than `UNUSABLE` of the rollouts are not among
    the rows are left out: what is short or plainly written would be there more often.
    """
    keys = pl.Series([content_id(seed, name) for name in rows["rollout_id"]], dtype=pl.String)
    what = pl.col("reward") if signal == "reward" else pl.col("passed").cast(pl.Float64)
    within = ["prompt_id", "number"]
    dealt = (
        rows.with_columns(key=keys)
        .filter(pl.len().over("prompt_id") >= (1 - UNUSABLE) * pl.col("found"))
        .sort("prompt_id", "key")
        .with_columns(number=pl.int_range(pl.len()).over("prompt_id") // size)
        .filter((pl.len().over(within) == size) & (what.max().over(within) > what.min().over(within)))
    )
    return dealt.with_columns(group=pl.struct(within).rle_id().cast(pl.Int64)).drop("key", "number", "found")


def plan_batches(
    owners: NDArray[np.int64], chances: NDArray[np.float64], prompts: int, most: int, seed: int
) -> list[list[int]]:
    """Return batches of groups, each of `prompts` different prompts and at most `most` batches, every group once.

    Args:
        owners: the prompt of each group, a number below `len(chances)`.
        chances: how often the sampler would take each prompt.
        prompts: in a batch.
        most: batches.
        seed: of what is drawn.

    A batch takes prompts without replacement, by their chances and the groups that they have left (Efraimidis and
    Spirakis 2006, by exponential keys).
    """
    rng = np.random.default_rng([seed, len(owners)])
    shuffled = rng.permutation(len(owners))
    order = shuffled[np.argsort(owners[shuffled], kind="stable")]  # groups of a prompt are next to each other
    some, left = np.unique(owners, return_counts=True)
    last, weights = np.cumsum(left), np.maximum(chances[some], 1e-6)
    batches: list[list[int]] = []
    while len(batches) < most and np.count_nonzero(left) >= prompts:
        keys = np.full(len(some), np.inf)
        np.divide(rng.exponential(size=len(some)), left * weights, out=keys, where=left > 0)
        taken = np.argpartition(keys, prompts - 1)[:prompts]
        taken = taken[np.argsort(keys[taken])]
        batches.append([int(group) for group in order[last[taken] - left[taken]]])
        left[taken] -= 1
    return batches
