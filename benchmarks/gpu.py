"""What an ordinary CUDA machine gives: curation with vLLM, the same decisions without the GPU, GRPO in bf16 with LoRA.

The policy is sampled on the GPU. Then the same command runs again with the GPU hidden: it may generate nothing and
must publish the same version, so decisions depend on rewards alone. Then come two GRPO runs on the set, each with a
LoRA adapter over bf16 weights: the first samples with TRL, the second with vLLM. On an H100 whose caches are empty,
vLLM's and flashinfer's compilers take most of the ten minutes. Without a GPU nothing is measured, and that is said.

    make gpu-check
    python -m benchmarks.gpu [--policy FOLDER] [--limit 800] [--steps 20] [--work runs/gpu] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.figures import make_parser, write_figures
from benchmarks.real_model import has_gpu, run, say_why, timed

Figures = dict[str, Any]


def main() -> None:
    """Measure and report; say so where there is no GPU. Exits with 1 when the processor decides otherwise."""
    arguments = read_arguments()
    if not has_gpu():
        print("skipped: this machine has no NVIDIA GPU (nvidia-smi is not there); nothing was measured")
        return
    figures = describe_machine()
    try:
        figures |= check_curation(arguments)
        figures |= {f"lora_{name}": value for name, value in check_training(arguments, "lora").items()}
        figures |= {f"vllm_{name}": value for name, value in check_training(arguments, "vllm", "--use-vllm").items()}
    except subprocess.CalledProcessError as error:
        figures["ended"] = say_why(error)
    for name, value in figures.items():
        print(f"{name:24}{value}")
    write_figures(arguments.json, figures)
    if "ended" in figures or not figures["same_version"]:
        raise SystemExit(1)


def read_arguments() -> argparse.Namespace:
    """Return what the command line says."""
    parser = make_parser(__doc__)
    parser.add_argument("--policy", help="model folder or hub id (default: the bundled policy)")
    parser.add_argument("--work", type=Path, default=Path("runs/gpu"), help="store and runs go here")
    parser.add_argument("--limit", type=int, default=800, help="prompts of the pool")
    parser.add_argument("--steps", type=int, default=20, help="GRPO steps of each run")
    return parser.parse_args()


def describe_machine() -> Figures:
    """Return the GPU and the versions that the figures hold for."""
    gpu = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.split("(")[0].strip()
    return {"gpu": gpu, **{name: version(name) for name in ("vllm", "torch", "trl")}}


def check_curation(arguments: argparse.Namespace) -> Figures:
    """Return what finding took on the GPU, and whether the processor decides alike on the same stored rollouts."""
    policy = ("--policy", arguments.policy) if arguments.policy else ()
    find = ("find", "--name", "gpu", *policy, "--limit", arguments.limit, "--test-share", 0.3)
    find = (*find, "--store", arguments.work / "store")
    found, seconds = timed(*find)
    again = read_again(find)
    totals: Mapping[str, Any] = found["totals"]
    return {
        **{name: totals[name] for name in ("prompts", "kept", "rollouts", "generated", "tokens")},
        "find_seconds": seconds,
        "rollouts_a_second": round(totals["generated"] / seconds, 1),
        "tokens_a_second": round(totals["tokens"] / seconds, 1),
        "generated_without_gpu": again["totals"]["generated"],
        "same_version": again["curated"] == found["curated"] and not again["totals"]["generated"],
    }


def read_again(find: tuple[object, ...]) -> Figures:
    """Return the report of the same command, run where no GPU is to be seen."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        report: Figures = json.loads(run(*find, "--json", "--no-prefect"))
    finally:
        os.environ.pop("CUDA_VISIBLE_DEVICES") if seen is None else os.environ.update(CUDA_VISIBLE_DEVICES=seen)
    return report


def check_training(arguments: argparse.Namespace, name: str, *flags: str) -> Figures:
    """Return what a GRPO run with a LoRA adapter over bf16 weights took, and held-out reward before and after it."""
    curated, folder = arguments.work / "store" / "curated" / "gpu", arguments.work / f"{name}-{time.time():.0f}"
    sizes = ("--steps", arguments.steps, "--lora-rank", 16, "--eval-group-size", 8, "--eval-limit", 64)
    trained, seconds = timed("train", "--curated", curated, "--output", folder, *sizes, *flags)
    reward = trained["held_out"]["mean_reward"]
    return {
        "train_seconds": seconds,
        "training_seconds": trained["training"]["seconds"],
        "steps": trained["training"]["steps"],
        "before": reward["before"]["value"],
        "after": reward["after"]["value"],
    }


if __name__ == "__main__":
    main()
