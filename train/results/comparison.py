"""Two evaluations of the same held-out prompts, compared prompt by prompt: figures, intervals, and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Literal

from learnable.train.results.evaluation import Evaluation, PromptResult
from learnable.train.results.statistics import Interval, estimate_change, estimate_mean, estimate_pass_at_k

Direction = Literal["rose", "fell", "no clear change", "too few prompts to tell"]
Pair = tuple[PromptResult, PromptResult]
Measure = Callable[[PromptResult], float]
MIN_PROMPTS = 8  # with fewer, resampling prompts says nothing


@dataclass(frozen=True, slots=True)
class MeasureChange:
    """One measure before and after, and its change prompt by prompt."""

    before: Interval
    after: Interval
    change: Interval

    @property
    def in_words(self) -> str:
        """The comparison in words.

        >>> MeasureChange(Interval(0.4, 0.3, 0.5), Interval(0.5, 0.4, 0.6), Interval(0.1, 0.05, 0.15)).in_words
        '0.400 -> 0.500 (+0.100, 95% interval +0.050 to +0.150)'
        """
        return f"{self.before.value:.3f} -> {self.after.value:.3f} ({self.change.as_change})"


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Before against after on the held-out prompts. `mean_reward` and the rates are at the training temperature."""

    prompts: int
    group_size: int
    k: int
    unscored_before: int
    unscored_after: int
    mean_reward: MeasureChange
    pass_at_1: MeasureChange
    pass_at_k: MeasureChange
    greedy_reward: MeasureChange
    direction: Direction
    greedy_fell: bool

    @property
    def verdict(self) -> str:
        """One sentence that claims no more than the intervals allow."""
        mean, greedy = self.mean_reward, self.greedy_reward
        sentence = f"held-out reward {describe_direction(self.direction)}: {mean.in_words}, {self.prompts} prompts"
        if self.direction == "rose" and self.greedy_fell:
            sentence += (
                f". But greedy reward fell ({greedy.in_words}): sampling became surer without its best answer "
                "becoming better"
            )
        elif self.direction == "rose" and greedy.change.value < 0:
            sentence += f". Greedy reward slipped within noise ({greedy.in_words})"
        return sentence


def compare(before: Evaluation, after: Evaluation, *, k: int, group_size: int, seed: int = 0) -> HeldOut:
    """Compare two evaluations prompt by prompt. `seed` is that of the resampling."""
    pairs = pair_prompts(before, after)
    changes = {name: compare_measure(pairs, measure, seed) for name, measure in list_measures(k).items()}
    mean, greedy = changes["mean_reward"], changes["greedy_reward"]
    return HeldOut(
        prompts=len(pairs),
        group_size=group_size,
        k=k,
        unscored_before=sum(result.unscored for result in before.prompts),
        unscored_after=sum(result.unscored for result in after.prompts),
        **changes,
        direction=judge_direction(mean.change, len(pairs)),
        greedy_fell=greedy.change.is_below_zero,
    )


def compare_held_out_parts(
    before: Evaluation, after: Evaluation, *, k: int, group_size: int, seed: int = 0
) -> dict[str, HeldOut]:
    """Compare the kept and the rejected held-out prompts apart; nothing where all are of one part."""
    parts = sorted({result.part for result in before.prompts})
    if len(parts) < 2:
        return {}
    return {
        part: compare(_only(before, part), _only(after, part), k=k, group_size=group_size, seed=seed) for part in parts
    }


def compare_families(before: Evaluation, after: Evaluation, seed: int = 0) -> dict[str, MeasureChange]:
    """Compare mean reward family by family."""
    families: dict[str, list[Pair]] = {}
    for pair in pair_prompts(before, after):
        families.setdefault(pair[0].family, []).append(pair)
    return {family: compare_measure(pairs, read_mean_reward, seed) for family, pairs in sorted(families.items())}


def pair_prompts(before: Evaluation, after: Evaluation) -> list[Pair]:
    """Return the prompts that have a reward on both sides."""
    late = after.by_id
    pairs = [(early, late[early.prompt_id]) for early in before.prompts if early.prompt_id in late]
    return [(early, later) for early, later in pairs if early.n and later.n]


def compare_measure(pairs: Sequence[Pair], measure: Callable[[PromptResult], float], seed: int) -> MeasureChange:
    """Estimate `measure` before, after, and its paired change."""
    before, after = [measure(early) for early, _ in pairs], [measure(late) for _, late in pairs]
    return MeasureChange(
        before=estimate_mean(before, seed=seed),
        after=estimate_mean(after, seed=seed),
        change=estimate_change(before, after, seed=seed),
    )


def judge_direction(change: Interval, prompts: int) -> Direction:
    """Say which way a change over so many prompts went, if its interval allows it."""
    if prompts < MIN_PROMPTS:
        return "too few prompts to tell"
    if change.is_above_zero:
        return "rose"
    return "fell" if change.is_below_zero else "no clear change"


def describe_direction(direction: Direction) -> str:
    """Return a direction as the verb of a sentence."""
    return {
        "no clear change": "shows no clear change",
        "too few prompts to tell": "cannot be judged on so few prompts",
    }.get(direction, direction)


def read_mean_reward(result: PromptResult) -> float:
    """Return the mean reward of a prompt's completions, NaN where none has a reward."""
    return nan if result.mean is None else result.mean


def list_measures(k: int) -> Mapping[str, Measure]:
    """Return what is measured of a prompt, by name; NaN where it cannot be."""
    return {
        "mean_reward": read_mean_reward,
        "pass_at_1": lambda result: estimate_pass_at_k(result.n, result.passes, 1),
        "pass_at_k": lambda result: estimate_pass_at_k(result.n, result.passes, k),
        "greedy_reward": lambda result: nan if result.greedy is None else result.greedy,
    }


def _only(evaluation: Evaluation, part: str) -> Evaluation:
    return replace(evaluation, prompts=tuple(result for result in evaluation.prompts if result.part == part))
