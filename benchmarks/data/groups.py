"""Statistics and decisions of 100 million scored rollouts: how long, and how much memory, on two cores?

6.25 million groups of 16 in Parquet, as the ledger leaves them (a prompt's rollouts together) or in random order,
reduced and decided in a fresh process: `group_stats` and `decide`, which a run applies to each part of its pool. With
`--peers`, pandas and `datasets` do the same job on the same files, each in a process of its own. With `--evidence` it
is all that a run adds up of its rollouts, part by part (`gather_evidence`): certificates, components, attempts. The
results are compared.

    python -m benchmarks.data.groups [--rows 100_000_000] [--order ledger|random] [--json FILE]
    python -m benchmarks.data.groups --evidence [--rows 10_000_000]
    python -m benchmarks.data.groups --peers [--rows 10_000_000] [--order random]
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from polars.testing import assert_frame_equal

from benchmarks.figures import make_parser, write_figures
from learnable.data.band import Band
from learnable.data.records import REWARDED_VERDICTS
from learnable.filters.decisions.decide import decide
from learnable.filters.decisions.evidence import gather_evidence
from learnable.filters.posterior.certificate import fit_family_prior, read_signal
from learnable.filters.statistics.groups import GROUP_STATS_COLUMNS, group_stats
from learnable.flows.sampling.scan import ROLLOUTS_AT_ONCE, SCORED

Words = NDArray[np.uint64]

GROUP = 16
BOUNDS = {"ledger": "15 s, 2.5 GiB", "random": "60 s, 4 GiB"}
RATIOS = {"pandas": 3, "datasets": 20}
ROWS_AT_ONCE = 25_000_000  # some 110 bytes each while rows of as many prompts are grouped: under 4 GiB
SAMPLE = 250_000  # adjacent rows that show whether a prompt's rollouts lie together
VERDICTS = pa.array(["scored", "truncated", "verifier_error", "engine_error"])
HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), np.uint16)
CHILD = """
import json, resource, sys, time
from pathlib import Path
from benchmarks.data.groups import JOBS
job, files, target = JOBS[sys.argv[1]], sorted(Path(sys.argv[2]).glob("*.parquet")), Path(sys.argv[3])
if sys.argv[1] == "pandas":
    import pandas
if sys.argv[1] == "datasets":
    import datasets
started, cpu = time.perf_counter(), time.process_time()
job(files, target)
used = resource.getrusage(resource.RUSAGE_SELF)
figures = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu}
print(json.dumps({**figures, "peak_gib": used.ru_maxrss / 2**20}))
"""
MAKE = """
import sys
from pathlib import Path
from benchmarks.data.groups import make
make(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
"""


def main() -> None:
    """Measure what the arguments say."""
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, help="rollouts (default: 100 million, with --peers 10 million)")
    parser.add_argument("--order", choices=list(BOUNDS), help="of the rows (default: ledger, with --peers random)")
    parser.add_argument("--file-rows", type=int, default=1_000_000, help="rows a file")
    parser.add_argument("--repeats", type=int, default=3, help="rounds, of which the median counts")
    parser.add_argument("--peers", action="store_true", help="let pandas and datasets do it too, once each a round")
    parser.add_argument("--evidence", action="store_true", help="all that a run adds up too, in the ledger's order")
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    arguments = parser.parse_args()
    if arguments.evidence and (arguments.peers or arguments.order == "random"):
        parser.error("--evidence is of the ledger's order, and no peer gathers it")
    rows = arguments.rows or (10_000_000 if arguments.peers or arguments.evidence else 100_000_000)
    order = arguments.order or ("random" if arguments.peers else "ledger")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        data = Path(name) / "scores"
        run(MAKE, data, rows, order, arguments.file_rows)
        jobs = ["learnable", *(RATIOS if arguments.peers else []), *(["evidence"] if arguments.evidence else [])]
        figures = {"rows": rows, "order": order, **measure(data, jobs, arguments.repeats)}
    if rows == 100_000_000:
        print(f"bounds: {BOUNDS[order]}")
    write_figures(arguments.json, figures)


def measure(data: Path, jobs: list[str], repeats: int) -> dict[str, Any]:
    """Run the jobs in turns; return medians of seconds and GiB, ratios of seconds to ours, and what was decided."""
    rounds: dict[str, list[dict[str, float]]] = {job: [] for job in jobs}
    for turn in range(repeats):
        for job in jobs:
            target = data.parent / f"{job}-{turn}"
            load = os.getloadavg()[0]
            figures = json.loads(run(CHILD, job, data, target)) | {"load": load}
            rounds[job].append(figures)
            print(f"{job}: " + ", ".join(f"{key} {value:.2f}" for key, value in figures.items()), flush=True)
            if job != "learnable" and turn == 0:
                compare(data.parent / "learnable-0", target)
    medians = {job: {key: median(one[key] for one in runs) for key in runs[0]} for job, runs in rounds.items()}
    ratios = {
        job: median(
            peer["seconds"] / own["seconds"] for peer, own in zip(rounds[job], rounds["learnable"], strict=True)
        )
        for job in jobs[1:]
    }
    for job, ratio in ratios.items():
        bound = f" (at least {RATIOS[job]})" if job in RATIOS else ""
        print(f"{job} takes {ratio:.1f} times as long{bound}")
    return {"median": medians, "ratios": ratios, "decisions": decisions(data.parent / "learnable-0")}


def compare(ours: Path, theirs: Path) -> None:
    """Raise `AssertionError` unless what the other job wrote is what we did, fractions being equal to 1e-9."""
    one, other = (pl.read_parquet(folder / "*.parquet").cast({pl.Enum: pl.String}) for folder in (ours, theirs))
    both = [name for name in other.columns if name in one.columns]
    one, other = one.select(both).sort("prompt_id"), other.select(both).sort("prompt_id")
    assert_frame_equal(one, other.cast(one.schema), abs_tol=1e-9)


def decisions(folder: Path) -> dict[str, int]:
    """Return how many prompts each decision took."""
    counted = pl.scan_parquet(folder / "*.parquet").group_by("decision").len().sort("decision")
    return dict(counted.with_columns(pl.col("decision").cast(pl.String)).collect(engine="streaming").iter_rows())


def by_learnable(files: list[Path], target: Path) -> None:
    """The job: every statistic and the decision of each prompt, streaming.

    Rows whose prompts are scattered are read in several passes, each of which groups its share of the prompts.
    """
    target.mkdir()
    scores = pl.scan_parquet(files)
    rows: int = scores.select(pl.len()).collect().item()
    distinct: float = scores.head(SAMPLE).select(pl.col("prompt_id").n_unique() / pl.len()).collect().item()
    passes = max(1, math.ceil(rows * distinct / ROWS_AT_ONCE))
    for number in range(passes):
        part = scores.filter(pl.col("prompt_id").hash(seed=0) % passes == number) if passes > 1 else scores
        decide(group_stats(part.select(GROUP_STATS_COLUMNS)), Band()).sink_parquet(target / f"groups-{number}.parquet")


def by_evidence(files: list[Path], target: Path) -> None:
    """What a run adds up of its rollouts, with the priors of its first part, and decides like a fixed group."""
    target.mkdir()
    rows = next(iter(rollouts_of(files))).lazy()
    stats = group_stats(rows).sort("prompt_id").collect()
    places = stats.select("prompt_id", place=pl.int_range(pl.len()))
    rewards = rows.filter(pl.col("reward").is_not_null()).select("prompt_id", "reward").collect()
    listed = rewards.join(places, on="prompt_id").select("place", "reward")
    prior = fit_family_prior(*read_signal(stats), (listed["place"].to_numpy(), listed["reward"].to_numpy()))
    evidence = gather_evidence(rollouts_of(files), {"any": prior}, Band())
    decide(evidence.groups.lazy(), Band()).sink_parquet(target / "groups.parquet")


def rollouts_of(files: list[Path]) -> Iterator[pl.DataFrame]:
    """Yield the rollouts as a run's own are yielded (`flows.sampling.scan.RolloutScan.parts`), so many at a time."""
    rows = ROLLOUTS_AT_ONCE // GROUP * GROUP
    total: int = pl.scan_parquet(files).select(pl.len()).collect().item()
    for start in range(0, total, rows):
        part = (
            pl.scan_parquet(files)
            .slice(start, rows)
            .with_columns(
                rollout_id=pl.format("{}-{}", "prompt_id", "rollout_index"),
                components=pl.lit([], SCORED["components"]),
                opening=pl.col("rollout_index") < 4,
                family=pl.lit("any"),
                form=pl.lit("Any"),
            )
        )
        yield part.collect()


def by_pandas(files: list[Path], target: Path) -> None:
    """The job in pandas."""
    import pandas as pd

    scores = pd.read_parquet(files, columns=list(GROUP_STATS_COLUMNS))
    verdict, counts = scores["verdict"], scores["verdict"].isin(REWARDED_VERDICTS) & scores["reward"].notna()
    scores["reward"] = scores["reward"].where(counts)
    scores["passes"] = counts & scores["passed"].eq(True)
    for name in VERDICTS.to_pylist():
        scores[f"n_{name}"] = verdict == name
    scores["zeros"], scores["ones"] = scores["reward"] == 0, scores["reward"] == 1
    groups = scores.rename(columns={"num_tokens": "tokens"}).groupby("prompt_id", sort=False)
    sums = ["passes", "zeros", "ones", "tokens", *(f"n_{name}" for name in VERDICTS.to_pylist())]
    stats, rewards = groups[sums].sum(), groups["reward"]
    stats["n"], stats["mean"], stats["std"] = rewards.count(), rewards.mean(), rewards.std(ddof=0)
    stats["min_reward"], stats["max_reward"] = rewards.min(), rewards.max()
    stats["rollouts"] = groups.size() - stats["n_engine_error"]
    stats["pass_rate"] = stats["passes"] / stats["n"]
    decide_plainly(pl.from_pandas(stats.reset_index()), target)


def by_datasets(files: list[Path], target: Path) -> None:
    """What the decision needs, in `datasets`: filter what counts, map to gather the groups, map over the groups."""
    import datasets

    datasets.disable_progress_bars()
    cache = str(target.parent / f"{target.name}-cache")
    scores = datasets.load_dataset("parquet", data_files=[str(f) for f in files], split="train", cache_dir=cache)
    scores = scores.select_columns(list(GROUP_STATS_COLUMNS))
    rewards: dict[str, list[float]] = {prompt: [] for prompt in scores.unique("prompt_id")}

    def honest(batch: dict[str, list[Any]]) -> list[bool]:
        return [verdict in REWARDED_VERDICTS for verdict in batch["verdict"]]

    def gather(batch: dict[str, list[Any]]) -> None:
        for prompt, reward in zip(batch["prompt_id"], batch["reward"], strict=True):
            rewards[prompt].append(reward)

    def describe(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {"n": [], "mean": [], "std": [], "min_reward": [], "max_reward": []}
        for one in batch["rewards"]:
            n, mean = len(one), sum(one) / len(one) if one else None
            std = (sum((x - mean) ** 2 for x in one) / n) ** 0.5 if mean is not None else None
            row = (n, mean, std, min(one, default=None), max(one, default=None))
            for values, value in zip(columns.values(), row, strict=True):
                values.append(value)
        return columns

    scores.filter(honest, batched=True).map(gather, batched=True)
    groups = datasets.Dataset.from_dict({"prompt_id": list(rewards), "rewards": list(rewards.values())})
    stats = groups.map(describe, batched=True, remove_columns=["rewards"])
    decide_plainly(pl.from_arrow(stats.data.table), target)


def decide_plainly(stats: Any, target: Path) -> None:
    """Decide a peer's groups and write them: a few expressions over as many rows as there are prompts."""
    # Rounded, since a deviation of exactly .1 comes out as .0999... where floats are added up, and would not be kept.
    agrees = (pl.col("min_reward") == pl.col("max_reward")).alias("zero_std")
    decided = decide(stats.lazy().with_columns(pl.col("std").round(12), agrees), Band())
    target.mkdir()
    decided.sink_parquet(target / "groups.parquet")


JOBS: dict[str, Callable[[list[Path], Path], None]] = {
    "learnable": by_learnable,
    "pandas": by_pandas,
    "datasets": by_datasets,
    "evidence": by_evidence,
}


def make(folder: Path, rows: int, order: str, file_rows: int) -> None:
    """Write the scored rollouts: in both orders the same rows, and the same on every machine."""
    folder.mkdir(parents=True)
    places = np.arange(rows, dtype=np.uint32)
    if order == "random":
        np.random.default_rng(0).shuffle(places)
    for number, start in enumerate(range(0, rows, file_rows)):
        table = scored(places[start : start + file_rows].astype(np.uint64))
        pq.write_table(table, folder / f"{number:06d}.parquet", compression="zstd")


def scored(rollouts: Words) -> pa.Table:
    """Return these rollouts' rows. Half of the prompts give 0 or 1, half quarters; 2 % of rollouts have no score."""
    group, chance = rollouts // GROUP, uniform(mix(rollouts))
    able = np.clip(uniform(mix(~group)) * 1.6 - 0.3, 0, 1)  # many always fail, many always pass
    quarters = np.round(np.clip(able + (chance - 0.5) / 2, 0, 1) * 4) / 4
    reward = np.where(group % 2 == 0, quarters, chance < able)
    rest = mix(mix(rollouts))
    verdict = np.digitize(rest % 100, [96, 98, 99])
    return pa.table(
        {
            "prompt_id": hex_ids(group),
            "rollout_index": pa.array((rollouts % GROUP).astype(np.int64)),
            "num_tokens": pa.array((20 + (rest >> 32) % 400).astype(np.int64)),
            "reward": pa.array(reward, mask=verdict > 1),
            "passed": pa.array(reward >= 0.75, mask=verdict > 1),
            "verdict": VERDICTS.take(verdict),
            "reason": pa.repeat("", len(rollouts)),
        }
    )


def hex_ids(numbers: Words) -> pa.Array[Any]:
    """Return 20 hex digits for each number: those of two hashes, so that they do not compress."""
    taken = np.column_stack([mix(numbers), mix(~numbers)]).view(np.uint8)[:, :10]
    ends = np.arange(len(numbers) + 1, dtype=np.int32) * 20
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(ends.data), pa.py_buffer(HEX[taken].data))


def mix(words: Words) -> Words:
    """Return 64 well mixed bits for each word: SplitMix64.

    Steele et al., 2014, "Fast splittable pseudorandom number generators".
    """
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def uniform(words: Words) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each word."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def run(code: str, *arguments: object) -> str:
    """Run code in a fresh process and return what it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    main()
