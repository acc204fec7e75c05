"""What the runs say: tokens and seconds to the pool arm's final reward, changes with intervals, stable rates. Pure.

Tokens to a reward are read off the mean curve over seeds, made monotone by isotonic regression, on straight lines
between looks. The target is the last value of the pool arm's own such curve, and the pool arm's tokens to it are read
by the same rule. The interval of a ratio is Student's t on its logarithm over the jackknife's pseudo-values, a seed
left out at a time (Tukey 1958; Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, 11.5): seeds are few,
and curves of one seed cross a target by chance. Changes of held-out figures are paired with the policy before training;
their intervals are Student's t over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, log, nan, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.lift.arms import BASELINE
from benchmarks.lift.runs import Look, Paid, Run
from learnable.train.results.statistics import CONFIDENCE, Interval

Axis = Literal["tokens", "completions", "step", "trained", "seconds"]
Series = NDArray[np.float64]
NOTHING = Interval(nan, nan, nan)
FIGURES = ("reward", "kept", "rejected", "greedy", "pass_at_8")
ROUNDING = 1e-9
# The monitor's alarm that says something of the prompts and not of the rate, though it is severe.
NOT_OF_THE_RATE = {"all_alike"}


@dataclass(frozen=True, slots=True)
class ArmResult:
    """What the runs of an arm came to, means over seeds.

    Args:
        arm: its name.
        rate: its learning rate.
        seeds: those that are there; ratios and the lead are over those that the pool arm has too.
        steps, batch_size, tokens, cpu_seconds: of a run.
        tokens_ratio: tokens to the pool arm's final reward over the pool arm's; infinite where it was never reached.
        whole_ratio: the same with the tokens of finding prompts, be it the curation or the arm's own way.
        measured_ratio: that, with the tokens of the evaluations before and after on both sides.
        completions_ratio: as `whole_ratio`, in completions.
        steps_ratio, trained_ratio, seconds_ratio: as `tokens_ratio`, in optimizer steps, in tokens of which there was a
            gradient, in seconds of training.
        kept_ratio: as `tokens_ratio`, where held-out prompts that the curation rejected do not count on either side.
        lead: by how much held-out reward at the end is above the pool arm's, over the seeds that both have.
        ends: held-out figures at the end, by name.
        changes: what they rose by.
        forecast_zero_std, first_zero_std, whole_zero_std: share of groups without spread, as forecast, over the first
            steps, over all.
        stable_rate: the highest rate none of whose runs broke, None where all did.
    """

    arm: str
    rate: float
    seeds: tuple[int, ...]
    steps: int
    batch_size: int
    tokens: float
    cpu_seconds: float
    tokens_ratio: Interval
    whole_ratio: Interval
    measured_ratio: Interval
    completions_ratio: Interval
    steps_ratio: Interval
    trained_ratio: Interval
    seconds_ratio: Interval
    kept_ratio: Interval
    lead: Interval
    ends: Mapping[str, float]
    changes: Mapping[str, Interval]
    forecast_zero_std: float
    first_zero_std: float
    whole_zero_std: float
    stable_rate: float | None


def summarise_arm(runs: Sequence[Run], pool: Sequence[Run], tried: Iterable[Run], curation: Paid) -> ArmResult:
    """Return what the runs of an arm came to, one a seed.

    `pool` are those of the pool arm, `tried` all runs of this arm, at other rates and for tuning too. `curation` is
    what the pool's generated, nothing for an arm that needs none.
    """
    first = runs[0]
    tokens = curation.tokens + _mean([run.paid.tokens for run in runs])
    completions = curation.completions + _mean([run.paid.completions for run in runs])
    measuring = _mean([run.measuring for run in runs])
    ends = {name: [getattr(run.looks[-1], name) for run in runs] for name in FIGURES}
    starts = {name: [getattr(run.looks[0], name) for run in runs] for name in FIGURES}
    return ArmResult(
        arm=first.arm,
        rate=first.rate,
        seeds=tuple(run.seed for run in runs),
        steps=first.steps,
        batch_size=first.batch_size,
        tokens=_mean([run.looks[-1].tokens for run in runs]),
        cpu_seconds=_mean([run.cpu_seconds for run in runs]),
        tokens_ratio=estimate_ratio(runs, pool, "tokens"),
        whole_ratio=estimate_ratio(runs, pool, "tokens", tokens),
        measured_ratio=estimate_ratio(runs, pool, "tokens", tokens, both=measuring),
        completions_ratio=estimate_ratio(runs, pool, "completions", completions),
        steps_ratio=estimate_ratio(runs, pool, "step"),
        trained_ratio=estimate_ratio(runs, pool, "trained"),
        seconds_ratio=estimate_ratio(runs, pool, "seconds"),
        kept_ratio=estimate_ratio(runs, pool, "tokens", figure="kept"),
        lead=estimate_lead(runs, pool),
        ends={name: _mean(values) for name, values in ends.items()},
        changes={
            name: estimate_over_seeds([end - start for end, start in zip(ends[name], starts[name], strict=True)])
            for name in FIGURES
        },
        forecast_zero_std=_mean([run.forecast_zero_std for run in runs if run.forecast_zero_std is not None]),
        first_zero_std=_mean([run.first_zero_std for run in runs]),
        whole_zero_std=_mean([run.whole_zero_std for run in runs]),
        stable_rate=find_stable_rate(tried),
    )


def estimate_ratio(
    runs: Sequence[Run],
    pool: Sequence[Run],
    axis: Axis,
    extra: float = 0.0,
    figure: str = "reward",
    both: float = 0.0,
) -> Interval:
    """Return what an arm takes to the pool arm's final reward over what that takes.

    `extra` is added to the arm's, and `both` to either. `figure` is one of `FIGURES`. Over the seeds that both have.
    The ratio is infinite where the arm never gets there, and NaN where the pool arm never rose. The interval is from 0
    to infinity where that is so without one of the seeds.
    """
    pairs = pair_seeds(runs, pool)
    return jackknife_ratio(
        len(pairs), lambda chosen: _measure_ratio([pairs[place] for place in chosen], axis, extra, figure, both)
    )


def estimate_lead(runs: Sequence[Run], pool: Sequence[Run]) -> Interval:
    """Return by how much an arm's held-out reward at the end is above the pool arm's, over the seeds that both have."""
    return estimate_over_seeds([mine.looks[-1].reward - base.looks[-1].reward for mine, base in pair_seeds(runs, pool)])


def pair_seeds(runs: Sequence[Run], pool: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Return an arm's runs with the pool arm's of the same seeds."""
    base = {run.seed: run for run in pool}
    return [(run, base[run.seed]) for run in runs if run.seed in base]


def jackknife_ratio(count: int, measure: Callable[[Sequence[int]], float]) -> Interval:
    """Return a ratio and its interval; `measure` returns it for the chosen ones of `count` seeds.

    >>> jackknife_ratio(3, lambda chosen: 1.0)
    Interval(value=1.0, low=1.0, high=1.0)
    """
    if not count:
        return NOTHING
    everything = list(range(count))
    whole = measure(everything)
    if count < 2 or not isfinite(whole) or whole <= 0:
        return Interval(whole, nan, nan)
    without = [measure(everything[:place] + everything[place + 1 :]) for place in everything]
    if not all(isfinite(one) and one > 0 for one in without):
        return Interval(whole, 0.0, inf)
    pseudo = [count * log(whole) - (count - 1) * log(one) for one in without]
    width = _student_quantile(count) * float(np.std(pseudo, ddof=1)) / sqrt(count)
    return Interval(whole, whole * exp(-width), whole * exp(width))


def _measure_ratio(pairs: Sequence[tuple[Run, Run]], axis: Axis, extra: float, figure: str, both: float) -> float:
    at, rewards = average_curve([run.looks for run, _ in pairs], axis, figure)
    pool_at, pool_rewards = average_curve([run.looks for _, run in pairs], axis, figure)
    target = float(smooth_upward(pool_rewards)[-1])
    needed = find_reach(pool_at, pool_rewards, target)
    return (find_reach(at, rewards, target) + extra + both) / (needed + both) if needed > 0 else nan


def average_curve(runs: Sequence[Sequence[Look]], axis: Axis, figure: str = "reward") -> tuple[Series, Series]:
    """Return the means over runs of an axis and of a held-out figure, look by look; the last of a short run stands."""
    most = max(map(len, runs))
    runs = [[*looks, *[looks[-1]] * (most - len(looks))] for looks in runs]
    at = np.array([[getattr(look, axis) for look in looks] for looks in runs], dtype=np.float64)
    rewards = np.array([[getattr(look, figure) for look in looks] for looks in runs], dtype=np.float64)
    return at.mean(axis=0), rewards.mean(axis=0)


def smooth_upward(values: Series) -> Series:
    """Return the nearest values that never fall, by least squares.

    >>> smooth_upward(np.array([0.0, 0.5, 0.25, 1.0])).tolist()
    [0.0, 0.375, 0.375, 1.0]
    """
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values).x, dtype=np.float64)


def find_reach(at: Series, values: Series, target: float) -> float:
    """Return where values made monotone first reach a target, on straight lines between them; infinity for never.

    >>> find_reach(np.array([0.0, 10.0, 20.0]), np.array([0.0, 1.0, 1.5]), 0.5)
    5.0
    """
    smooth = smooth_upward(values)
    above = np.flatnonzero(smooth >= target - ROUNDING)
    if not above.size:
        return inf
    place = int(above[0])
    if not place:
        return float(at[0])
    low, high = smooth[place - 1], smooth[place]
    share = min(1.0, (target - low) / (high - low))
    return float(at[place - 1] + share * (at[place] - at[place - 1]))


def estimate_over_seeds(values: Sequence[float]) -> Interval:
    """Return the mean over seeds and Student's interval; ends NaN for one seed.

    >>> estimate_over_seeds([0.1, 0.1])
    Interval(value=0.1, low=0.1, high=0.1)
    """
    if not values:
        return NOTHING
    mean = _mean(values)
    if len(values) < 2:
        return Interval(mean, nan, nan)
    width = _student_quantile(len(values)) * float(np.std(values, ddof=1)) / sqrt(len(values))
    return Interval(mean, mean - width, mean + width)


def is_broken(run: Run) -> bool:
    """Whether a run failed, a severe alarm fired that tells of the rate, or held-out reward ended below its start."""
    if not run.looks:
        return True
    severe = {rule for rule, severity in run.alarms if severity in ("stop", "error")}
    return bool(severe - NOT_OF_THE_RATE) or run.looks[-1].reward < run.looks[0].reward


def find_stable_rate(tried: Iterable[Run]) -> float | None:
    """Return the highest rate none of whose runs broke; None where there is none."""
    runs = list(tried)
    broken = {run.rate for run in runs if is_broken(run)}
    return max({run.rate for run in runs} - broken, default=None)


def choose_rate(tuning: Iterable[Run]) -> float | None:
    """Return the rate of the run with the highest held-out reward at its end, of equals the lower; None for no run."""
    whole = [run for run in tuning if run.looks]
    best = max(whole, key=lambda run: (run.looks[-1].reward, -run.rate), default=None)
    return best.rate if best else None


def summarise(
    runs: Iterable[Run], chosen: Mapping[str, float], seeds: Sequence[int], curation: Mapping[str, Paid]
) -> list[ArmResult]:
    """Return a result for each arm that has a run at its chosen rate with one of the reported seeds.

    `curation` has what the curation generated, of each arm that needs it.
    """
    every = list(runs)
    reported = {
        arm: [run for run in every if (run.arm, run.rate) == (arm, rate) and run.seed in seeds and run.looks]
        for arm, rate in chosen.items()
    }
    pool = reported.get(BASELINE.name, [])
    return [
        summarise_arm(found, pool, [run for run in every if run.arm == arm], curation.get(arm, Paid()))
        for arm, found in reported.items()
        if found
    ]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else nan


def _student_quantile(count: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + CONFIDENCE) / 2, count - 1))
