"""What scoring through Ray costs beside scoring in processes of this machine, and whether one driver can gather enough.

On a Ray of this machine's own, the same completions in turns: `here`, in processes of this one, and `ray`, in as many
on its node.

- Programs (FizzBuzz with five tests, each a little different so that no verdict is cached), a second and core; cores
  are those that this machine has.
- Sums, which are judged in microseconds: what the way there and back can carry, and the driver's processor time for it.
- Sums that come at `--rate` a second, in batches of 64 as a run sends them: the most batches that wait in the first
  half of the time and in the second. A backlog that grows shows.

64 replicas at 40 tokens a second and 256 sequences each, of 500 tokens, make 1,300 completions a second.

    python -m benchmarks.engines.judges [--workers 2] [--completions 1000] [--rate 1300] [--seconds 20] [--json FILE]
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from statistics import median

from upath import UPath

from benchmarks.figures import make_parser, write_figures
from benchmarks.programs import SOURCE, SPEC
from learnable.data.policies import Policy
from learnable.data.records import Score
from learnable.data.store import Store
from learnable.flows.run import Run
from learnable.flows.sampling.judges import open_judges
from learnable.flows.settings import CurateSettings
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool

BATCH = 64
TURNS = 5
Figures = dict[str, float | str]


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--completions", type=int, default=1000, help="programs of each way")
    parser.add_argument("--rate", type=float, default=1300.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        pools = {name: stack.enter_context(open_pool(name, arguments.workers)) for name in ("here", "ray")}
        for pool in pools.values():
            pool.warm_up(["programs", "arithmetic"])
            pool.submit(make_programs(BATCH, "warm")).result()
        figures: Figures = {"cores": float(os.cpu_count() or 1), "workers": float(arguments.workers)}
        figures |= compare("programs", pools, arguments.completions, make_programs)
        figures |= compare("sums", pools, 20 * arguments.completions, make_sums)
        figures |= feed(pools["ray"], arguments.rate, arguments.seconds)
    for name, figure in figures.items():
        print(f"{name:<32} {figure:.3g}" if isinstance(figure, float) else f"{name:<32} {figure}")
    write_figures(arguments.json, figures)


@contextmanager
def open_pool(where: str, workers: int) -> Iterator[ScoringPool]:
    """Give a pool of so many processes as a run has it."""
    run = Run(
        "benchmark", CurateSettings(workers=workers, score_on=where), Policy("none", "none"), Store(UPath("unused"))
    )
    with open_judges(run, ["arithmetic", "programs"], lambda *_: None) as pool:
        yield pool


def make_programs(count: int, label: str) -> list[ScoreJob]:
    """Return so many right programs, each by its label another."""
    spec = json.dumps(SPEC)
    return [ScoreJob("programs", f"{SOURCE}# {label} {number}", "", spec) for number in range(count)]


def make_sums(count: int, label: str) -> list[ScoreJob]:
    """Return so many right answers."""
    return [ScoreJob("arithmetic", "3", label, '{"answer":3}')] * count


def compare(
    what: str, pools: dict[str, ScoringPool], count: int, make: Callable[[int, str], list[ScoreJob]]
) -> Figures:
    """Return completions a second of each pool, and their ratio, both medians of turns; and the driver's seconds."""
    rates: dict[str, list[float]] = {name: [] for name in pools}
    driver: dict[str, list[float]] = {name: [] for name in pools}
    for turn in range(TURNS):
        for name, pool in pools.items():
            jobs = make(count // TURNS, f"{name} {turn}")
            started, busy = time.perf_counter(), time.process_time()
            check(each for future in send(pool, jobs) for each in future.result())
            rates[name].append(len(jobs) / (time.perf_counter() - started))
            driver[name].append(1e6 * (time.process_time() - busy) / len(jobs))
    ratios = [there / here for here, there in zip(rates["here"], rates["ray"], strict=True)]
    cores = os.cpu_count() or 1
    return {
        **{f"{what}_{name}_a_second_and_core": median(each) / cores for name, each in rates.items()},
        f"{what}_ratio": median(ratios),
        **{f"{what}_{name}_driver_us": median(each) for name, each in driver.items()},
    }


def send(pool: ScoringPool, jobs: Sequence[ScoreJob]) -> list[Future[list[Score]]]:
    """Submit jobs in batches, as a run does."""
    return [pool.submit(jobs[first : first + BATCH]) for first in range(0, len(jobs), BATCH)]


def check(scores: Iterator[Score]) -> None:
    """Raise `RuntimeError` unless all have passed."""
    if not all(score.passed for score in scores):
        raise RuntimeError("a right completion did not pass")


def feed(pool: ScoringPool, rate: float, seconds: float) -> Figures:
    """Return the most batches that waited in each half of the time, when completions came at this rate."""
    started = time.perf_counter()
    most, open_, sent = [0, 0], set[Future[list[Score]]](), 0
    while (now := time.perf_counter() - started) < seconds:
        open_ = {future for future in open_ if not future.done()}
        if sent < rate * now:
            open_.add(pool.submit(make_sums(BATCH, str(sent))))
            sent += BATCH
        else:
            time.sleep(0.002)
        half = int(2 * now >= seconds)
        most[half] = max(most[half], len(open_))
    return {"fed_a_second": sent / seconds, "most_waiting_first_half": most[0], "most_waiting_second_half": most[1]}


if __name__ == "__main__":
    main()
