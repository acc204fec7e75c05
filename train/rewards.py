"""Reward functions for TRL: the curated set's own verifiers, chosen by column.

    GRPOTrainer(model, reward_funcs=[verifier_reward], train_dataset=load_dataset("parquet", data_files=...))

The columns `verifier` and `spec` of a curated set say how each completion is judged; nothing is guessed from
the prompt. A completion that could not be judged gets None, never zero: TRL leaves it out of its group's
baseline and gives it no advantage, so that a fault of a verifier changes no weight.
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from typing import Any

import numpy as np

from learnable.data.dialogue.thinking import ThinkTags, split_thought
from learnable.data.records import JsonObject, Score, Spec, canonical_json
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool

Turns = Sequence[JsonObject]
RewardFunction = Callable[..., list[float | None]]
LogMetric = Callable[[str, float], None]
MAX_WORKERS = 8


def verifier_reward(
    prompts: Sequence[str | Turns],
    completions: Sequence[str | Turns],
    verifier: Sequence[str],
    spec: Sequence[str | Spec],
    **columns: Any,
) -> list[float | None]:
    """Return each completion's graded reward in [0, 1], or None where its verifier could not judge it.

    Where TRL passes `log_metric`, the step's log also gets `rewards/verifier_reward/` with `within_group_std`
    (population, mean over groups), `zero_std_share`, `mean_abs_advantage` (as TRL scales it), `pass_rate` and
    `unscored_share`, and the mean of each named part of a reward as `component/<verifier>/<name>`.
    """
    scores = score_completions(prompts, completions, verifier, spec)
    _log_scores("verifier_reward", _make_keys(prompts, verifier, spec), verifier, scores, columns)
    if log_extra := columns.get("log_extra"):
        log_extra("verdict", [score.verdict for score in scores])
        log_extra("reason", [score.reason for score in scores])
    return [score.reward for score in scores]


def pass_reward(
    prompts: Sequence[str | Turns],
    completions: Sequence[str | Turns],
    verifier: Sequence[str],
    spec: Sequence[str | Spec],
    **columns: Any,
) -> list[float | None]:
    """Return 1 for each completion that passed and 0 for each that did not, None as in `verifier_reward`.

    It logs what `verifier_reward` logs, under its own name.
    """
    scores = [_make_pass(score) for score in score_completions(prompts, completions, verifier, spec)]
    _log_scores("pass_reward", _make_keys(prompts, verifier, spec), verifier, scores, columns)
    return [score.reward for score in scores]


def judge_answers(reward: RewardFunction, tags: ThinkTags | None) -> RewardFunction:
    """Return a reward function that is given the answers alone, without the thoughts before them.

    Where `tags` is None, the policy does not think, and it is the function itself.
    """
    if tags is None:
        return reward

    @wraps(reward)
    def judge(completions: Sequence[str | Turns], **columns: Any) -> list[float | None]:
        answers = [split_thought(read_last_turn(completion), tags)[1] for completion in completions]
        return reward(completions=answers, **columns)

    return judge


def score_completions(
    prompts: Sequence[str | Turns],
    completions: Sequence[str | Turns],
    verifier: Sequence[str],
    spec: Sequence[str | Spec],
) -> list[Score]:
    """Judge each completion by its row's verifier, in worker processes."""
    jobs = [
        ScoreJob(
            verifier=name,
            completion=read_last_turn(completion),
            prompt=read_last_turn(prompt),
            spec_json=_write_json(value),
        )
        for prompt, completion, name, value in zip(prompts, completions, verifier, spec, strict=True)
    ]
    return open_scoring_pool().submit(jobs).result()


@cache
def open_scoring_pool() -> ScoringPool:
    """Return this process's pool, started at the first call and closed when Python ends."""
    pool = ScoringPool(workers=max(1, min(MAX_WORKERS, (os.cpu_count() or 1) // 2)))
    pool.__enter__()
    atexit.register(pool.__exit__, None, None, None)
    return pool


def measure_groups(keys: Sequence[str], scores: Sequence[Score]) -> Iterator[tuple[str, float]]:
    """Yield how rewards vary within groups of equal `keys`, the pass rate, and the share without a reward.

    Unscored completions count only in `unscored_share`. TRL's own `reward_std` is the std of the whole
    batch: it stays high when prompts differ while every group is unanimous, so it cannot stand in for this.
    """
    groups: dict[str, list[float]] = {}
    for key, score in zip(keys, scores, strict=True):
        if score.reward is not None:
            groups.setdefault(key, []).append(score.reward)
    stds = [0.0 if min(rewards) == max(rewards) else float(np.std(rewards)) for rewards in groups.values()]
    if stds:
        yield "within_group_std", float(np.mean(stds))
        yield "zero_std_share", stds.count(0.0) / len(stds)
        yield "mean_abs_advantage", float(np.mean([measure_advantage(rewards) for rewards in groups.values()]))
        yield "pass_rate", float(np.mean([bool(score.passed) for score in scores if score.reward is not None]))
    yield "unscored_share", sum(score.reward is None for score in scores) / len(scores)


def measure_advantage(rewards: Sequence[float]) -> float:
    """Return the mean of |reward - mean| / (std + 1e-4) over a group, std the sample one: how TRL scales advantages.

    >>> round(measure_advantage([1.0, 0.0, 1.0, 0.0]), 3), measure_advantage([1.0, 1.0])
    (0.866, 0.0)
    """
    if min(rewards) == max(rewards):
        return 0.0
    return float(np.abs(np.asarray(rewards) - np.mean(rewards)).mean() / (np.std(rewards, ddof=1) + 1e-4))


def measure_components(verifier: Sequence[str], scores: Sequence[Score]) -> Iterator[tuple[str, float]]:
    """Yield the mean of each named part of a reward over the completions that have it."""
    parts: dict[str, list[float]] = {}
    for name, score in zip(verifier, scores, strict=True):
        for part, value in score.components.items():
            parts.setdefault(f"component/{name}/{part}", []).append(value)
    for part, values in sorted(parts.items()):
        yield part, float(np.mean(values))


def read_last_turn(text: str | Turns) -> str:
    """Return plain text as it is, and the text of the last turn of a chat.

    >>> read_last_turn([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}])
    'hello'
    """
    if isinstance(text, str):
        return text
    content = text[-1].get("content") if text else ""
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or ())


def _log_scores(
    function: str, keys: Sequence[str], verifier: Sequence[str], scores: Sequence[Score], columns: Mapping[str, Any]
) -> None:
    log_metric: LogMetric | None = columns.get("log_metric")
    if log_metric is None:
        return
    for name, value in measure_groups(keys, scores):
        log_metric(f"rewards/{function}/{name}", value)
    for name, value in measure_components(verifier, scores):
        log_metric(name, value)


def _write_json(spec: str | Spec) -> str:
    if isinstance(spec, str):
        return spec
    return json.dumps({key: value for key, value in spec.items() if value is not None})  # Arrow fills absent keys


def _make_pass(score: Score) -> Score:
    reward = None if score.reward is None or score.passed is None else float(score.passed)
    return Score(reward, score.passed, score.components, score.verdict, score.reason)


def _make_keys(prompts: Sequence[str | Turns], verifier: Sequence[str], spec: Sequence[str | Spec]) -> list[str]:
    return [canonical_json(parts) for parts in zip(prompts, verifier, spec, strict=True)]
