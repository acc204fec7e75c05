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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, wraps
from typing import Any

from learnable.data.dialogue.thinking import ThinkTags, find_tags, split_thought
from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject, Score, Spec, canonical_json, is_own_verifier
from learnable.train.measures import measure_components, measure_gain, measure_groups, measure_memory, measure_texts
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool
from learnable.verifiers.registry import check_trusted

Turns = Sequence[JsonObject]
RewardFunction = Callable[..., list[float | None]]
LogMetric = Callable[[str, float], None]
CERTIFIED_REWARD, CERTIFIED_PASS_RATE = "certified_reward", "certified_pass_rate"  # columns: what is promised
# The column of rows that are looked at during training and are not trained on, and what it says of them: kept prompts
# are held out, and mastered ones come up for review.
HELD_OUT, REVIEW = "held_out", "review"
STORED_SCORE = "stored_score"  # the column of stored completions that are trained on: the score that the store has


def verifier_reward(
    prompts: Sequence[str | Turns],
    completions: Sequence[str | Turns],
    verifier: Sequence[str],
    spec: Sequence[str | Spec],
    **columns: Any,
) -> list[float | None]:
    """Return each completion's graded reward in [0, 1], or None where its verifier could not judge it.

    Where TRL passes `log_metric`, the step's log also gets `rewards/verifier_reward/` with `within_group_std`
    (population, mean over groups), `between_group_std` (of their means), `zero_std_share`, `mean_abs_advantage` (as TRL
    scales it), `pass_rate`, `unscored_share`, `reward_gain` and `lost_share` (`measure_gain`, where a column promises
    rewards), `repeated_ngrams` and `distinct_ngrams` (`measure_texts`, of tokens where TRL passes them and else of
    words), and the mean of each named part of a reward as `component/<verifier>/<name>`.
    """
    scores = _find_scores(prompts, completions, verifier, spec, columns)
    keys = _make_keys(prompts, verifier, spec)
    _log_scores("verifier_reward", keys, verifier, scores, columns)
    _log_gain("verifier_reward", keys, scores, columns)
    _log_texts("verifier_reward", keys, completions, columns)
    _log_verdicts(scores, columns)
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
    judged = _find_scores(prompts, completions, verifier, spec, columns)
    scores = [_make_pass(score) for score in judged]
    keys = _make_keys(prompts, verifier, spec)
    _log_scores("pass_reward", keys, verifier, scores, columns)
    _log_gain("pass_reward", keys, judged, columns)
    _log_texts("pass_reward", keys, completions, columns)
    _log_verdicts(scores, columns)
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


def map_rewards(reward: RewardFunction, low: float, high: float) -> RewardFunction:
    """Return a reward function whose rewards go from `low` to `high`, mapped linearly from 0 and 1; None stays None.

    TRL divides advantages by the std of a group, so this changes no step unless that is switched off
    (`scale_rewards="none"`) or other reward functions are added.

    >>> map_rewards(lambda **_: [0.0, 0.75, None], -1.0, 1.0)(completions=())
    [-1.0, 0.5, None]
    """

    @wraps(reward)
    def mapped(**columns: Any) -> list[float | None]:
        return [None if value is None else low + (high - low) * value for value in reward(**columns)]

    return mapped


def remember_mastered(reward: RewardFunction) -> RewardFunction:
    """Return a reward function that also logs which held-out prompts are mastered, and which were and are forgotten.

    Those are the rows with a column `HELD_OUT`, whose value is the first part of the names: `held_out/mastered_share`
    and `held_out/forgotten_share`, as `measure_memory` has them, and the same of `REVIEW`, whose prompts the policy had
    mastered before the run. It remembers from look to look, and begins anew where a run is resumed.
    """
    mastered: set[str] = set()

    @wraps(reward)
    def remembering(**columns: Any) -> list[float | None]:
        log_metric, log_extra = columns.get("log_metric"), columns.get("log_extra")
        if HELD_OUT not in columns or log_metric is None:
            return reward(**columns)
        passed: list[bool | None] = []

        def note(column: str, values: Sequence[Any]) -> None:
            if column == "passed":
                passed.extend(values)
            if log_extra:
                log_extra(column, values)

        rewards = reward(**{**columns, "log_extra": note})
        keys = _make_keys(columns["prompts"], columns["verifier"], columns["spec"])
        kind = columns[HELD_OUT][0]
        if kind == REVIEW:
            mastered.update(keys)
        for name, value in measure_memory(keys, passed, mastered):
            log_metric(f"{kind}/{name}", value)
        return rewards

    return remembering


def score_completions(
    prompts: Sequence[str | Turns],
    completions: Sequence[str | Turns],
    verifier: Sequence[str],
    spec: Sequence[str | Spec],
    completion_ids: Sequence[Sequence[int]] | None = None,
) -> list[Score]:
    """Judge each completion by its row's verifier, in worker processes. Of its tokens only their number is told.

    Raises `UntrustedVerifierError` where a row names code that no person has named.
    """
    check_trusted(set(verifier))
    counts: Sequence[int | None] = (
        [None] * len(prompts) if completion_ids is None else [len(ids) for ids in completion_ids]
    )
    jobs = [
        ScoreJob(
            verifier=name,
            completion=read_last_turn(completion),
            prompt=read_last_turn(prompt),
            spec_json=_write_json(value),
            messages_json=_write_turns(prompt, name),
            num_tokens=count,
        )
        for prompt, completion, name, value, count in zip(prompts, completions, verifier, spec, counts, strict=True)
    ]
    return open_scoring_pool().submit(jobs).result()


def score_record(record: str | JsonObject, completion: str | Turns) -> Score:
    """Judge one completion by the record that `learnable export` writes beside a prompt.

    A record is an object, or its JSON: `prompt`, `verifier`, `spec`, and `think_tags` where a thought stands before the
    answer. Raises `LearnableError` for what is none, and `UntrustedVerifierError` where it names code that no
    person has named.

    >>> score_record('{"prompt": "1 + 1 = ", "verifier": "number", "spec": {"answer": 2}}', "It is 2.").reward
    1.0
    """
    found = _read_record(record)
    answer = read_last_turn(completion)
    if tags := find_tags(found.get("think_tags") or "none", None):
        answer = split_thought(answer, tags)[1]
    return score_completions([found["prompt"]], [answer], [found["verifier"]], [found["spec"]])[0]


def _read_record(record: str | JsonObject) -> JsonObject:
    try:
        found = json.loads(record) if isinstance(record, str) else dict(record)
        missing = [name for name in ("prompt", "verifier", "spec") if name not in found]
    except (ValueError, TypeError) as error:
        raise LearnableError(f"{str(record)[:60]!r} is no record of an exported prompt: {error}") from error
    if missing:
        raise LearnableError(f"{str(record)[:60]!r} is no record of an exported prompt: it has no {missing[0]!r}")
    return found


def _find_scores(
    prompts: Sequence[str | Turns],
    completions: Sequence[str | Turns],
    verifier: Sequence[str],
    spec: Sequence[str | Spec],
    columns: Mapping[str, Any],
) -> Sequence[Score]:
    """Return the scores that stored completions have already, and else judge them."""
    stored: Sequence[Score] | None = columns.get(STORED_SCORE)
    return stored or score_completions(prompts, completions, verifier, spec, columns.get("completion_ids"))


@cache
def open_scoring_pool() -> ScoringPool:
    """Return this process's pool, started at the first call and closed when Python ends."""
    pool = ScoringPool(workers=max(1, min(8, (os.cpu_count() or 1) // 2)))
    pool.__enter__()
    atexit.register(pool.__exit__, None, None, None)
    return pool


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
    for name, value in measure_groups(*_gather(keys, scores)):
        log_metric(f"rewards/{function}/{name}", value)
    for name, value in measure_components(verifier, scores):
        log_metric(name, value)


def _log_gain(function: str, keys: Sequence[str], scores: Sequence[Score], columns: Mapping[str, Any]) -> None:
    """Log the gain over what certificates promise, of rewards or of passes as they do, whatever is trained."""
    log_metric: LogMetric | None = columns.get("log_metric")
    promised = columns.get(CERTIFIED_REWARD, columns.get(CERTIFIED_PASS_RATE))
    if log_metric is None or promised is None:
        return
    earned = [(score if CERTIFIED_REWARD in columns else _make_pass(score)).reward for score in scores]
    for name, value in measure_gain(*_gather(keys, earned, promised)):
        log_metric(f"rewards/{function}/{name}", value)


def _gather(*columns: Sequence[Any]) -> list[list[Any]]:
    """Return columns of a step in all training processes, in their order: TRL may split a group over two.

    Each process then logs the same figures, and TRL's mean over processes changes none.
    """
    from torch import distributed

    dist: Any = distributed  # its functions have no types
    own = [list(column) for column in columns]
    if not (dist.is_available() and dist.is_initialized()):
        return own
    parts: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(parts, own)
    return [[value for part in parts for value in part[place]] for place in range(len(own))]


def _log_texts(
    function: str, keys: Sequence[str], completions: Sequence[str | Turns], columns: Mapping[str, Any]
) -> None:
    log_metric: LogMetric | None = columns.get("log_metric")
    if log_metric is None:
        return
    texts = columns.get("completion_ids") or [read_last_turn(completion).split() for completion in completions]
    for name, value in measure_texts(keys, texts):
        log_metric(f"rewards/{function}/{name}", value)


def _log_verdicts(scores: Sequence[Score], columns: Mapping[str, Any]) -> None:
    """Add verdict, reason and, for the live sampler, whether it passed to TRL's table of completions."""
    if log_extra := columns.get("log_extra"):
        log_extra("verdict", [score.verdict for score in scores])
        log_extra("reason", [score.reason for score in scores])
        log_extra("passed", [None if score.reward is None else score.passed for score in scores])


def _write_json(spec: str | Spec) -> str:
    if isinstance(spec, str):
        return spec
    return json.dumps({key: value for key, value in spec.items() if value is not None})  # Arrow fills absent keys


def _write_turns(prompt: str | Turns, verifier: str) -> str:
    """Return a chat as `pool.jobs.write_messages` does."""
    if isinstance(prompt, str) or not is_own_verifier(verifier):
        return ""
    return canonical_json([{"role": turn["role"], "content": turn.get("content") or ""} for turn in prompt])


def _make_pass(score: Score) -> Score:
    reward = None if score.reward is None or score.passed is None else float(score.passed)
    return replace(score, reward=reward)


def _make_keys(prompts: Sequence[str | Turns], verifier: Sequence[str], spec: Sequence[str | Spec]) -> list[str]:
    return [canonical_json(parts) for parts in zip(prompts, verifier, spec, strict=True)]
