"""What does curation buy? Arms that train the bundled policy on one pool, at equal generated tokens, over seeds.

For each of three pools (`benchmarks/lift/pools.py` has the recipes) the curated set is made once, with the real engine.
The arms (`arms.py`): the pool as it is, also at the batch that preflight fits to the curated set; a random control as
large as the curated set; the curated set at the pool's batch and at the fitted one, there also with a tenth of mastered
prompts; pool and curated set with the live sampler, at the fitted batch; the pool with a live sampler that is told no
certificates, and with one that predicts; the curation's rollouts first, then live; one job from pool to policy; and
what users would try first, plain pass rates of 8 rollouts and DAPO. The pool arm takes --steps steps of 128
completions; the others take as many steps as generate the same tokens, by the mean length of the completions that the
curation saw of their prompts. Tables have the tokens that were generated in training; tokens to a reward are counted
from those, in further columns with those of finding prompts and of the evaluations before and after.

The learning rate of each arm is the best of the same three on a seed that is not reported (held-out reward at the end).
Then the arms run seed by seed, so that at any time all have about as many seeds. Each run is a folder in --work; one
that is there is not repeated, so the command can be stopped and started again. A run that failed in training counts as
broken; delete its failed.txt to try it again.

    python -m benchmarks.lift                                    # all pools, five seeds: many hours on two cores
    python -m benchmarks.lift --pool dead --budget-minutes 90    # as many runs as begin in that time
    python -m benchmarks.lift --pool dead --learning-rate 1e-4   # one rate for all arms, no tuning
    python -m benchmarks.lift --budget-minutes 0                 # begin no run: show what there is
    python -m benchmarks.lift --measured FOLDER                  # keep runs, and go on from those of another machine

`benchmarks/lift/measured` has the runs made so far. With --measured a broken run has a line too: delete that as well to
try it again. Processes may share --work and --measured where each has other arms.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isinf
from pathlib import Path
from typing import Any

from benchmarks.figures import make_parser, write_figures
from benchmarks.lift.archive import Archive
from benchmarks.lift.arms import ARMS, Plan, plan_arm
from benchmarks.lift.output import draw_figure, write_tables
from benchmarks.lift.pools import POOLS, PoolName, count_tokens, prepare_pool
from benchmarks.lift.results import choose_rate, summarise
from benchmarks.lift.runs import Run, count_paid, perform
from learnable.data.curated.curated_set import CuratedSet
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.progress import Silence
from learnable.train.results.report import without_nan

RATES = (1e-4, 2e-4, 4e-4)
STEPS = 120  # of the pool arm, 960 groups
SEEDS = 5
FIRST_SEED = 1  # the one before it is for tuning
WORK = Path("runs/lift")


@dataclass(frozen=True, slots=True)
class Scope:
    """What is run: arms by name, rates to choose from, seeds to report and the one to tune with, the baseline's steps.

    `ends_at` is the time on the monotonic clock from which no run begins, None for never. `measured` is a folder of
    archives, one a pool.
    """

    arms: Sequence[str]
    rates: Sequence[float]
    seeds: Sequence[int]
    tuning_seed: int
    steps: int
    ends_at: float | None = None
    measured: Path | None = None

    def list_tuning(self) -> Iterator[tuple[str, float, int]]:
        """Yield (arm, rate, seed) of the runs that choose rates; none where there is but one rate."""
        if len(self.rates) > 1:
            for rate in self.rates:
                yield from ((arm, rate, self.tuning_seed) for arm in self.arms)

    def list_reported(self, chosen: Mapping[str, float]) -> Iterator[tuple[str, float, int]]:
        """Yield (arm, rate, seed) of the runs that are reported, seed by seed."""
        for seed in self.seeds:
            yield from ((arm, chosen[arm], seed) for arm in self.arms if arm in chosen)


def main() -> None:
    """Run what is missing, and report what there is."""
    parser = make_parser(__doc__)
    parser.add_argument("--pool", choices=POOLS, help="(default: all)")
    parser.add_argument("--arm", choices=ARMS, action="append", help="run these alone; repeatable (default: all)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"reported seeds (default: {SEEDS})")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="the first of them; the one before it tunes")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"of the pool arm (default: {STEPS})")
    parser.add_argument("--learning-rate", type=float, help="of all arms, instead of the best of three")
    parser.add_argument("--budget-minutes", type=float, help="begin no run after that (default: run all)")
    parser.add_argument("--work", type=Path, default=WORK, help=f"sets and runs, kept (default: {WORK})")
    parser.add_argument("--measured", type=Path, help="folder of runs that are over: read, not repeated, added to")
    arguments = parser.parse_args()
    scope = read_scope(arguments)
    pools = [arguments.pool] if arguments.pool else list(POOLS)
    write_figures(arguments.json, {name: measure_pool(name, arguments.work / name, scope) for name in pools})


def read_scope(arguments: argparse.Namespace) -> Scope:
    """Return what the command line asks for."""
    minutes = arguments.budget_minutes
    return Scope(
        arms=[name for name in ARMS if not arguments.arm or name in arguments.arm],
        rates=(arguments.learning_rate,) if arguments.learning_rate else RATES,
        seeds=range(arguments.seed, arguments.seed + arguments.seeds),
        tuning_seed=arguments.seed - 1,
        steps=arguments.steps,
        ends_at=None if minutes is None else time.monotonic() + 60 * minutes,
        measured=arguments.measured,
    )


def measure_pool(name: PoolName, folder: Path, scope: Scope) -> dict[str, Any]:
    """Run what is missing of a pool, print its tables, draw its figure, and return all of it as plain data."""
    folder.mkdir(parents=True, exist_ok=True)
    curated = prepare_pool(name, folder)
    file = scope.measured / f"{name}.jsonl" if scope.measured else None
    archive = Archive(folder, file, curated.manifest.policy.policy_id, scope.steps)
    plans = {arm: plan_arm(ARMS[arm], curated, scope.steps) for arm in scope.arms}
    for arm, rate, seed in scope.list_tuning():  # a rate is chosen by how its run ends
        run_once(arm, replace(plans[arm], looks=1), curated, archive, rate, seed, scope.ends_at)
    tuning = read_runs(archive, scope.list_tuning())
    chosen = choose_rates(scope, tuning)
    for arm, rate, seed in scope.list_reported(chosen):
        run_once(arm, plans[arm], curated, archive, rate, seed, scope.ends_at)
    runs = [*tuning, *read_runs(archive, scope.list_reported(chosen))]
    spent = count_tokens(curated)
    paid = {arm: count_paid(curated) for arm in scope.arms if ARMS[arm].is_curated}
    results = summarise(runs, chosen, scope.seeds, paid)
    tables = write_tables(name, results, spent)
    print(tables, flush=True)
    (folder / "lift.md").write_text(tables + "\n", encoding="utf-8")
    reported = {
        one.arm: [run for run in runs if run.arm == one.arm and run.rate == one.rate and run.seed in one.seeds]
        for one in results
    }
    draw_figure(name, reported, folder / "lift.png")
    plain = {"curated": str(curated.path), "curation_tokens": spent, "plans": plans, "chosen_rates": chosen}
    return {name: make_plain(value) for name, value in {**plain, "results": results, "runs": runs}.items()}


def run_once(
    arm: str, plan: Plan, curated: CuratedSet, archive: Archive, rate: float, seed: int, ends_at: float | None
) -> None:
    """Run what is not there, unless time is up; say so. Where the evaluation failed, the next start tries again."""
    if archive.find(arm, rate, seed) is not None or (ends_at is not None and time.monotonic() >= ends_at):
        return
    started = time.monotonic()
    say(f"{archive.root.name}: {arm}, rate {rate:g}, seed {seed}: {plan.steps} steps of {plan.batch_size} completions")
    try:
        perform(ARMS[arm], plan, curated, archive.folder_of(arm, rate, seed), rate, seed, Silence())
    except InterruptedRunError:
        raise
    except LearnableError as error:
        say(f"  failed: {error}")
    archive.find(arm, rate, seed)  # which keeps it
    say(f"  {time.monotonic() - started:.0f} s")


def choose_rates(scope: Scope, tuning: Sequence[Run]) -> dict[str, float]:
    """Return the rate of each arm: the only one, or the best one where all are tried."""
    if len(scope.rates) == 1:
        return dict.fromkeys(scope.arms, scope.rates[0])
    tried = {arm: [run for run in tuning if run.arm == arm] for arm in scope.arms}
    found = {arm: choose_rate(runs) for arm, runs in tried.items() if len(runs) == len(scope.rates)}
    return {arm: rate for arm, rate in found.items() if rate is not None}


def read_runs(archive: Archive, wanted: Iterator[tuple[str, float, int]]) -> list[Run]:
    """Return those of the wanted runs that are over."""
    return [run for arm, rate, seed in wanted if (run := archive.find(arm, rate, seed)) is not None]


def make_plain(value: Any) -> Any:
    """Return dataclasses in a value as plain data; what is unknown, and ratios that were never reached, are null."""
    if isinstance(value, Mapping):
        return {key: make_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [make_plain(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        return make_plain(asdict(value))
    return None if isinstance(value, float) and isinf(value) else without_nan(value)


def say(text: str) -> None:
    """Print a line of progress."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
