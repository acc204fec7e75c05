"""What a prompt costs from its file to Parquet, in CPU time and in memory, up to a million prompts of 16 rollouts.

These are whole runs of the command line, and the longest check: some 25 minutes of a core for the million.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.checks import Check, Figure, at_most
from benchmarks.decisions.scale import START, Run, measure, warm_up, write_prompts

SIZES = (10_000, 100_000, 1_000_000)  # prompts
DEFAULT_SIZES = (10_000, 100_000)  # prompts, with the sampling and the Prefect that users get
FIXED = ("--sampling", "fixed", "--no-prefect", "--group-size")
ROLLOUTS, MORE_ROLLOUTS = 16, 64  # a prompt
WITHIN = 1.2  # times the cheapest size
KIB_A_PROMPT = 5.0  # beyond the start of a run


def a_prompt_costs_the_same_in_any_pool(seed: int) -> Iterator[Figure]:
    """CPU time and peak memory of 10 K, 100 K and 1 M prompts x 16."""
    warm_up(flags := (*FIXED, str(ROLLOUTS)))
    start, *runs = curate((START, *SIZES), flags, seed)
    yield compare_times("whole runs", [1000 * run.cpu_seconds / run.prompts for run in runs], runs)
    yield compare_times("beyond the start", [run.milliseconds_a_prompt(start) for run in runs], runs)
    for run in runs[1:]:  # ten thousand prompts fit into what a run takes anyway
        note = f"{run.peak_mib:,.0f} MiB at most, of which {start.peak_mib:,.0f} for {START} prompts"
        yield at_most(f"KiB a prompt adds to the peak, {run.prompts:,}", run.kib_a_prompt(start), KIB_A_PROMPT, note)


def memory_does_not_grow_with_rollouts(seed: int) -> Iterator[Figure]:
    """The peak memory of as many prompts with four times the rollouts."""
    [fewer], [more] = (curate((100_000,), (*FIXED, str(rollouts)), seed) for rollouts in (ROLLOUTS, MORE_ROLLOUTS))
    note = f"{fewer.peak_mib:,.0f} MiB for {fewer.rollouts:,}, {more.peak_mib:,.0f} MiB for {more.rollouts:,}"
    yield at_most("peak memory of 4 times the rollouts, times", more.peak_mib / fewer.peak_mib, 1.1, note)


def a_prompt_costs_the_same_in_the_default_mode(seed: int) -> Iterator[Figure]:
    """CPU time of 10 K and 100 K prompts with optimal sampling and with Prefect, whose server is part of the start."""
    warm_up(())
    start, *runs = curate((START, *DEFAULT_SIZES), (), seed)
    yield compare_times("default mode", [run.milliseconds_a_prompt(start) for run in runs], runs)


def curate(sizes: Sequence[int], flags: Sequence[str], seed: int) -> list[Run]:
    """Return a run for each size, and say on stderr what each took.

    All but the largest run before it and after it, and count by the mean of the two: a machine may grow slower over an
    hour, and of a single short run a tenth is luck.
    """
    *smaller, largest = sizes
    before = [curate_once(size, flags, seed) for size in smaller]
    whole = curate_once(largest, flags, seed)
    after = [curate_once(size, flags, seed) for size in reversed(smaller)]
    runs = [*map(combine, before, reversed(after)), whole]
    for run in runs:
        print(run.describe(runs[0]), file=sys.stderr, flush=True)
    return runs


def curate_once(prompts: int, flags: Sequence[str], seed: int) -> Run:
    """Return a whole run for so many prompts."""
    with tempfile.TemporaryDirectory() as folder:
        write_prompts(Path(folder) / "prompts.jsonl", prompts, seed)
        return measure(Path(folder), flags)


def combine(one: Run, other: Run) -> Run:
    """Return two runs of the same command as one: the mean of their times, and the higher peak."""
    seconds = (one.cpu_seconds + other.cpu_seconds) / 2
    return replace(one, cpu_seconds=seconds, peak_mib=max(one.peak_mib, other.peak_mib))


def compare_times(what: str, times: Sequence[float], runs: Sequence[Run]) -> Figure:
    """Return what a prompt costs in the dearest run over the cheapest; `times` are CPU milliseconds a prompt."""
    note = ", ".join(f"{run.prompts:,}: {time:.3f} ms" for run, time in zip(runs, times, strict=True))
    return at_most(f"CPU time a prompt, {what}, dearest over cheapest", max(times) / min(times), WITHIN, note)


CHECKS: tuple[Check, ...] = (
    a_prompt_costs_the_same_in_any_pool,
    memory_does_not_grow_with_rollouts,
    a_prompt_costs_the_same_in_the_default_mode,
)
