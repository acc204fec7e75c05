"""How near the memory that preflight estimates comes to what training takes, on the bundled policy.

Each way to train runs two steps in a process of its own, with completions forced to their full length. On a GPU the
measure is the most that torch allocated; else the peak of the process's memory over what it had with everything
imported. `ratio` is the estimate over it.

    python -m benchmarks.memory --curated demo-store/curated/demo [--json FILE]

The set is any that was curated for the policy that is to be measured. Ends with status 1 where a ratio is missed.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.figures import make_parser, write_figures
from learnable.data.errors import LearnableError
from learnable.train.preflight.checks import prepare_run
from learnable.train.settings import TrainSettings

TARGET = (1 / 1.15, 1.15)
WAYS: Mapping[str, Mapping[str, Any]] = {
    "all at once": {"batch_size": 128},
    "micro batches": {"batch_size": 128, "micro_batch_size": 32},
    "long completions": {"batch_size": 64, "max_completion_length": 256},
    "without a reference": {"batch_size": 128, "no_kl": True},
    "adapters": {"batch_size": 128, "lora_rank": 16},
}
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # what proc(5) says to write


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--curated", required=True, help="a curated set")
    arguments = parser.parse_args()
    figures = {}
    for name, changes in WAYS.items():
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
            estimated, measured = fresh.submit(measure, arguments.curated, changes).result()
        ratio = estimated / measured
        figures[name] = {"estimated_bytes": estimated, "measured_bytes": measured, "ratio": round(ratio, 3)}
        print(f"{name:20} {estimated / 2**20:10,.1f} MiB  measured {measured / 2**20:10,.1f} MiB  ratio {ratio:.2f}")
    write_figures(arguments.json, figures)
    if any(not TARGET[0] <= figure["ratio"] <= TARGET[1] for figure in figures.values()):
        sys.exit(1)


def measure(curated: str, changes: Mapping[str, Any]) -> tuple[int, int]:
    """Train two steps; return the estimated and the measured peak in bytes.

    Raises `LearnableError` for a policy whose memory is not estimated.
    """
    import torch
    import trl.trainer.grpo_trainer  # noqa: F401  # what is imported is no part of the figure

    from learnable.train.trainers.grpo import make_trainer

    length = {"max_completion_length": 64, **changes}["max_completion_length"]
    forced = {"generation_kwargs": {"min_new_tokens": length}}
    short = {"steps": 2, "evaluate": False, "save_steps": 1000, "trl": forced}
    with TemporaryDirectory() as folder:
        run = prepare_run(TrainSettings(curated, folder, **{**short, **changes, "max_completion_length": length}))
        if run.memory is None:
            raise LearnableError(f"policy {run.policy.path!r} has no sizes that memory could be estimated from")
        cuda = torch.cuda.is_available()
        before = 0 if cuda else reset_peak()
        make_trainer(run).train()
        after = torch.cuda.max_memory_allocated() if cuda else read_status("VmHWM")
    return run.memory.peak, after - before


def reset_peak() -> int:
    """Let the peak of this process begin anew; return its memory now, in bytes."""
    CLEAR.write_text(RESET_PEAK, encoding="ascii")
    return read_status("VmRSS")


def read_status(name: str) -> int:
    """Return a figure of `/proc/self/status` in bytes."""
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    main()
