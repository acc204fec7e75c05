"""What a prompt costs, in CPU time and in memory, as a pool grows: whole runs of the command line, file to Parquet.

    python -m benchmarks.decisions.scale --prompts 10000 100000 1000000 --json scale.json

Each pool is a file of simulated prompts with pass rates from Beta(.3, .3), of which `find-learnable --engine simulated`
makes a curated set, in a process of its own: so the memory is that of the whole way, and the engine costs next to
nothing. The CPU time is that of the process and of its scoring processes; a run of `START` prompts tells how much of it
is spent before the first. `--again` gives the same command once more, which finds every rollout in the ledger.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.figures import make_parser, write_figures

START = 100  # prompts
CHILD = """
import json, resource, sys
from learnable.cli.app import find_command
figures, sys.argv = sys.argv[1], ["find-learnable", *sys.argv[2:]]
try:
    find_command()
finally:
    own, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    seconds = own.ru_utime + own.ru_stime + theirs.ru_utime + theirs.ru_stime
    with open(figures, "w") as file:
        json.dump({"cpu_seconds": seconds, "peak_mib": own.ru_maxrss / 1024}, file)
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: prompts looked at, rollouts, how many of those were new, CPU seconds, and peak memory of the process."""

    prompts: int
    rollouts: int
    generated: int
    kept: int
    cpu_seconds: float
    peak_mib: float

    def milliseconds_a_prompt(self, start: Run) -> float:
        """Return what each prompt costs beyond the start, in CPU milliseconds."""
        return 1000 * (self.cpu_seconds - start.cpu_seconds) / max(self.prompts - start.prompts, 1)

    def kib_a_prompt(self, start: Run) -> float:
        """Return the peak memory that each prompt adds to that of the start, in KiB."""
        return 1024 * (self.peak_mib - start.peak_mib) / max(self.prompts - start.prompts, 1)

    def describe(self, start: Run) -> str:
        """Return the run as a line, with what each prompt costs beyond the start."""
        return (
            f"{self.prompts:,} prompts, {self.rollouts:,} rollouts ({self.generated:,} new), {self.kept:,} kept: "
            f"{self.cpu_seconds:.1f} CPU s, {self.milliseconds_a_prompt(start):.3f} ms a prompt, "
            f"{self.peak_mib:,.0f} MiB at most, {self.kib_a_prompt(start):.2f} KiB a prompt"
        )


def main() -> None:
    """Measure what the arguments say."""
    parser = make_parser(__doc__)
    parser.add_argument("--prompts", type=int, nargs="+", default=[10_000, 100_000], help="how many, a run each")
    parser.add_argument("--group-size", type=int, default=16, help="rollouts a prompt, where they are fixed")
    parser.add_argument("--sampling", choices=["fixed", "optimal"], default="fixed")
    parser.add_argument("--again", action="store_true", help="then give each command once more")
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    parser.add_argument("--prefect", action="store_true", help="with Prefect, as users get it")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    flags = ["--sampling", arguments.sampling, "--group-size", str(arguments.group_size)]
    flags += [] if arguments.prefect else ["--no-prefect"]
    warm_up(flags)
    runs = []
    for count in (START, *arguments.prompts):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            write_prompts(Path(name) / "prompts.jsonl", count, arguments.seed)
            for _ in range(1 + arguments.again):
                runs.append(measure(Path(name), flags))
                print(runs[-1].describe(runs[0]), flush=True)
    write_figures(arguments.json, {"flags": flags, "runs": [asdict(run) for run in runs]})


def write_prompts(path: Path, count: int, seed: int) -> None:
    """Write a pool: with the same seed a shorter one is the beginning of a longer one."""
    rng = random.Random(seed)
    with path.open("w") as file:
        for number in range(count):
            spec = {"rate": round(rng.betavariate(0.3, 0.3), 12)}
            row = {"prompt": f"simulated prompt {number}", "verifier": "simulated", "spec": spec}
            file.write(json.dumps(row) + "\n")


def warm_up(flags: Sequence[str]) -> None:
    """Run once unmeasured: the first run of an installation compiles three hundred modules, and no later one does."""
    with tempfile.TemporaryDirectory() as folder:
        write_prompts(Path(folder) / "prompts.jsonl", START, 0)
        measure(Path(folder), flags)


def measure(folder: Path, flags: Sequence[str]) -> Run:
    """Curate `prompts.jsonl` of the folder in a fresh process, and return what it took.

    The process keeps compiled modules, as Python does unless it is told otherwise.
    """
    where = ["--prompts", str(folder / "prompts.jsonl"), "--store", str(folder / "store"), "--engine", "simulated"]
    command = [sys.executable, "-c", CHILD, str(folder / "figures.json"), *where, *flags, "--json"]
    keeping = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=keeping)
    report = json.loads(done.stdout)
    totals = {name: report["totals"][name] for name in ("prompts", "rollouts", "generated", "kept")}
    return Run(**totals, **json.loads((folder / "figures.json").read_text()))


if __name__ == "__main__":
    main()
