"""New completions of held-out prompts, in a ledger of the evaluations' own: nothing there ever chose a prompt.

The completions of a curation said which prompts it kept. Of the kept ones they are too near the middle of the band, and
of the rejected ones too far from it, so none of them is counted in an evaluation. Those of an evaluation choose
nothing. They are kept in `<store>/evaluations/seed-N`, so that one that was stopped goes on, a larger group adds to a
smaller one, and a policy that was measured once costs nothing when another is compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import polars as pl

from learnable.data.policies import Policy
from learnable.data.progress import progress
from learnable.data.records import Prompt
from learnable.data.sources.selection import PromptSet
from learnable.filters.statistics.groups import group_stats
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.engines import policy_for
from learnable.flows.run import locked_store, start_run
from learnable.flows.sampling.sampler import open_sampling
from learnable.flows.settings import CurateSettings
from learnable.flows.settings.evaluation import MeasuringSettings
from learnable.train.results.evaluation import Evaluation, HeldOutPrompts, PromptResult, find_versions

COUNTED = ("prompt_id", "n", "mean", "passes", "tokens")


@dataclass(frozen=True, slots=True)
class Measured:
    """An evaluation of a policy, and how many of its completions were made now."""

    evaluation: Evaluation
    generated: int


def measure_policy(settings: CurateSettings, held_out: HeldOutPrompts, *, greedy: bool) -> Measured:
    """Return what a policy's completions of held-out prompts are worth; the store is that of the evaluations.

    Raises `LearnableError` when the engine or a verifier is given up, `InterruptedRunError` for Ctrl-C: the same call
    goes on from there.
    """
    policy = policy_for(settings)
    progress().stage(f"Held-out reward of {policy.policy_id}")
    groups, generated = _roll_out(settings, policy, held_out.prompts)
    likeliest, more = _roll_out(_as_greedy(settings), policy, held_out.prompts) if greedy else (groups.clear(), 0)
    return Measured(
        Evaluation(
            policy_id=policy.policy_id,
            prompts=_join(held_out, groups, likeliest, settings.group_size),
            tokens=_count_tokens(held_out.prompts, groups) + _count_tokens(held_out.prompts, likeliest),
            seconds=0.0,
            verifiers=find_versions(held_out.prompts),
        ),
        generated + more,
    )


def fix_budget(settings: CurateSettings, group_size: int) -> CurateSettings:
    """Return settings under which every prompt gets a group of this size."""
    return replace(settings, budget=SamplingBudget("fixed"), group_size=group_size)


def _as_greedy(settings: CurateSettings) -> CurateSettings:
    values = {field.name: getattr(settings, field.name) for field in fields(CurateSettings)}
    return MeasuringSettings(**{**values, "sampling": settings.sampling.as_greedy, "group_size": 1})


def _roll_out(settings: CurateSettings, policy: Policy, prompts: Sequence[Prompt]) -> tuple[pl.DataFrame, int]:
    """Return a row for each prompt that has rollouts, with the columns `COUNTED`, and how many are new."""
    with (
        locked_store(settings, policy) as store,
        open_sampling(start_run(settings, policy, store), PromptSet(list(prompts))) as sampling,
        sampling.interruptible(),
    ):
        sampling.collector.settle()
        sampling.generate(sampling.schedule.request_pilot())
        sampling.collector.finish()
        rows = [group_stats(part.lazy(), ks=()).select(COUNTED).collect() for part in sampling.scan().parts()]
        return pl.concat(rows), sampling.generated


def _count_tokens(prompts: Sequence[Prompt], groups: pl.DataFrame) -> int:
    """Add up the tokens of completions, each once: prompts that share a question share its completions."""
    asking = {prompt.question_id: prompt.prompt_id for prompt in prompts}
    return int(groups.filter(pl.col("prompt_id").is_in(list(asking.values())))["tokens"].sum())


def _join(
    held_out: HeldOutPrompts, groups: pl.DataFrame, likeliest: pl.DataFrame, group_size: int
) -> tuple[PromptResult, ...]:
    by_id = {row["prompt_id"]: row for row in groups.to_dicts()}
    best = {row["prompt_id"]: row for row in likeliest.to_dicts()}
    results = []
    for prompt in held_out.prompts:
        group, one = by_id.get(prompt.prompt_id, {}), best.get(prompt.prompt_id, {})
        n = group.get("n", 0)
        results.append(
            PromptResult(
                prompt_id=prompt.prompt_id,
                family=prompt.family,
                form=prompt.form,
                n=n,
                passes=group.get("passes", 0),
                mean=group.get("mean"),
                unscored=group_size - n,
                greedy=one.get("mean"),
                greedy_passed=bool(one["passes"]) if one.get("n") else None,
                part=held_out.find_part(prompt),
                difficulty=prompt.difficulty,
                problem_id=prompt.problem_id,
            )
        )
    return tuple(results)
