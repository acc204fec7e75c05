"""The figures of an evaluation by part, family, form and difficulty, and what changed between two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any

from learnable.train.results.comparison import (
    MIN_PROMPTS,
    Measure,
    Pair,
    describe_direction,
    judge_direction,
    list_measures,
)
from learnable.train.results.evaluation import PromptResult
from learnable.train.results.statistics import CONFIDENCE, Interval, estimate_change, estimate_mean


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over the prompts of one group, or of what changed prompt by prompt, with intervals.

    There is none, but NaN, for a group of fewer problems than `MIN_PROMPTS`, where resampling says nothing.

    `by` says what the group is of (`all`, `part`, `family`, `form`, `difficulty`) and `name` which one it is.
    `prompts` counts its prompts, `unscored` their completions without a reward, which are left out. `pass_at` has each
    k that was asked for, and `pass_at_k` is that of the largest.
    """

    by: str
    name: str
    prompts: int
    unscored: int
    mean_reward: Interval
    pass_at_1: Interval
    pass_at_k: Interval
    greedy_reward: Interval
    pass_at: Mapping[int, Interval] = field(default_factory=dict)


def summarise(
    results: Sequence[PromptResult], *, ks: Sequence[int], confidence: float = CONFIDENCE, seed: int = 0
) -> tuple[Figures, ...]:
    """Return the figures of all prompts, and of each part, family, form and difficulty where there are several."""
    rows = []
    for by, name, chosen in list_groups(results):
        members = [results[place] for place in chosen]
        problems = [result.problem_id or result.prompt_id for result in members]

        def estimate(
            measure: Measure, members: Sequence[PromptResult] = members, problems: list[str] = problems
        ) -> Interval:
            values = list(map(measure, members))
            return estimate_mean(values, problems=problems, confidence=confidence, seed=seed)

        unscored = sum(result.unscored for result in members)
        rows.append(Figures(by, name, len(members), unscored, **_measure(ks, estimate, problems)))
    return tuple(rows)


def summarise_changes(
    pairs: Sequence[Pair], *, ks: Sequence[int], confidence: float = CONFIDENCE, seed: int = 0
) -> tuple[Figures, ...]:
    """Return what changed from the first to the second of each pair, in the groups of `summarise`."""
    rows = []
    for by, name, chosen in list_groups([early for early, _ in pairs]):
        members = [pairs[place] for place in chosen]
        problems = [early.problem_id or early.prompt_id for early, _ in members]

        def estimate(measure: Measure, members: Sequence[Pair] = members, problems: list[str] = problems) -> Interval:
            before, after = ([measure(pair[side]) for pair in members] for side in (0, 1))
            return estimate_change(before, after, problems=problems, confidence=confidence, seed=seed)

        unscored = sum(early.unscored + late.unscored for early, late in members)
        rows.append(Figures(by, name, len(members), unscored, **_measure(ks, estimate, problems)))
    return tuple(rows)


def _measure(ks: Sequence[int], estimate: Callable[[Measure], Interval], problems: Sequence[str]) -> dict[str, Any]:
    """Return the figures of one group by their names; without intervals where it has too few problems to resample."""
    by_k = {k: list_measures(k) for k in sorted(ks)}
    estimates = {label: _judge_size(estimate(measure), problems) for label, measure in by_k[max(ks)].items()}
    pass_at = {k: _judge_size(estimate(measures["pass_at_k"]), problems) for k, measures in by_k.items()}
    return {**estimates, "pass_at": pass_at}


def list_groups(results: Sequence[PromptResult]) -> Iterator[tuple[str, str, list[int]]]:
    """Yield each group with the places of its prompts: all of them, then what tells some of them from others.

    Difficulties are counted to the nearest whole number; prompts without one are in no group of theirs.
    """
    yield "all", "", list(range(len(results)))
    names: Mapping[str, Callable[[PromptResult], str | None]] = {
        "part": lambda result: result.part,
        "family": lambda result: result.family,
        "form": lambda result: result.form,
        "difficulty": lambda result: None if result.difficulty is None else str(round(result.difficulty)),
    }
    for by, read in names.items():
        groups: dict[str, list[int]] = {}
        for place, result in enumerate(results):
            if (name := read(result)) is not None:
                groups.setdefault(name, []).append(place)
        if len(groups) > 1:
            order: Callable[[str], Any] = float if by == "difficulty" else str
            for name in sorted(groups, key=order):
                yield by, name, groups[name]


def write_verdict(changes: Figures, confidence: float = CONFIDENCE) -> str:
    """Return one sentence on a change that claims no more than its interval allows; greedy reward is told beside it."""
    mean, greedy = changes.mean_reward, changes.greedy_reward
    verb = describe_direction(judge_direction(mean, changes.prompts))
    sentence = f"held-out reward {verb}: {_write(mean, confidence)}, {changes.prompts} prompts, paired"
    return sentence if isnan(greedy.value) else f"{sentence}; greedy reward {_write(greedy, confidence)}"


def _judge_size(interval: Interval, problems: Sequence[str]) -> Interval:
    """Return an estimate without an interval where there are too few problems to resample."""
    return interval if len(set(problems)) >= MIN_PROMPTS else Interval(interval.value, nan, nan)


def _write(change: Interval, confidence: float) -> str:
    if isnan(change.low):
        return f"{change.value:+.3f}"
    return f"{change.value:+.3f}, {confidence:.0%} interval {change.low:+.3f} to {change.high:+.3f}"
