"""Does a refresh decide as a full re-curation would, at a fraction of its rollouts?

Curates a pool with the bundled policy, trains it with GRPO on the kept prompts, refreshes the set for the trained
policy, and curates the very same prompts anew with it, twice, with other random numbers. Prints which share of the
prompts the refresh asked again, on which share of decisions (kept or not) it agrees with each full re-curation, and
how well those two agree with each other: no refresh can be expected to agree better than that.

    python -m benchmarks.decisions.refresh [--limit 720] [--steps 60] [--family NAME ...] [--folder FOLDER] [--json]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from learnable.data.curated.curated_set import POOL_PARTS, open_curated

FAMILIES = ("arithmetic", "comparison", "counting", "poetry")
TRAINED = ("arithmetic", "comparison", "counting")  # short answers: a step takes a second on two cores
SEEDS = (1, 2)  # of the full re-curations; the set's own is 0
LIBRARY = "from learnable.cli.app import main; main()"


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=720, help="prompts")
    parser.add_argument("--family", action="append", help=f"repeatable (default: {', '.join(FAMILIES)})")
    parser.add_argument("--steps", type=int, default=60, help="of GRPO")
    parser.add_argument("--anchors", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="where to work, and to go on from (default: a temporary folder)")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        figures = measure(
            arguments.folder or Path(temporary),
            arguments.family or FAMILIES,
            arguments.limit,
            arguments.steps,
            arguments.anchors,
        )
    print(json.dumps(figures, indent=2) if arguments.json else describe(figures))


def measure(folder: Path, families: Sequence[str], limit: int, steps: int, anchors: int) -> dict[str, Any]:
    """Curate, train, refresh, curate anew, and compare."""
    folder.mkdir(parents=True, exist_ok=True)
    store, output = folder / "store", folder / "run"
    first = learnable("find", *_flags("family", families), "--limit", limit, "--name", "pool", "--store", store)
    if not (output / "policy" / "config.json").is_file():
        short = ("--max-completion-length", 16, "--no-evaluate", "--steps", steps, "--output", output)
        learnable(
            "train",
            *("--curated", first["curated"], "--part", "train"),
            *_flags("family", [name for name in families if name in TRAINED]),
            *short,
        )
    policy = output / "policy"
    refreshed = learnable("refresh", "--curated", first["curated"], "--policy", policy, "--anchors", anchors)
    prompts = folder / "prompts.jsonl"
    write_prompts(first["curated"], prompts)
    again = ("find", "--prompts", prompts, "--near-duplicates", 1, "--policy", policy, "--name", "full")
    full = [learnable(*again, "--seed", seed, "--store", folder / f"full-{seed}") for seed in SEEDS]
    before, ours, *theirs = (read_kept(report["curated"]) for report in (first, refreshed, *full))
    changed = refreshed["changed"]
    return {
        "prompts": changed["prompts"],
        "asked_share": changed["asked_share"],
        "rollouts": {"refresh": refreshed["totals"]["generated"], "full": [r["totals"]["generated"] for r in full]},
        "agreement": [compare(ours, other) for other in theirs],
        "ceiling": compare(*theirs),
        "old_set": [compare(before, other) for other in theirs],
        "changed": changed,
        "shelf_life": refreshed["shelf_life"],
        "drift": refreshed["drift"],
        "families": refreshed["families"],
    }


def learnable(*arguments: object) -> dict[str, Any]:
    """Run a command in a process of its own, since an engine and a trainer never share one; return its report."""
    plain = () if arguments[0] == "eval" else ("--no-prefect",)  # no evaluation is a flow
    command = [sys.executable, "-c", LIBRARY, *(str(argument) for argument in arguments), "--json", *plain]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def write_prompts(curated: str, file: Path) -> None:
    """Write the prompts of a set, so that they can be curated with other random numbers."""
    rows = read_rows(curated).select("prompt", "verifier", "spec", "family", "form", "difficulty")
    rows.write_ndjson(file)


def read_rows(curated: str) -> pl.DataFrame:
    """Return all rows of a set, one a prompt."""
    found = open_curated(curated)
    return pl.concat([pl.DataFrame(found.read(p)) for p in POOL_PARTS if found.shards(p)], how="diagonal_relaxed")


def read_kept(curated: str) -> pl.DataFrame:
    """Return which prompts a set keeps."""
    return read_rows(curated).select("prompt_id", (pl.col("decision") == "keep").alias("kept"))


def compare(one: pl.DataFrame, other: pl.DataFrame) -> dict[str, float]:
    """Return the share of decisions that agree, and the share of what each keeps that the other keeps too."""
    both = one.join(other, on="prompt_id", suffix="_other")
    kept, kept_other = both["kept"].to_numpy(), both["kept_other"].to_numpy()
    shared = (kept & kept_other).sum()
    figures = {
        "decisions": (kept == kept_other).mean(),
        "kept_is_kept": shared / max(kept.sum(), 1),
        "kept_is_found": shared / max(kept_other.sum(), 1),
    }
    return {name: round(float(value), 4) for name, value in figures.items()}


def describe(figures: dict[str, Any]) -> str:
    """Return the figures as a few lines."""
    lines = [
        f"{figures['prompts']} prompts, {figures['asked_share']:.1%} asked again; rollouts: {figures['rollouts']}",
        f"shelf life: {figures['shelf_life']}",
        f"changed: {figures['changed']}",
    ]
    lines += [f"drift: {drift}" for drift in figures["drift"]]
    lines += [f"refresh against a full re-curation: {agreement}" for agreement in figures["agreement"]]
    lines += [f"the old set against it:             {agreement}" for agreement in figures["old_set"]]
    lines.append(f"the two full re-curations:          {figures['ceiling']}")
    return "\n".join(lines)


def _flags(name: str, values: Sequence[str]) -> list[str]:
    return [part for value in values for part in (f"--{name}", value)]


if __name__ == "__main__":
    main()
