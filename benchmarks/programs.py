"""What judging a program costs, beside what users would otherwise run.

FizzBuzz with five tests, each program a little different so that no verdict is cached, the ways taking turns:

- `sandbox`: `judge`, as the verifier runs it;
- `fresh`: `python -I` for each program, answers compared outside, with no confinement at all;
- `harness`: a manager process and a forked one for each call, the program and its asserts in one namespace with a
  time limit, as the usual public harness does it (written from its description).

Then the rate of two scoring processes, the start of a server, how far a loop overshoots its limit, what the slowest
reference solution of the problem bank takes, and whether many verifications leave a process, a descriptor or memory
behind.

    python -m benchmarks.programs [--runs 200] [--many 100000] [--json FILE]
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.managers import ListProxy
from pathlib import Path
from statistics import median

from benchmarks.figures import make_parser, write_figures
from learnable.data.records import Spec
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool
from learnable.verifiers.programs import Sandbox
from learnable.verifiers.programs.bank.family import BANK, CodeKnobs
from learnable.verifiers.programs.bank.problem import Problem
from learnable.verifiers.programs.judge import judge
from learnable.verifiers.programs.test_code.cases import make_cases
from tests.verifiers.programs.bank.references_for_tests import write_sources

TESTS = (1, 3, 5, 15, 30)
TARGETS = {
    "median_ms": "at most 3",
    "per_second": "at least 600",
    "start_ms": "at most 200",
    "overshoot_s": "at most .1",
    "times_fresh": "at least 10",
    "times_harness": "at least 30",
}
SOURCE = """
def fizzbuzz(n):
    return ["FizzBuzz" if i % 15 == 0 else "Fizz" if i % 3 == 0 else "Buzz" if i % 5 == 0 else str(i)
            for i in range(1, n + 1)]
"""
LOOP = "def fizzbuzz(n):\n    while True: pass"


def expected(n: int) -> list[str]:
    """Return what FizzBuzz says up to `n`."""
    return [("Fizz" * (i % 3 == 0) + "Buzz" * (i % 5 == 0)) or str(i) for i in range(1, n + 1)]


ANSWERS = [(n, expected(n)) for n in TESTS]
CASES = [[[n], answer] for n, answer in ANSWERS]
SPEC: Spec = {"entry": "fizzbuzz", "cases": CASES}
Figures = dict[str, float | str]
TIMES_REFERENCE = 10.0  # what a program may take, beside the reference solution
MIN_SECONDS, MAX_SECONDS = 0.3, 2.0


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=int, default=200, help="of each way")
    parser.add_argument("--many", type=int, default=20_000, help="verifications that must leave nothing behind")
    arguments = parser.parse_args()
    with Sandbox() as sandbox:
        figures: Figures = {"rung": str(sandbox.rung)}
        figures |= measure_ways(sandbox, arguments.runs)
        figures |= {"start_ms": measure_start(), "overshoot_s": measure_overshoot(sandbox)}
        figures |= measure_rate(5 * arguments.runs)
        figures |= measure_references(sandbox)
        figures |= measure_remains(sandbox, arguments.many)
    for name, figure in figures.items():
        shown = f"{figure:.3g}" if isinstance(figure, float) else figure
        print(f"{name:<24} {shown}" + (f"   ({TARGETS[name]})" if name in TARGETS else ""))
    write_figures(arguments.json, figures)


def measure_ways(sandbox: Sandbox, runs: int) -> Figures:
    """Return the median of each way, in milliseconds, and how many times the sandbox's the others are."""
    ways: dict[str, tuple[Callable[[str], bool], int]] = {
        "sandbox": (lambda source: judge(sandbox, source, SPEC).passed is True, runs),
        "fresh": (run_fresh, max(10, runs // 10)),
        "harness": (run_harness, max(10, runs // 10)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(10):
        for name, (way, times) in ways.items():
            for run in range(times // 10):
                seconds[name].append(timed(way, f"{SOURCE}# {turn} {run}"))
    ms = {name: 1000 * median(taken) for name, taken in seconds.items()}
    figures: Figures = {"median_ms": ms["sandbox"], "fresh_ms": ms["fresh"], "harness_ms": ms["harness"]}
    return figures | {"times_fresh": ms["fresh"] / ms["sandbox"], "times_harness": ms["harness"] / ms["sandbox"]}


def timed(way: Callable[[str], bool], source: str) -> float:
    """Return the seconds that one verification takes."""
    started = time.perf_counter()
    passed = way(source)
    taken = time.perf_counter() - started
    if not passed:
        raise RuntimeError("an honest program did not pass")
    return taken


def run_fresh(source: str) -> bool:
    """Run a program in a fresh interpreter that prints its answers."""
    script = f"{source}\nimport json\nprint(json.dumps([fizzbuzz(n) for n in {TESTS}]))"
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    return bool(json.loads(done.stdout) == [answer for _, answer in CASES])


def run_harness(source: str) -> bool:
    """Run a program with its asserts in a forked process, which says through a manager of its own how it went."""
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager:
        result: ListProxy[str] = manager.list()
        process = context.Process(target=_in_harness, args=(source, result))
        process.start()
        process.join(timeout=4)
        if process.is_alive():
            process.kill()
        return list(result) == ["passed"]


def _in_harness(source: str, result: ListProxy[str]) -> None:
    asserts = "\n".join(f"assert fizzbuzz({n}) == {answer!r}" for n, answer in ANSWERS)
    signal.setitimer(signal.ITIMER_REAL, 3)
    exec(f"{source}\n{asserts}", {})
    signal.setitimer(signal.ITIMER_REAL, 0)
    result.append("passed")


def measure_start() -> float:
    """Return the milliseconds from nothing to a server that has passed its own test."""
    taken = []
    for _ in range(5):
        started = time.perf_counter()
        with Sandbox() as sandbox:
            sandbox.start()
            taken.append(1000 * (time.perf_counter() - started))
    return median(taken)


def measure_overshoot(sandbox: Sandbox) -> float:
    """Return the most processor seconds that loops used beyond their limit."""
    limit = 0.3
    outcomes = [sandbox.run(f"{LOOP} # {run}", "fizzbuzz", [[1]], limit) for run in range(10)]
    return max((outcome.cpu_seconds or 0.0) - limit for outcome in outcomes)


def measure_rate(count: int) -> Figures:
    """Return the verifications a second of two scoring processes, as a run uses them."""
    spec = json.dumps(SPEC)
    jobs = [ScoreJob("programs", f"{SOURCE}# rate {number}", "", spec) for number in range(count)]
    with ScoringPool(2) as pool:
        pool.submit(jobs[:8]).result()
        started = time.perf_counter()
        scores = pool.submit(jobs[8:]).result()
        taken = time.perf_counter() - started
    if any(not score.passed for score in scores):
        raise RuntimeError("an honest program did not pass")
    return {"per_second": len(scores) / taken}


def measure_references(sandbox: Sandbox) -> Figures:
    """Return the most processor milliseconds that a reference of the bank takes, and the seconds that this allows."""
    slowest, form = max((measure_reference(sandbox, *_reference(problem)), name) for name, problem in BANK.items())
    return {"slowest_reference": form, "reference_ms": 1000 * slowest, "its_limit_s": allow_seconds(slowest)}


def measure_reference(sandbox: Sandbox, source: str, spec: Spec) -> float:
    """Return the processor seconds that a reference solution takes for the cases of a spec. Raises `SandboxError`."""
    calls = [case.call for case in make_cases(spec["cases"], "plain")]
    outcome = sandbox.run_calls(source, spec["entry"], calls, MAX_SECONDS, measured=True)
    return outcome.cpu_seconds or 0.0


def allow_seconds(reference_seconds: float) -> float:
    """Return the seconds to allow where the reference solution takes so many: ten times that, between .3 and 2.

    A loop costs its whole limit, so small limits are worth more than fast forks.
    """
    return min(MAX_SECONDS, max(MIN_SECONDS, TIMES_REFERENCE * reference_seconds))


def _reference(problem: Problem) -> tuple[str, Spec]:
    parameters, name = problem.parameters[0], problem.names[0]
    spec = {"entry": name, "cases": problem.cases(parameters, CodeKnobs().drawn_cases)}
    return write_sources(problem.form, "solutions", parameters, name)[0], spec


def measure_remains(sandbox: Sandbox, count: int) -> Figures:
    """Return what so many verifications leave behind: descriptors, children, megabytes here and at the server."""
    marks = []
    for number in range(count):
        if number in (count // 10, count - 1):
            time.sleep(0.2)  # the last child is taken leave of
            marks.append(_count_remains(sandbox.server_pid or 0))
        judge(sandbox, f"{SOURCE}# many {number}", SPEC)
    before, after = marks[0], marks[-1]
    return {"verifications": count, **{f"more_{name}": after[name] - before[name] for name in before}}


def _count_remains(server: int) -> dict[str, float]:
    status = Path(f"/proc/{server}/status").read_text(encoding="utf-8")
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    children = Path(f"/proc/{server}/task/{server}/children").read_text(encoding="utf-8").split()
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "children": len(children),
        "mib_here": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "mib_at_server": resident / 1024,
    }


if __name__ == "__main__":
    main()
