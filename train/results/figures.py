"""The figures of an evaluation by part, family, form and difficulty, and what changed between two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

from learnable.train.results.comparison import MIN_PROMPTS, Pair, describe_direction, judge_direction, list_measures
from learnable.train.results.evaluation import PromptResult
from learnable.train.results.statistics import CONFIDENCE, Interval, estimate_change, estimate_mean

EVERYTHING = "all"


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over the prompts of one group, or of what changed prompt by prompt, with intervals.

    There is none, but NaN, for a group of fewer problems than `MIN_PROMPTS`, where resampling says nothing.

    `by` says what the group is of (`all`, `part`, `family`, `form`, `difficulty`) and `name` which one it is.
    `prompts` counts its prompts, `unscored` their completions without a reward, which are left out.
    """

    by: str
    name: str
    prompts: int
    unscored: int
    mean_reward: Interval
    pass_at_1: Interval
    pass_at_k: Interval
    greedy_reward: Interval


def summarise(
    results: Sequence[PromptResult], *, k: int, confidence: float = CONFIDENCE, seed: int = 0
) -> tuple[Figures, ...]:
    """Return the figures of all prompts, and of each part, family, form and difficulty where there are several."""
    measures = list_measures(k)
    rows = []
    for by, name, chosen in list_groups(results):
        members = [results[place] for place in chosen]
        problems = [result.problem_id or result.prompt_id for result in members]
        found = {
            label: _judge_size(
                estimate_mean(list(map(measure, members)), problems=problems, confidence=confidence, seed=seed),
                problems,
            )
            for label, measure in measures.items()
        }
        rows.append(Figures(by, name, len(members), sum(result.unscored for result in members), **found))
    return tuple(rows)


def summarise_changes(
    pairs: Sequence[Pair], *, k: int, confidence: float = CONFIDENCE, seed: int = 0
) -> tuple[Figures, ...]:
    """Return what changed from the first to the second of each pair, in the groups of `summarise`."""
    measures = list_measures(k)
    rows = []
    for by, name, chosen in list_groups([early for early, _ in pairs]):
        before, after = zip(*(pairs[place] for place in chosen), strict=True)
        problems = [result.problem_id or result.prompt_id for result in before]
        found = {
            label: _judge_size(
                estimate_change(
                    list(map(measure, before)),
                    list(map(measure, after)),
                    problems=problems,
                    confidence=confidence,
                    seed=seed,
                ),
                problems,
            )
            for label, measure in measures.items()
        }
        unscored = sum(result.unscored for result in (*before, *after))
        rows.append(Figures(by, name, len(before), unscored, **found))
    return tuple(rows)


def list_groups(results: Sequence[PromptResult]) -> Iterator[tuple[str, str, list[int]]]:
    """Yield each group with the places of its prompts: all of them, then what tells some of them from others.

    Difficulties are counted to the nearest whole number; prompts without one are in no group of theirs.
    """
    yield EVERYTHING, "", list(range(len(results)))
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


def _judge_size(found: Interval, problems: Sequence[str]) -> Interval:
    """Return an estimate without an interval where there are too few problems to resample."""
    return found if len(set(problems)) >= MIN_PROMPTS else Interval(found.value, nan, nan)


def _write(change: Interval, confidence: float) -> str:
    if isnan(change.low):
        return f"{change.value:+.3f}"
    return f"{change.value:+.3f}, {confidence:.0%} interval {change.low:+.3f} to {change.high:+.3f}"
