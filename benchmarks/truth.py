"""Are the numbers true? Every figure that the documentation promises, measured against a truth that is known.

Each module of `MODULES` has `CHECKS`, a tuple of functions of a seed (`benchmarks.checks.Check`). The name of a check
is the name of its function. The exit status is 1 where a figure misses its bound. Progress goes to stderr.

    python -m benchmarks.truth [--json] [--seed 1] [--jobs 2] [--only NAME] [--list]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from importlib import import_module
from multiprocessing import get_context
from time import process_time

from benchmarks.checks import Check, Figure

MODULES = (
    "benchmarks.decisions.truth_graded",  # graded rewards; variances under optional stopping
    "benchmarks.decisions.truth_staleness",  # refreshes, margins, policy ids
    "benchmarks.decisions.truth_forecast",  # rewards that repeat: forecasts, certificates
    "benchmarks.decisions.truth_deviations",  # standard deviations of graded rewards
    "benchmarks.decisions.truth_order",  # files in any order, held-out problems
    "benchmarks.decisions.truth_command",  # the same promises through the command line
    "benchmarks.decisions.truth_populations",  # spikes, dead pools, many small families
    "benchmarks.decisions.truth_scale",  # what a prompt costs, up to a million of them
)


def main() -> None:
    """Measure, print the figures of each check as it ends, and exit with 1 if one misses its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="NAME", help="this check, or these; repeatable")
    parser.add_argument("--json", action="store_true", help="one JSON object a figure")
    parser.add_argument("--jobs", type=int, default=1, help="checks at a time, each in a process")
    parser.add_argument("--list", action="store_true", help="print the names of the checks, and measure nothing")
    arguments = parser.parse_args()
    checks = read_checks(MODULES)
    names = arguments.only or list(checks)
    if unknown := [name for name in names if name not in checks]:
        parser.error(f"unknown check {', '.join(unknown)}: known are {', '.join(checks)}")
    if arguments.list:
        print("\n".join(names))
        return
    missed = 0
    # Threads of processes that share cores wait for each other: a check of 8 minutes was not through after 30.
    os.environ.setdefault("OMP_NUM_THREADS", str(max((os.cpu_count() or 1) // max(arguments.jobs, 1), 1)))
    with ProcessPoolExecutor(max(arguments.jobs, 1), get_context("spawn")) as processes:
        running = {processes.submit(measure_aside, name, arguments.seed): name for name in names}
        for done in as_completed(running):
            for found in done.result():
                missed += not found.holds
                row = {"check": running[done], "seed": arguments.seed} | asdict(found)
                print(json.dumps(row) if arguments.json else describe(found), flush=True)
    sys.exit(bool(missed))


def measure_aside(name: str, seed: int) -> list[Figure]:
    """Return what a check measures, and say on stderr how far it is: in seconds of the processor."""
    figures, start = [], process_time()
    for found in measure(name, read_checks(MODULES)[name], seed):
        figures.append(found)
        print(f"{name}: {process_time() - start:.0f} s, {describe(found)}", file=sys.stderr, flush=True)
    return figures


def read_checks(modules: Sequence[str]) -> dict[str, Check]:
    """Return the checks of these modules by name. Raises `ValueError` for a module without any, or a name twice."""
    checks: dict[str, Check] = {}
    for module in modules:
        found: Sequence[Check] = import_module(module).CHECKS
        if not found:
            raise ValueError(f"{module} has no checks")
        for check in found:
            if check.__name__ in checks:
                raise ValueError(f"{module} has a check {check.__name__!r}, and so has another module")
            checks[check.__name__] = check
    return checks


def measure(name: str, check: Check, seed: int) -> Iterator[Figure]:
    """Yield what a check measures. Raises `ValueError` where that is nothing at all."""
    empty = True
    for found in check(seed):
        empty = False
        yield found
    if empty:
        raise ValueError(f"the check {name!r} measured nothing")


def describe(found: Figure) -> str:
    """Return a figure as one line."""
    verdict = "holds" if found.holds else "MISSES"
    return f"{verdict:6}  {found.name:<58} {found.figure:9.4f}  {found.bound:<16} {found.note}".rstrip()


if __name__ == "__main__":
    main()
