"""The stored completions that are trained on: which of a set's pairs DPO takes, and how long completions are."""

from __future__ import annotations

from dataclasses import fields

import pyarrow as pa
import pyarrow.compute as pc

from learnable.data.curated.curated_set import CuratedSet
from learnable.data.errors import LearnableError
from learnable.data.policies import Policy, read_context_length
from learnable.train.preflight.shards import count_rows, join_turns, measure_longest_prompt
from learnable.train.settings import TrainSettings


def check_preferences(settings: TrainSettings) -> None:
    """Raise `LearnableError` for settings that DPO cannot work with or has no use for, and for its own elsewhere."""
    if settings.method != "dpo":
        if settings.dpo_margin is not None:
            raise LearnableError(
                f"`dpo_margin` {settings.dpo_margin:g} has no use under `method` {settings.method}: leave it out"
            )
        return
    # What is about completions that are generated, grouped and rewarded while a policy trains.
    of_grpo = {"num_generations", "no_kl", "loss_type", "signal", "reward_range"}
    of_grpo |= {"scale_rewards", "use_vllm", "eval_steps"}
    for one in fields(TrainSettings):
        if one.name in of_grpo and getattr(settings, one.name) != one.default:
            raise LearnableError(
                f"`{one.name}` has no use under `method` dpo, which trains on stored completions: "
                "leave it out, or the preset that has it"
            )
    if not settings.kl_weight > 0:
        raise LearnableError(
            f"`beta` {settings.kl_weight:g} leaves DPO nothing to learn: its loss weighs preferences by it; give 0.1"
        )
    if not 0 <= settings.least_margin <= 1:
        raise LearnableError(
            f"`dpo_margin` {settings.least_margin:g} is not between 0 and 1, as rewards are: give 0 for every pair"
        )


def read_pairs(curated: CuratedSet, settings: TrainSettings) -> pa.Table:
    """Return the pairs that are trained on: of the families, and with rewards far enough apart.

    Raises `LearnableError` for a broken shard.
    """
    rows = curated.read("preferences", settings.families)
    margin = settings.least_margin - 1e-9  # rewards differ by rounding: .7 - .5 is .19999999999999996
    return rows.filter(pc.greater_equal(rows["margin"], pa.scalar(margin)))


def explain_pairs(settings: TrainSettings, curated: CuratedSet, taken: int) -> list[str]:
    """Return how many of the set's pairs are trained on; nothing under another method."""
    if settings.method != "dpo":
        return []
    pairs = count_rows(curated, "preferences", settings.families)
    return [f"`dpo_margin` {settings.least_margin:g}: rewards are so far apart in {taken} of the set's {pairs} pairs"]


def measure_longest_stored(settings: TrainSettings, curated: CuratedSet, policy: Policy) -> int | None:
    """Return the tokens of the longest completion that is trained on, with its prompt, without a chat template's own.

    None under GRPO, and without a local tokenizer. Raises `LearnableError` where they pass the policy's context.
    """
    if settings.method == "grpo":
        return None
    pairs = settings.method == "dpo"
    table = read_pairs(curated, settings) if pairs else curated.read(settings.rows_part, settings.families)
    ends = ("chosen", "rejected") if pairs else ("completion",)
    rows = table.select(["prompt", *ends]).to_pylist()
    texts = (join_turns(row["prompt"]) + join_turns(row[end]) for row in rows for end in ends)
    longest, cut = measure_longest_prompt(texts, policy), settings.trl.get("max_length")
    if longest is None:
        return None
    if isinstance(cut, int):
        return min(longest, cut)
    context = read_context_length(policy)
    if context and longest > context:
        word = "pair" if pairs else "demonstration"
        raise LearnableError(
            f"the longest {word} of {str(curated.path)!r} has {longest} tokens with its prompt, and the context of "
            f"{policy.path!r} {context}: train the policy that the set was curated for, or cut what is longer with "
            f"`trl` max_length={context}"
        )
    return longest
