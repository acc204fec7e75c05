"""What training did to held-out reward: figures, intervals and one honest sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from learnable.data.storage.places import write_whole
from learnable.train.monitoring.forecast_check import Foresight
from learnable.train.results.evaluation import Evaluation, PromptResult
from learnable.train.results.statistics import Interval, mean_interval, paired_difference, pass_at_k

if TYPE_CHECKING:
    from learnable.train.results.comparison import PartsComparison

Direction = Literal["rose", "fell", "no clear change", "too few prompts to tell"]
CONFIDENCE = 0.95
FEWEST_PROMPTS = 8  # below, resampling prompts says nothing
MISSING = float("nan")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure before and after, and its change prompt by prompt."""

    before: Interval
    after: Interval
    change: Interval


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Before against after on the held-out prompts. `mean_reward` and the rates are at the training temperature."""

    prompts: int
    group_size: int
    k: int
    unscored_before: int
    unscored_after: int
    mean_reward: Comparison
    pass_at_1: Comparison
    pass_at_k: Comparison
    greedy_reward: Comparison
    direction: Direction
    greedy_fell: bool

    @property
    def verdict(self) -> str:
        """One sentence that claims no more than the intervals allow."""
        mean, greedy = self.mean_reward, self.greedy_reward
        sentence = f"held-out reward {describe(self.direction)}: {describe_change(mean)}, {self.prompts} prompts"
        if self.direction == "rose" and self.greedy_fell:
            sentence += (
                f". But greedy reward fell ({describe_change(greedy)}): sampling became surer without its best answer "
                "becoming better"
            )
        elif self.direction == "rose" and greedy.change.value < 0:
            sentence += f". Greedy reward slipped within noise ({describe_change(greedy)})"
        return sentence


@dataclass(frozen=True, slots=True)
class TrainReport:
    """All of a training run, as `report.json` holds it. `held_out` is None without evaluation.

    `comparisons` are with earlier runs on other parts of the same set, `not_compared` says why other ones were left out.
    """

    curated: str
    policy: str
    policy_id: str
    trained_policy: str
    settings: Mapping[str, Any]
    training: Mapping[str, Any]
    held_out: HeldOut | None
    families: Mapping[str, Comparison]
    verdict: str
    warnings: tuple[str, ...]
    seconds: Mapping[str, float]
    metrics: str
    curve: str
    foresight: Foresight | None = None
    comparisons: tuple[PartsComparison, ...] = ()
    not_compared: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data; what could not be estimated is null."""
        plain: dict[str, Any] = _without_nan(asdict(self))
        if self.foresight:
            plain["foresight"]["sentence"] = self.foresight.sentence
        return plain

    def write(self, path: Path) -> None:
        """Write `report.json`, whole or not at all."""
        text = json.dumps(self.as_json(), indent=2) + "\n"
        write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))


def compare(before: Evaluation, after: Evaluation, *, k: int, group_size: int, seed: int = 0) -> HeldOut:
    """Compare two evaluations prompt by prompt."""
    pairs = paired_prompts(before, after)

    def over(measure: Callable[[PromptResult], float]) -> Comparison:
        return compare_measure(pairs, measure, seed)

    mean, greedy = over(mean_reward), over(greedy_reward)
    return HeldOut(
        prompts=len(pairs),
        group_size=group_size,
        k=k,
        unscored_before=sum(result.unscored for result in before.prompts),
        unscored_after=sum(result.unscored for result in after.prompts),
        mean_reward=mean,
        pass_at_1=over(lambda result: pass_at_k(result.n, result.passes, 1)),
        pass_at_k=over(lambda result: pass_at_k(result.n, result.passes, k)),
        greedy_reward=greedy,
        direction=direction_of(mean.change, len(pairs)),
        greedy_fell=greedy.change.below_zero,
    )


def compare_families(before: Evaluation, after: Evaluation, seed: int = 0) -> dict[str, Comparison]:
    """Compare mean reward family by family."""
    families: dict[str, list[tuple[PromptResult, PromptResult]]] = {}
    for pair in paired_prompts(before, after):
        families.setdefault(pair[0].family, []).append(pair)
    return {family: compare_measure(pairs, mean_reward, seed) for family, pairs in sorted(families.items())}


def paired_prompts(before: Evaluation, after: Evaluation) -> list[tuple[PromptResult, PromptResult]]:
    """Return the prompts that have a reward on both sides."""
    late = after.by_id
    pairs = [(early, late[early.prompt_id]) for early in before.prompts if early.prompt_id in late]
    return [(early, later) for early, later in pairs if early.n and later.n]


def compare_measure(
    pairs: Sequence[tuple[PromptResult, PromptResult]], measure: Callable[[PromptResult], float], seed: int
) -> Comparison:
    """Estimate `measure` before, after, and its paired change."""
    before, after = [measure(early) for early, _ in pairs], [measure(late) for _, late in pairs]
    return Comparison(
        before=mean_interval(before, confidence=CONFIDENCE, seed=seed),
        after=mean_interval(after, confidence=CONFIDENCE, seed=seed),
        change=paired_difference(before, after, confidence=CONFIDENCE, seed=seed),
    )


def direction_of(change: Interval, prompts: int) -> Direction:
    """Say which way a change went, if its interval allows saying so."""
    if prompts < FEWEST_PROMPTS:
        return "too few prompts to tell"
    if change.above_zero:
        return "rose"
    return "fell" if change.below_zero else "no clear change"


def mean_reward(result: PromptResult) -> float:
    """Mean reward of a prompt's draws."""
    return MISSING if result.mean is None else result.mean


def greedy_reward(result: PromptResult) -> float:
    """Reward of a prompt's greedy completion."""
    return MISSING if result.greedy is None else result.greedy


def describe(direction: Direction) -> str:
    """Return a direction as the verb of a sentence."""
    return {
        "no clear change": "shows no clear change",
        "too few prompts to tell": "cannot be judged on so few prompts",
    }.get(direction, direction)


def describe_change(comparison: Comparison) -> str:
    """Return a comparison in words.

    >>> describe_change(Comparison(Interval(0.4, 0.3, 0.5), Interval(0.5, 0.4, 0.6), Interval(0.1, 0.05, 0.15)))
    '0.400 -> 0.500 (+0.100, 95% interval +0.050 to +0.150)'
    """
    change = comparison.change
    return (
        f"{comparison.before.value:.3f} -> {comparison.after.value:.3f} "
        f"({change.value:+.3f}, {CONFIDENCE:.0%} interval {change.low:+.3f} to {change.high:+.3f})"
    )


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and isnan(value) else value
