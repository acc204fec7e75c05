"""What the runs of an ablation came to: figures of each from its folder, and of each variant over its seeds.

A run is one draw: its order of prompts, its completions, its held-out completions. So intervals here are over runs, not
over prompts: mean +- t s / sqrt(n) over n seeds, with Student's t at n - 1 degrees of freedom (Student, 1908).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from pathlib import Path
from statistics import fmean, stdev

from learnable.train.ablation.preparing import AblationRun
from learnable.train.monitor.records import StepRecord, read_metrics
from learnable.train.results.comparison import Measure, Pair, list_measures, pair_prompts
from learnable.train.results.curve import read_series
from learnable.train.results.evaluation import read_evaluation
from learnable.train.results.report import TrainingSummary
from learnable.train.results.statistics import CONFIDENCE, Interval
from learnable.train.trainers.trainer import SUMMARY

MEASURES = ("mean_reward", "pass_at_1", "pass_at_k", "greedy_reward")


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One finished run. `before` and `after` are means over held-out prompts, by the names of `MEASURES`.

    `steps` are those that were taken, fewer than wanted where an alarm stopped the run. `tokens` are those of the
    completions that it trained on, NaN for SFT; `seconds` those of its steps.
    """

    variant: str
    seed: int
    folder: str
    steps: int
    before: Mapping[str, float]
    after: Mapping[str, float]
    zero_std_share: float
    tokens: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Change:
    """A measure over the seeds of a variant: before training, after it, and what was gained run by run."""

    before: float
    after: float
    gain: Interval


@dataclass(frozen=True, slots=True)
class VariantFigures:
    """A variant over the seeds that are finished: means over its runs, with intervals where there are several.

    `against_first` is by how much its mean reward ended above that of the first variant, seed by seed; None for the
    first one, and where they have no seed in common.
    """

    name: str
    differs: Mapping[str, object]
    measures: Mapping[str, Change]
    against_first: Interval | None
    zero_std_share: float
    tokens: float
    seconds: float
    runs: tuple[RunFigures, ...]


def collect_run(run: AblationRun, shared: Collection[str]) -> RunFigures:
    """Read what a finished run left in its folder; of held-out prompts the `shared` ones count.

    Raises `LearnableError` where its evaluations are gone.
    """
    folder = run.settings.folder
    early, late = (read_evaluation(folder / f"{when}.json") for when in ("before", "after"))
    pairs = [pair for pair in pair_prompts(early, late) if pair[0].prompt_id in shared]
    measures = list_measures(run.settings.eval_k)
    records = read_metrics(folder / "metrics.jsonl")
    lengths = read_series(records, "completion_length")[1]
    last = max((record.step for record in records), default=0)
    made = run.completions * last / run.settings.steps
    return RunFigures(
        variant=run.variant.name,
        seed=run.seed,
        folder=str(folder),
        steps=last,
        before={name: _average_pairs(pairs, measures[name], 0) for name in MEASURES},
        after={name: _average_pairs(pairs, measures[name], 1) for name in MEASURES},
        zero_std_share=_average_metric(records, "frac_reward_zero_std"),
        tokens=float(lengths.mean()) * made if lengths.size else nan,
        seconds=_sum_seconds(records, folder),
    )


def summarise_variants(runs: Sequence[RunFigures], variants: Sequence[AblationRun]) -> tuple[VariantFigures, ...]:
    """Return the figures of each variant that has a finished run, in the order of the file."""
    differs = {run.variant.name: run.variant.differs for run in variants}
    by_name = {name: [run for run in runs if run.variant == name] for name in differs}
    first = {run.seed: run for run in by_name[next(iter(by_name))]}
    return tuple(_summarise(name, differs[name], results, first) for name, results in by_name.items() if results)


def estimate_over_runs(values: Sequence[float]) -> Interval:
    """Return the mean over runs with its interval by Student's t; one run has none, but NaN for its ends."""
    from scipy.stats import t

    known = [value for value in values if not isnan(value)]
    if not known:
        return Interval(nan, nan, nan)
    mean = fmean(known)
    if len(known) == 1:
        return Interval(mean, nan, nan)
    half = float(t.ppf((1 + CONFIDENCE) / 2, len(known) - 1)) * stdev(known) / sqrt(len(known))
    return Interval(mean, mean - half, mean + half)


def _summarise(
    name: str, differs: Mapping[str, object], runs: Sequence[RunFigures], first: Mapping[int, RunFigures]
) -> VariantFigures:
    paired = [
        run.after["mean_reward"] - first[run.seed].after["mean_reward"]
        for run in runs
        if run.seed in first and run.variant != first[run.seed].variant
    ]
    return VariantFigures(
        name=name,
        differs=differs,
        measures={measure: _summarise_measure(runs, measure) for measure in MEASURES},
        against_first=estimate_over_runs(paired) if paired else None,
        zero_std_share=_average([run.zero_std_share for run in runs]),
        tokens=_average([run.tokens for run in runs]),
        seconds=_average([run.seconds for run in runs]),
        runs=tuple(runs),
    )


def _summarise_measure(runs: Sequence[RunFigures], measure: str) -> Change:
    return Change(
        before=_average([run.before[measure] for run in runs]),
        after=_average([run.after[measure] for run in runs]),
        gain=estimate_over_runs([run.after[measure] - run.before[measure] for run in runs]),
    )


def _average_pairs(pairs: Sequence[Pair], measure: Measure, side: int) -> float:
    """Return the mean before (side 0) or after (side 1) over the prompts that have the measure on both sides."""
    both = [tuple(map(measure, pair)) for pair in pairs]
    return _average([values[side] for values in both if not any(map(isnan, values))])


def _average(values: Sequence[float]) -> float:
    known = [value for value in values if not isnan(value)]
    return fmean(known) if known else nan


def _average_metric(records: Sequence[StepRecord], name: str) -> float:
    return _average(read_series(records, name)[1].tolist())


def _sum_seconds(records: Sequence[StepRecord], folder: Path) -> float:
    """Return the seconds of all steps, a resumed run's earlier ones too; of SFT, which logs none, those at the end."""
    seconds = read_series(records, "step_seconds")[1]
    return float(seconds.sum()) if seconds.size else TrainingSummary.read(folder / SUMMARY).seconds
