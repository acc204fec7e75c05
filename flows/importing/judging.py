"""Where the judge that was named and the rewards that came with a file differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from learnable.data.ledger.imports import LOOKED_UP
from learnable.data.records import Prompt
from learnable.flows.run import Run
from learnable.verifiers.registry import find_verifier

SAME = 0.01  # rewards that are nearer than this are the same
SHOWN = 5  # completions on which they differ


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One completion on which the two differ."""

    prompt: str
    completion: str
    recorded: float
    judged: float
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the judge's scores compare with those that were `recorded`: counts of completions.

    `compared` have both; on `differing` of them the rewards differ by `SAME` or more, or only one passes:
    `passes_judge_alone`, `passes_file_alone`. `unjudged` have a recorded reward and none of the judge's. `examples` are
    the first that differ.
    """

    recorded_by: str
    judge: str
    compared: int
    differing: int
    passes_judge_alone: int
    passes_file_alone: int
    unjudged: int
    examples: tuple[Disagreement, ...] = ()


def compare_with_recorded(run: Run, recorded: Sequence[Prompt], judged: Sequence[Prompt]) -> Comparison:
    """Compare the scores of stored completions by two verifiers of the same questions.

    Both are prompts of the pool, pairwise. Raises `LearnableError` where the ledger cannot be read.
    """
    scores = pl.concat(list(_join_scores(run, recorded, judged)))
    both = scores.drop_nulls("judged")
    differs = ((pl.col("recorded") - pl.col("judged")).abs() >= SAME) | (pl.col("passed") != pl.col("passed_judge"))
    different = both.filter(differs)
    return Comparison(
        recorded_by=recorded[0].verifier,
        judge=judged[0].verifier,
        compared=both.height,
        differing=different.height,
        passes_judge_alone=different.filter(~pl.col("passed") & pl.col("passed_judge")).height,
        passes_file_alone=different.filter(pl.col("passed") & ~pl.col("passed_judge")).height,
        unjudged=scores.height - both.height,
        examples=tuple(_read_examples(run, different.head(SHOWN), judged)),
    )


def _join_scores(run: Run, recorded: Sequence[Prompt], judged: Sequence[Prompt]) -> Iterator[pl.DataFrame]:
    """Yield a row for each completion that has a recorded reward, `judged` null where the judge gave none."""
    for first in range(0, len(recorded), LOOKED_UP):
        part = slice(first, first + LOOKED_UP)
        theirs = _find_scores(run, recorded[part]).select("prompt_id", "rollout_id", "passed", recorded="reward")
        ours = _find_scores(run, judged[part]).select(
            "rollout_id", "reason", "prompt_id", judged="reward", passed_judge="passed"
        )
        pairs = pl.DataFrame(
            {
                "prompt_id": [prompt.prompt_id for prompt in recorded[part]],
                "judged_id": [prompt.prompt_id for prompt in judged[part]],
            }
        )
        yield theirs.join(pairs, on="prompt_id", maintain_order="left").join(
            ours.rename({"prompt_id": "judged_id"}),
            on=["judged_id", "rollout_id"],
            how="left",
            maintain_order="left",
        )


def _find_scores(run: Run, prompts: Sequence[Prompt]) -> pl.DataFrame:
    stored, _ = run.store.ledger.find_rollouts(run.draw, prompts)
    versions = {prompts[0].verifier: find_verifier(prompts[0].verifier).version}
    return run.store.ledger.find_scores(run.draw, stored, versions)


def _read_examples(run: Run, rows: pl.DataFrame, judged: Sequence[Prompt]) -> Iterator[Disagreement]:
    by_id = {prompt.prompt_id: prompt for prompt in judged}
    prompts = [by_id[name] for name in rows["judged_id"].unique()]
    texts = {
        rollout_id: completion
        for part in run.store.ledger.read_completions(run.draw, rows, prompts)
        for rollout_id, completion in part.select("rollout_id", "completion").iter_rows()
    }
    for row in rows.iter_rows(named=True):
        prompt = by_id[row["judged_id"]]
        completion = texts.get(row["rollout_id"], "")
        yield Disagreement(prompt.whole_text, completion, row["recorded"], row["judged"], row["reason"] or "")
