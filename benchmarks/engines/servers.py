"""How many requests a second does a server engine get through a server that is slow, refuses and breaks connections?

The server is a stand-in on loopback (`tests.rollouts.server.busy_server_for_tests`): it computes 400 requests at a
time, of half a second each, refuses what is more than 800 at once, and breaks 1 % of connections. 3,000 groups of 4 are
requested, with a limit that follows the server and with 64 at once as the most. Each run is a process of its own.
Reports requests a second, and by how much the process's memory grew at most.

    python -m benchmarks.engines.servers [--requests 3000] [--seed 0] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.figures import make_parser, write_figures
from learnable.data.policies import Policy
from learnable.data.records import Prompt, Sampling
from learnable.rollouts.protocol import GroupRequest, Refusal
from learnable.rollouts.server import limits, models
from learnable.rollouts.server.engine import ServerEngine
from tests.rollouts.server.busy_server_for_tests import BusyServerProcess, Manners

GROUP_SIZE = 4
MANNERS = Manners(slots=400, seconds=0.5, room=800, breaks=0.01)
LIMITS = {"adaptive": 4096, "64 at once": 64}


def measure(url: str, requests: int, most: int, request_timeout: float) -> dict[str, float]:
    """Answer so many requests in this process; memory is in MiB."""
    engine = ServerEngine([url], Policy(path="m", policy_id="m@1"), concurrency=most, request_timeout=request_timeout)
    before, started = read_peak(), time.perf_counter()
    answers = list(engine.generate(write_requests(requests), Sampling(max_tokens=256)))
    rollouts = [rollout for answer in answers if not isinstance(answer, Refusal) for rollout in answer]
    return {
        "groups": len({(rollout.question_id, rollout.rollout_index) for rollout in rollouts}) / GROUP_SIZE,
        "refusals": sum(isinstance(answer, Refusal) for answer in answers),
        "seconds": time.perf_counter() - started,
        "empty": sum(rollout.completion != "yes" for rollout in rollouts),
        "memory_growth": read_peak() - before,
    }


def write_requests(count: int) -> Iterator[GroupRequest]:
    """Yield requests with prompts of about 2 KB each."""
    for number in range(count):
        prompt = Prompt(f"{number} " + "word " * 400, "choice", {"answer": "yes"}, family="f", form="F")
        yield GroupRequest(prompt, GROUP_SIZE)


def read_peak() -> float:
    """Return the most memory that this process has had, in MiB."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def run_alone(url: str, requests: int, most: int, first: int = limits.FIRST, timeout: float = 10.0) -> dict[str, float]:
    """Measure in a process of its own, with `first` requests to begin with."""
    command = [sys.executable, "-m", "benchmarks.engines.servers", "--url", url, "--requests", str(requests)]
    command += ["--most", str(most), "--first", str(first), "--timeout", str(timeout)]
    figures: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return figures


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--url", help=argparse.SUPPRESS)  # the server of a process that `run_alone` starts
    for name, default in (("--most", 4096), ("--first", limits.FIRST), ("--timeout", 10)):
        parser.add_argument(name, type=float, default=default, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.url:
        limits.FIRST, models.CONNECT_TIMEOUT = int(arguments.first), arguments.timeout
        print(json.dumps(measure(arguments.url, arguments.requests, int(arguments.most), arguments.timeout)))
        return
    figures: dict[str, dict[str, float]] = {}
    for name, most in LIMITS.items():
        with BusyServerProcess(replace(MANNERS, seed=arguments.seed)) as server:
            figures[name] = run_alone(server.url, arguments.requests, most) | asdict(server.counts)
        row = figures[name]
        print(
            f"{name}: {arguments.requests / row['seconds']:,.0f} requests/s, memory grew by {row['memory_growth']:.0f} "
            f"MiB; {row['groups']:,.0f} groups, {row['refusals']:.0f} refused, {row['empty']:.0f} without text; the "
            f"server refused {row['refused']:,.0f}, broke {row['broken']:,.0f}, left {row['hung']:,.0f} hanging, and "
            f"had {row['peak']:,.0f} at once"
        )
    write_figures(arguments.json, figures)


if __name__ == "__main__":
    main()
