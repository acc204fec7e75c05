"""What a large ledger costs: a chunk's append, a run's memory, and going on from a finished run.

python -m benchmarks.data.ledger append [--rollouts 10000000]    an append and a run, on ledgers empty and large
python -m benchmarks.data.ledger resume [--prompts 10000]        the same command again, in a fresh process
python -m benchmarks.data.ledger start [--rollouts 10000000]     1,000 new prompts looked up, in fresh processes
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from learnable.data.ledger.ledger import Draw
from learnable.data.ledger.partition import encode
from learnable.data.ledger.upkeep import compact
from learnable.data.records import Prompt, Rollout, Sampling, Score
from learnable.data.schemas import ROLLOUTS, SCORES
from learnable.data.storage.format import mark_store
from learnable.data.storage.places import find_place
from learnable.data.store import Store

CHUNK = 1024
DRAW = Draw("simulated", Sampling())
VERSIONS = {"simulated": "1"}
PROMPT = Prompt("simulated prompt", "simulated", {"rate": 1.0}, "simulated", "Simulated")
CHILD = """
import json, resource, sys, time
from learnable.cli.app import find_app
started = time.perf_counter()
try:
    find_app(json.loads(sys.argv[1]))
except SystemExit as end:
    status = end.code
loaded = [name for name in ("vllm", "ray", "torch", "openai", "transformers") if name in sys.modules]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
seconds = time.perf_counter() - started
print(json.dumps({"status": status, "seconds": seconds, "peak_bytes": peak, "loaded": loaded}), file=sys.stderr)
"""
START = """
import json, resource, sys, time
from benchmarks.data.ledger import DRAW, VERSIONS, Prompt, Store
prompts = [Prompt(f"new {number}", "simulated", {}, "simulated", "Simulated") for number in range(1000)]
clock, processor = time.perf_counter(), time.process_time()
store = Store(sys.argv[1])
with store.hold(wait=0, on_wait=print):
    stored, _ = store.ledger.find_rollouts(DRAW, prompts)
    store.ledger.find_scores(DRAW, stored, VERSIONS)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": clock, "processor_seconds": processor, "peak_bytes": peak}))
"""


def main() -> None:
    """Measure what was arguments for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["append", "resume", "start"])
    parser.add_argument("--rollouts", type=int, default=10_000_000, help="rows of the large ledger")
    parser.add_argument("--appends", type=int, default=60, help="appends of each kind, taking turns")
    parser.add_argument("--prompts", type=int, default=10_000, help="prompts of the finished run, 16 rollouts each")
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        if arguments.what == "append":
            figures = measure_append(Path(folder), arguments.rollouts, arguments.appends)
        elif arguments.what == "start":
            figures = measure_start(Path(folder), arguments.rollouts)
        else:
            figures = measure_resume(Path(folder), arguments.prompts)
    print(json.dumps(figures, indent=2))


def measure_append(folder: Path, rollouts: int, appends: int) -> dict[str, Any]:
    """Return seconds an append and peak memory of a run, on an empty ledger, a large one, and that one merged."""
    large, empty = folder / "large", folder / "empty"
    started = time.perf_counter()
    fill(large, rollouts)
    figures: dict[str, Any] = {"rollouts": rollouts, "files": count_files(large), "fill_seconds": since(started)}
    figures["append_ms"] = append_in_turns(empty, large, appends)
    figures["run"] = {name: run_on(folder / name) for name in ("empty", "large")}
    started = time.perf_counter()
    with Store(large).hold(wait=0, on_wait=print):
        compact(Store(large).ledger)
    figures["compact_seconds"], figures["files_merged"] = since(started), count_files(large)
    figures["run"]["merged"] = run_on(large, seed=2)
    figures["append_ms_merged"] = append_in_turns(folder / "empty-2", large, appends)
    return figures


def append_in_turns(empty: Path, large: Path, appends: int) -> dict[str, float]:
    """Append a chunk of rollouts with its scores to the one and the other; return medians in milliseconds."""
    stores = {"empty": Store(empty), "large": Store(large)}
    taken: dict[str, list[float]] = {"empty": [], "large": []}
    with stores["empty"].hold(wait=0, on_wait=print), stores["large"].hold(wait=0, on_wait=print):
        for turn in range(appends + 1):
            for name, store in stores.items():
                rows = chunk(turn)
                started = time.perf_counter()
                store.ledger.append_rollouts(DRAW, rows)
                store.ledger.append_scores(DRAW, VERSIONS, [(row, PROMPT, Score(1.0, True)) for row in rows])
                taken[name].append(since(started))
    medians = {name: 1000 * median(times[1:]) for name, times in taken.items()}
    return {**medians, "ratio": medians["large"] / medians["empty"]}


def measure_start(folder: Path, rollouts: int) -> dict[str, Any]:
    """Return the wall clock and the processor's seconds until 1,000 new prompts are looked up, and the peak memory.

    `first` has no index and reads every file; `again` are three later processes.
    """
    store = folder / "large"
    fill(store, rollouts)
    figures: dict[str, Any] = {"rollouts": rollouts, "files": count_files(store)}
    figures["first"], *figures["again"] = [in_python(START, store) for _ in range(4)]
    figures["index_bytes"] = sum(file.stat().st_size for file in store.rglob("keys-*.arrow"))
    return figures


def run_on(store: Path, seed: int = 1) -> dict[str, Any]:
    """Run a curation of 1,000 prompts that the ledger does not hold, in a process of its own."""
    return in_a_process(
        [
            "--family",
            "simulated",
            "--engine",
            "simulated",
            "--sampling",
            "fixed",
            "--limit",
            "1000",
            "--seed",
            str(seed),
        ],
        store,
    )


def measure_resume(folder: Path, prompts: int) -> dict[str, Any]:
    """Return what a finished run of the bundled policy on vLLM costs when its command is given again."""
    families = ["--family", "arithmetic", "--family", "comparison", "--family", "counting"]
    arguments = [*families, "--sampling", "fixed", "--limit", str(prompts), "--max-tokens", "32"]
    first = in_a_process(arguments, folder / "store")
    return {"first": first, "again": [in_a_process(arguments, folder / "store") for _ in range(3)]}


def in_python(code: str, store: Path) -> dict[str, Any]:
    """Run code on a store in a process of its own, and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code, str(store)], capture_output=True, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def in_a_process(arguments: Sequence[str], store: Path) -> dict[str, Any]:
    """Run `find-learnable` and return its own wall clock, peak memory, and which engine libraries it loaded."""
    command = [*arguments, "--store", str(store), "--no-prefect", "--quiet", "--json"]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(command)], capture_output=True, text=True, check=True
    )
    figures: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return {**figures, "process_seconds": since(started)}


def fill(root: Path, rollouts: int) -> None:
    """Write a ledger as runs leave it: chunks of 1,024 rollouts and as many scores, 16 rollouts a prompt."""
    random = np.random.default_rng(0)
    folders = (root / "rollouts" / DRAW.folder, root / "scores" / DRAW.folder / "simulated@1")
    mark_store(find_place(root))
    for folder in folders:
        folder.mkdir(parents=True)
    for number in range(-(-rollouts // CHUNK)):
        for folder, table in zip(folders, synthetic(number, random), strict=True):
            name, data = encode(table, number, number)
            (folder / name).write_bytes(data)  # no fsync: nothing here is worth it


def synthetic(number: int, random: np.random.Generator) -> tuple[pa.Table, pa.Table]:
    """Return a chunk of rollouts with texts that do not compress well, and their scores."""
    first = number * CHUNK
    prompts = [f"{(first + index) // 16:020x}" for index in range(CHUNK)]
    ids = [f"{first + index:020x}" for index in range(CHUNK)]
    tokens = random.integers(20, 200, CHUNK).astype(np.int32)
    texts = [random.bytes(40).hex() for _ in range(CHUNK)]
    columns = {
        "rollout_id": ids, "completion_id": [one[-16:] for one in ids],
        "question_id": prompts, "policy_id": [DRAW.policy_id] * CHUNK,
        "sampling_id": [DRAW.sampling.sampling_id] * CHUNK, "max_tokens": np.full(CHUNK, 256, np.int32),
        "rollout_index": (np.arange(CHUNK) % 16).astype(np.int32), "seed": random.integers(0, 2**31, CHUNK),
        "completion": texts, "finish_reason": ["stop"] * CHUNK, "num_tokens": tokens,
        "reasoning": [""] * CHUNK, "reasoning_tokens": np.zeros(CHUNK, np.int32),
        "token_ids": pa.nulls(CHUNK, ROLLOUTS.field("token_ids").type),
    }  # fmt: skip
    scores = {
        "rollout_id": ids, "completion_id": [one[-16:] for one in ids], "prompt_id": prompts,
        "verifier": ["simulated"] * CHUNK, "verifier_version": ["1"] * CHUNK,
        "reward": random.random(CHUNK), "passed": random.random(CHUNK) > 0.5,
        "components": pa.nulls(CHUNK, SCORES.field("components").type), "verdict": ["scored"] * CHUNK,
        "reason": [""] * CHUNK,
    }  # fmt: skip
    return pa.table(columns, schema=ROLLOUTS), pa.table(scores, schema=SCORES)


def chunk(turn: int) -> list[Rollout]:
    """Return a chunk of new rollouts."""
    return [
        Rollout(
            f"new-{turn}-{index // 16}", DRAW.policy_id, DRAW.sampling.sampling_id, 256, index % 16, "pass", "stop", 9
        )
        for index in range(CHUNK)
    ]


def count_files(root: Path) -> int:
    """Return how many Parquet files the ledger has."""
    return sum(1 for table in ("rollouts", "scores") for _ in (root / table).rglob("*.parquet"))


def since(started: float) -> float:
    """Return the seconds since `started`."""
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
