"""Can a policy be taught a form that it cannot write? Supervised warm-up, then GRPO, with the commands that users have.

Prompts of the form are curated with many completions each and a band that begins far below .2: what passed, rare as
it is, becomes the demonstrations. `learnable train --method sft` imitates them; the same prompts are curated anew
with the warmed policy, in the usual band, and GRPO draws from those by their certificates, as `learnable train` does
where nobody says otherwise. `learnable eval` then measures the three policies on the held-out prompts of the first
curation, with new completions. GRPO alone, for as many steps, is the control: on the first curation, for the usual
band keeps nothing.

    python -m benchmarks.warm_up --form Tanka [--limit 300] [--steps 60] [--seed 1] [--folder FOLDER] [--json FILE]
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.decisions.refresh import learnable, read_rows
from benchmarks.figures import make_parser, write_figures
from learnable.data.curated.curated_set import open_curated

RARE_BAND = (0.01, 0.8)  # of pass rates
RARE_GROUP = 64  # completions a prompt of the first curation
BAND = (0.2, 0.8)
EVALUATED = 32  # completions a prompt
TEST_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Stage:
    """A policy on the held-out prompts: mean pass rate with its interval, share of prompts in the band."""

    policy: str
    prompts: int
    pass_rate: float
    low: float
    high: float
    in_band: float

    def describe(self) -> str:
        """Return the stage as a line."""
        return (
            f"{self.policy:<22} passes {self.pass_rate:.3f} [{self.low:.3f}, {self.high:.3f}] on {self.prompts} "
            f"held-out prompts; {self.in_band:.0%} of them lie in {BAND[0]:g} to {BAND[1]:g}"
        )


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--form", required=True, help="one that the policy cannot write")
    parser.add_argument("--limit", type=int, default=300, help="prompts")
    parser.add_argument("--warm-up-steps", type=int, default=60, help="of supervised training")
    parser.add_argument("--steps", type=int, default=60, help="of GRPO")
    parser.add_argument("--max-tokens", type=int, default=128, help="of a completion")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where to work, and to go on from (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        figures = measure(arguments.folder or Path(temporary), arguments)
    write_figures(arguments.json, figures)


def measure(folder: Path, wanted: argparse.Namespace) -> dict[str, Any]:
    """Curate, warm up, curate, train, and measure each policy; say what each stage came to."""
    folder.mkdir(parents=True, exist_ok=True)
    first = curate_rare(folder, wanted)
    print(f"{wanted.form}: {first['totals']['rollouts']:,} completions, {count_rows(first)} demonstrations", flush=True)
    stages = [evaluate(folder, first, None, "the bundled policy", wanted)]
    warm = train(folder / "warm", first, wanted, "--method", "sft", "--steps", wanted.warm_up_steps)
    stages.append(evaluate(folder, first, warm, "after the warm-up", wanted))
    second = curate_again(folder, first, warm, wanted)
    trained = train(folder / "grpo", second, wanted, "--steps", wanted.steps)
    stages.append(evaluate(folder, first, trained, "warm-up, then GRPO", wanted))
    alone = train(folder / "alone", first, wanted, "--steps", wanted.steps)
    stages.append(evaluate(folder, first, alone, "GRPO alone", wanted))
    return {
        "form": wanted.form,
        "seed": wanted.seed,
        "demonstrations": count_rows(first),
        "kept_after_warm_up": second["totals"]["kept"],
        "stages": [asdict(stage) for stage in stages],
    }


def curate_rare(folder: Path, wanted: argparse.Namespace) -> dict[str, Any]:
    """Keep every prompt of the form that passed now and then."""
    rare = ("--sampling", "fixed", "--group-size", RARE_GROUP, "--by", "pass", "--band", *RARE_BAND)
    return learnable(
        "find", "--form", wanted.form, *rare, *common(wanted), "--name", "rare", "--store", folder / "store"
    )


def curate_again(folder: Path, first: dict[str, Any], policy: Path, wanted: argparse.Namespace) -> dict[str, Any]:
    """Curate the prompts of the first curation with another policy, in the usual band."""
    prompts = folder / "prompts.jsonl"
    rows = read_rows(first["curated"]).filter(pl.col("split") == "train")
    rows.select("prompt", "verifier", "spec", "family", "form", "difficulty").write_ndjson(prompts)
    what = ("--prompts", prompts, "--near-duplicates", 1, "--by", "pass", "--policy", policy)
    return learnable("find", *what, *common(wanted), "--name", "warmed", "--store", folder / "store")


def common(wanted: argparse.Namespace) -> tuple[object, ...]:
    """Return the flags that both curations share."""
    return (
        *("--limit", wanted.limit, "--test-share", TEST_SHARE, "--seed", wanted.seed),
        *("--max-tokens", wanted.max_tokens),
    )


def train(output: Path, curated: dict[str, Any], wanted: argparse.Namespace, *flags: object) -> Path:
    """Train the policy of a curated set; return the trained one."""
    policy = output / "policy"
    if not (policy / "config.json").is_file():
        run = ("--curated", curated["curated"], "--output", output, "--seed", wanted.seed)
        learnable("train", *run, "--no-evaluate", *flags)
    return policy


def evaluate(folder: Path, first: dict[str, Any], policy: Path | None, name: str, wanted: argparse.Namespace) -> Stage:
    """Measure a policy on the held-out prompts of the first curation, and say what came of it."""
    flags = ("--group-size", EVALUATED, "--seed", wanted.seed, "--no-greedy", "--store", folder / "store")
    policies = () if policy is None else ("--policy", policy)
    report = learnable("eval", "--curated", first["curated"], *policies, *flags)
    mean = report["figures"][0]["pass_at_1"]
    rates = [one["passes"] / one["n"] for one in report["prompts"] if one["n"]]
    inside = [BAND[0] <= rate <= BAND[1] for rate in rates]
    stage = Stage(name, len(rates), mean["value"], mean["low"], mean["high"], sum(inside) / len(inside))
    print(stage.describe(), flush=True)
    return stage


def count_rows(curated: dict[str, Any]) -> int:
    """Return how many demonstrations a curated set has."""
    return open_curated(curated["curated"]).read("demonstrations", columns=["prompt_id"]).num_rows


if __name__ == "__main__":
    main()
