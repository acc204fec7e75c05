"""How near the memory that preflight estimates comes to what training takes, on the bundled policy.

Each way to train runs two steps in a process of its own, on the longest rows of the set, with completions forced to
their full length. On a GPU the measure is the most that torch allocated; else the peak of the process's memory over
what it had with everything imported. `ratio` is the estimate over it. Of the latter a part is what glibc keeps of freed
blocks below 32 MiB, as those of a small policy are, and preflight's `fragments` is an estimate of that: so it is
measured again in a process whose allocator returns them, and shown as `allocated`, with the estimate without
`fragments` over that.

    python -m benchmarks.memory --curated demo-store/curated/demo [--json FILE]

The set is any that was curated for the policy that is to be measured. Ends with status 1 where a ratio is missed.
"""

from __future__ import annotations

import ctypes
import importlib
import multiprocessing
import sys
from collections.abc import Callable, Mapping
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
    "demonstrations": {"method": "sft", "batch_size": 64},
    "pairs": {"method": "dpo", "batch_size": 32},
}
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # what proc(5) says to write
M_MMAP_THRESHOLD, RETURNED_FROM = -3, 1 << 20  # of mallopt(3), and bytes


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--curated", required=True, help="a curated set")
    arguments = parser.parse_args()
    figures = {}
    for name, changes in WAYS.items():
        (estimated, measured), (in_use, allocated) = (
            run_alone(measure, arguments.curated, changes, returns_memory) for returns_memory in (False, True)
        )
        ratio, of_allocated = estimated / measured, in_use / allocated
        figures[name] = {
            "estimated_bytes": estimated,
            "in_use_bytes": in_use,
            "measured_bytes": measured,
            "allocated_bytes": allocated,
            "ratio": round(ratio, 3),
            "of_allocated": round(of_allocated, 3),
        }
        sizes = "  ".join(
            f"{label} {size / 2**20:8,.1f} MiB"
            for label, size in (("estimated", estimated), ("measured", measured), ("allocated", allocated))
        )
        print(f"{name:20} {sizes}  ratio {ratio:.2f}, of allocated {of_allocated:.2f}", flush=True)
    write_figures(arguments.json, figures)
    if any(not TARGET[0] <= figure["ratio"] <= TARGET[1] for figure in figures.values()):
        sys.exit(1)


def run_alone(function: Callable[..., tuple[int, int]], *arguments: object) -> tuple[int, int]:
    """Return what a function returns in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        return fresh.submit(function, *arguments).result()


def measure(curated: str, changes: Mapping[str, Any], returns_memory: bool) -> tuple[int, int]:
    """Train two steps; return the estimated peak in bytes, without `fragments` where none are, and the measured one.

    Raises `LearnableError` for a policy whose memory is not estimated.
    """
    import torch

    method = changes.get("method", "grpo")
    importlib.import_module(f"trl.trainer.{method}_trainer")  # what is imported is no part of the figure
    make_trainer = importlib.import_module(f"learnable.train.trainers.{method}").make_trainer
    if returns_memory:
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, RETURNED_FROM)
    length = {"max_completion_length": 64, **changes}["max_completion_length"]
    short: dict[str, Any] = {"steps": 2, "evaluate": False, "save_steps": 1000}
    if method == "grpo":  # a live sampler would draw from rows that are not there any more
        forced = {"generation_kwargs": {"min_new_tokens": length}}
        short |= {"part": "train", "sampler": "static", "trl": forced}
    with TemporaryDirectory() as folder:
        run = prepare_run(TrainSettings(curated, folder, **{**short, **changes, "max_completion_length": length}))
        if run.memory is None:
            raise LearnableError(f"policy {run.policy.path!r} has no sizes that memory could be estimated from")
        cuda = torch.cuda.is_available()
        before = 0 if cuda else reset_peak()
        trainer = make_trainer(run)
        trainer.train_dataset = pick_longest(trainer.train_dataset, 2 * run.settings.prompts_per_step)
        trainer.train()
        after = torch.cuda.max_memory_allocated() if cuda else read_status("VmHWM")
    return run.memory.allocated if returns_memory else run.memory.peak, after - before


def pick_longest(rows: Any, count: int) -> Any:
    """Return the rows whose texts, or tokens, are longest: the estimate is of the widest step of a run."""
    lengths = [sum(len(value) for value in row.values() if isinstance(value, str | list)) for row in read_texts(rows)]
    return rows.select(sorted(range(len(rows)), key=lambda row: -lengths[row])[:count])


def read_texts(rows: Any) -> Any:
    """Return the columns that are trained on: prompts, or what the trainer made of stored completions."""
    return rows.select_columns(["prompt"]) if "spec" in rows.column_names else rows


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
