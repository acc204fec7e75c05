"""The whole way with a real chat model: find, show, train, refresh, eval on four pools; and one job against plain GRPO.

The model is a folder that vLLM and transformers load, with a chat template: `make real-model REAL_MODEL=FOLDER`, or
`real-model/` here. Any small instruct model will do. Where it is not there, nothing is measured, and that is said.

- `natural`: arithmetic and counting in natural words; `arithmetic`: bare sums; `gym`: a mix of reasoning-gym;
  `haiku`: 60 of them. Of each pool: what was kept, what a LoRA run of a few steps changed, what a refresh for the
  trained policy took. A stage that refuses its input is a figure too: its sentence stands in the table.
- `--compare`: one job and plain GRPO (each prompt of the pool alike) at equal generated tokens, all counted, seed by
  seed, on held-out prompts of the pool that both measure.

    python -m benchmarks.real_model --model FOLDER [--pools natural haiku] [--limit 24] [--steps 3] [--json FILE]
    python -m benchmarks.real_model --model FOLDER --compare --pool-size 200 --seeds 3 --steps 40
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.figures import make_parser, write_figures
from learnable.train.monitor.records import read_metrics

LEARNABLE = "from learnable.cli.app import main; main()"
EASY = ("--knob", "arithmetic.largest=9")  # a model of this size knows few sums
POOLS: Mapping[str, tuple[str, ...]] = {
    "natural": ("--family", "arithmetic", "--family", "counting", "--wording", "natural", *EASY),
    "arithmetic": ("--family", "arithmetic", "--wording", "plain", *EASY),
    "gym": ("--prompts", "reasoning-gym:*"),
    "haiku": ("--form", "haiku"),
}
HAIKU = 60
HELD_OUT = 0.3  # of a pool's problems
GROUP = 4  # completions a prompt, in all that trains and measures
STEP = 2 * GROUP  # completions a step
Figures = dict[str, Any]


def main() -> None:
    """Measure and report; say so where there is no model."""
    arguments = read_arguments()
    if not (arguments.model / "config.json").is_file():
        print(
            f"skipped: {arguments.model} holds no model. Give a folder with config.json, weights, tokenizer and chat "
            "template of any small instruct model, as make real-model REAL_MODEL=FOLDER"
        )
        return
    figures = describe_machine(arguments.model)
    if arguments.compare:
        figures["seeds"] = [compare_ways(arguments, seed) for seed in range(arguments.seeds)]
    else:
        figures["pools"] = {name: measure_pool(name, arguments) for name in arguments.pools}
    print_figures(figures)
    write_figures(arguments.json, figures)


def read_arguments() -> argparse.Namespace:
    """Return what the command line says."""
    parser = make_parser(__doc__)
    parser.add_argument("--model", type=Path, default=Path("real-model"))
    parser.add_argument("--work", type=Path, default=Path("runs/real-model"), help="store and runs go here")
    parser.add_argument("--pools", nargs="+", choices=POOLS, default=list(POOLS))
    parser.add_argument("--limit", type=int, default=24, help="prompts of a pool; of haiku always 60")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--max-tokens", type=int, default=48)
    parser.add_argument("--max-group", type=int, default=16, help="completions of a prompt that finding takes at most")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--eval-limit", type=int, default=8, help="held-out prompts that are measured")
    parser.add_argument("--learning-rate", type=float, default=1e-5)
    parser.add_argument("--compare", action="store_true", help="one job against plain GRPO at equal tokens")
    parser.add_argument("--pool-size", type=int, default=200, help="of 300 at most")
    parser.add_argument("--seeds", type=int, default=3)
    return parser.parse_args()


def describe_machine(model: Path) -> Figures:
    """Return the date, the machine and the model's name, which say what figures are worth."""
    gpu = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout if has_gpu() else ""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": f"{os.cpu_count()} cores of {platform.machine()}, {gpu.split('(')[0].strip() or 'no GPU'}",
        "model": json.loads((model / "config.json").read_text(encoding="utf-8")).get("_model_name_or_path")
        or model.name,
    }


def has_gpu() -> bool:
    """Whether there is a driver of a GPU."""
    return any((Path(folder) / "nvidia-smi").is_file() for folder in os.environ.get("PATH", "").split(os.pathsep))


def measure_pool(name: str, arguments: argparse.Namespace) -> Figures:
    """Take a pool the whole way; a stage that refuses ends it, and its sentence is kept."""
    store, model = arguments.work / "store", arguments.model
    figures: Figures = {}
    try:
        limit = HAIKU if name == "haiku" else arguments.limit
        common = (*POOLS[name], "--policy", model, "--limit", limit, "--max-tokens", arguments.max_tokens)
        common = (*common, "--temperature", arguments.temperature)
        run("find", *common, "--show", 2)
        found, seconds = timed("find", *common, *_sizes(arguments), "--name", name, "--store", store)
        totals = found["totals"]
        figures |= {key: totals[key] for key in ("prompts", "kept", "rollouts", "tokens", "truncated")}
        figures |= {"find_seconds": seconds, "generated": totals["generated"]}
        run("show", found["curated"])
        part = () if totals["train"] > 1 else ("--part", "pool")  # of a model that learns nothing here, all the same
        folder = arguments.work / f"train-{name}-{Path(found['curated']).name}-{time.time():.0f}"
        trained, seconds = timed(
            "train", "--curated", found["curated"], "--output", folder, *_training(arguments, arguments.steps), *part
        )
        held_out = trained["held_out"]["mean_reward"]
        figures |= {"steps": trained["training"]["steps"], "train_seconds": seconds}
        figures |= {"before": held_out["before"]["value"], "after": held_out["after"]["value"]}
        policy = trained["trained_policy"]
        refreshed, seconds = timed("refresh", "--curated", found["curated"], "--policy", policy, "--anchors", 8)
        figures |= {"refresh_rollouts": refreshed["totals"]["generated"], "refresh_seconds": seconds}
        flags = ("--group-size", GROUP, "--k", GROUP, "--limit", arguments.eval_limit)
        measured, seconds = timed("eval", "--curated", found["curated"], "--policy", policy, *flags)
        figures |= {"eval_reward": measured["figures"][0]["mean_reward"]["value"], "eval_seconds": seconds}
    except subprocess.CalledProcessError as error:
        figures["ended"] = say_why(error)
    return figures


def compare_ways(arguments: argparse.Namespace, seed: int) -> Figures:
    """Return what one job and plain GRPO come to at the same generated tokens, on held-out prompts of one pool.

    Plain GRPO takes as many steps as the job's tokens pay for at the length of the job's own completions; those of
    held-out reward are counted in neither. What it generated in the end stands beside it.
    """
    work, seeded = arguments.work / f"compare-{seed}", ("--seed", seed)
    pool = ("--pool", write_sums(work / "sums.jsonl", arguments.pool_size, seed), "--verifier", "arithmetic")
    job, seconds = timed(
        *("train", *pool, "--policy", arguments.model, "--store", work / "store", "--output", work / "job"),
        *(*_training(arguments, arguments.steps), *seeded),
    )
    figures: Figures = {"seed": seed, "rounds": len(job["rounds"]), "job_seconds": seconds}
    paid = [cost for cost in job["paid"] if not cost["what"].startswith("held-out")]
    spent = sum(cost["tokens"] for cost in paid)
    each = spent / sum(cost["completions"] for cost in paid)
    grpo, seconds = timed(
        *("train", "--curated", job["rounds"][0]["curated"], "--output", work / "plain"),
        *("--part", "pool", "--sampler", "static", "--stored", "off"),
        *(*_training(arguments, max(1, round(spent / (each * STEP)))), *seeded),
    )
    records = read_metrics(Path(grpo["metrics"]))
    made = sum(record.read("completion_length") or 0.0 for record in records) * STEP
    figures |= {"plain_seconds": seconds, "job_tokens": spent, "plain_tokens": round(made)}
    figures |= {"job_steps": sum(one["steps"] for one in job["rounds"]), "plain_steps": grpo["training"]["steps"]}
    for name, found in (("job", job["held_out"]), ("plain", grpo["held_out"])):
        reward = found["mean_reward"]
        figures |= {f"{name}_before": reward["before"]["value"], f"{name}_after": reward["after"]["value"]}
    return figures


def write_sums(file: Path, count: int, seed: int) -> Path:
    """Write so many sums of numbers of one or two digits, each once, and return the file."""
    rng, sums = random.Random(seed), set[tuple[int, int]]()
    while len(sums) < count:
        sums.add((rng.randint(0, 9), rng.randint(0, 29)))
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"prompt": f"What is {one} + {other}? Just the number.", "answer": one + other} for one, other in sorted(sums)
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


def _sizes(arguments: argparse.Namespace) -> tuple[object, ...]:
    pilot = ("--pilot-prompts", 12, "--pilot-rollouts", GROUP)
    return ("--group-size", GROUP, "--max-group", arguments.max_group, "--test-share", HELD_OUT, *pilot)


def _training(arguments: argparse.Namespace, steps: int) -> tuple[object, ...]:
    return (
        *("--steps", steps, "--num-generations", GROUP, "--batch-size", STEP, "--lora-rank", 8),
        *("--learning-rate", arguments.learning_rate, "--max-completion-length", arguments.max_tokens),
        *("--held-out", "pool", "--eval-group-size", GROUP, "--eval-k", GROUP, "--eval-limit", arguments.eval_limit),
        "--allow-silent-reward",
    )


def timed(*command: object) -> tuple[Figures, float]:
    """Run a command; return its report and the seconds that it took."""
    started = time.monotonic()
    report = json.loads(run(*command, "--json", *(() if command[0] == "eval" else ("--no-prefect",))))
    return report, round(time.monotonic() - started, 1)


def run(*command: object) -> str:
    """Run a command of learnable in a process of its own, and return what it prints."""
    line = [sys.executable, "-c", LEARNABLE, *map(str, command)]
    print("learnable", *command, file=sys.stderr)
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


def say_why(error: subprocess.CalledProcessError) -> str:
    """Return the command that refused, and its last sentence."""
    said = [line for line in str(error.stderr).splitlines() if line.strip()]
    told = [line for line in said if line.startswith("error: ")] or said  # threads may have the last word
    return f"{error.cmd[3]}: {told[-1] if told else error.returncode}"


def print_figures(figures: Mapping[str, Any]) -> None:
    """Print a table with a column a pool, or a seed."""
    print(f"{figures['date']}, {figures['machine']}, {figures['model']}")
    columns: Mapping[str, Figures] = figures.get("pools") or {str(one["seed"]): one for one in figures["seeds"]}
    print(f"{'':18}", *(f"{name:>12}" for name in columns))
    for key in list_keys(list(columns.values())):
        print(f"{key:18}", *(f"{_shown(one.get(key)):>12}" for one in columns.values()))
    for name, one in columns.items():
        if "ended" in one:
            print(f"{name}: {one['ended']}")


def list_keys(columns: Sequence[Figures]) -> list[str]:
    """Return the rows of the table, in the order in which they were measured."""
    return list(dict.fromkeys(key for one in columns for key, value in one.items() if isinstance(value, int | float)))


def _shown(value: object) -> str:
    return "-" if value is None else f"{value:,.3f}" if isinstance(value, float) else f"{value:,}"


if __name__ == "__main__":
    main()
