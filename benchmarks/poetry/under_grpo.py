"""Does GRPO climb by leaving language?

Trains a policy with the built-in training stage on prompts for a few forms and prints the course of the reward, of the
pass rate and of the language score over the steps, and what the policy writes before and after on prompts that it was
not trained on. Language that falls while the reward rises would be the sign of a trick.

    python -m benchmarks.poetry.under_grpo [--steps 300] [--forms Sonnet Haiku] [--policy FOLDER] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.figures import make_parser, write_figures
from learnable.data.policies import find_policy
from learnable.data.progress import Silence
from learnable.data.records import Prompt, Sampling, Score
from learnable.data.tables import prompts_table
from learnable.flows.training.stage import run_training
from learnable.rollouts.protocol import EngineError, GroupRequest, Refusal
from learnable.rollouts.vllm_engine import VLLMEngine
from learnable.train.monitor.records import StepRecord, read_metrics
from learnable.train.settings import TrainSettings
from learnable.train.trainers.trainer import POLICY_FOLDER
from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.registry import find_verifier

LANGUAGE = "poetry/language"
TOKENS = {"Sonnet": 320, "ShakespeareanSonnet": 320, "Haiku": 48}  # of a completion; other forms have `MAX_TOKENS`
MAX_TOKENS = 200
TEST_SHARE, SHOWN, WINDOWS = 4, 2, 10  # one prompt in four is kept aside; samples of a form; rows of the course


@dataclass(frozen=True, slots=True)
class Sample:
    """A completion of a prompt kept aside, and its score."""

    form: str
    completion: str
    score: Score


class Shown(Silence):
    """Prints each step."""

    def step(self, done: int, total: int, metrics: Mapping[str, float]) -> None:
        """Print how far it is."""
        if done % 10 == 0 or done == total:
            print(f"step {done} of {total}: reward {metrics.get('reward', float('nan')):.3f}", flush=True)

    def warn(self, text: str) -> None:
        """Print the warning."""
        print(f"warning: {text}", flush=True)


def write_set(folder: Path, prompts: Sequence[Prompt], policy: str | None, sampling: Sampling) -> Path:
    """Write a curated set of these prompts, one in four of them kept aside as its test part, and return its folder."""
    version = folder / "set" / "v0001"
    version.mkdir(parents=True)
    parts = {
        "train": [prompt for index, prompt in enumerate(prompts) if index % TEST_SHARE],
        "test": [*prompts[::TEST_SHARE]],
    }
    for part, found in parts.items():
        table = prompts_table(found)
        for name in ("mean", "std", "pass_rate"):
            table = table.append_column(name, pa.array([0.5] * table.num_rows, pa.float64()))
        pq.write_table(table, version / f"{part}-00000-of-00001.parquet")
    known = find_policy(policy)
    manifest = {
        "policy": {"path": known.path, "policy_id": known.policy_id},
        "sampling": {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": sampling.max_tokens},
    }
    (version / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return version


def sample(policy: str | None, prompts: Sequence[Prompt], sampling: Sampling, size: int, seed: int) -> list[Sample]:
    """Return scored completions of the prompts. Raises `EngineError` for a prompt that the engine refuses."""
    engine = VLLMEngine(policy)
    found: list[Sample] = []
    by_question = {prompt.question_id: prompt for prompt in prompts}
    for group in engine.generate([GroupRequest(prompt, size, seed=seed) for prompt in by_question.values()], sampling):
        if isinstance(group, Refusal):
            raise EngineError(group.reason)
        prompt = by_question[group[0].question_id]
        verifier = find_verifier(prompt.verifier)
        found += [
            Sample(
                prompt.form,
                rollout.completion,
                verifier.score(rollout.completion, prompt=prompt.text, spec=prompt.spec),
            )
            for rollout in group
        ]
    engine.close()
    return found


def list_course(records: Sequence[StepRecord]) -> list[dict[str, float]]:
    """Return the means of the figures over `WINDOWS` parts of the run, in order."""
    size = max(1, -(-len(records) // WINDOWS))
    course = []
    for start in range(0, len(records), size):
        part = records[start : start + size]
        row: dict[str, float] = {"from": part[0].step, "to": part[-1].step}
        for name, values in {
            "reward": [record.metrics.get("reward") for record in part],
            "pass_rate": [record.metrics.get("pass_rate") for record in part],
            "language": [record.components.get(LANGUAGE) for record in part],
        }.items():
            known = [value for value in values if value is not None]
            row[name] = fmean(known) if known else float("nan")
        course.append(row)
    return course


def summarise(samples: Sequence[Sample]) -> dict[str, dict[str, float]]:
    """Return for each form the mean reward, the pass rate, the mean language and how many different lines there are."""
    found: dict[str, dict[str, float]] = {}
    for form in sorted({sample.form for sample in samples}):
        mine = [sample for sample in samples if sample.form == form]
        lines = [line for sample in mine for line in sample.completion.splitlines()]
        found[form] = {
            "completions": len(mine),
            "reward": fmean(sample.score.reward or 0.0 for sample in mine),
            "pass_rate": fmean(bool(sample.score.passed) for sample in mine),
            "language": fmean(sample.score.components.get("language", 0.0) for sample in mine),
            "different_lines": len(set(lines)) / max(1, len(lines)),
        }
    return found


def show(title: str, samples: Sequence[Sample]) -> None:
    """Print the summary and the first completions of each form."""
    for form, row in summarise(samples).items():
        print(f"\n{title}: {form}: " + ", ".join(f"{name} {value:.3g}" for name, value in row.items()))
        for one in [sample for sample in samples if sample.form == form][:SHOWN]:
            print(f"--- reward {one.score.reward}, passed {one.score.passed} {one.score.reason or ''}")
            print(one.completion.strip())


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train, print what is found, and return it."""
    sampling = Sampling(max_tokens=max(TOKENS.get(form, MAX_TOKENS) for form in options.forms))
    prompts = [
        prompt
        for form in options.forms
        for prompt in builtin_prompts(forms=[form], limit=options.prompts, seed=options.seed)
    ]
    curated = write_set(folder, prompts, options.policy, sampling)
    kept_aside = prompts[::TEST_SHARE]
    settings = TrainSettings(
        curated=str(curated),
        output=str(folder / "run"),
        policy=options.policy,
        steps=options.steps,
        num_generations=options.group_size,
        batch_size=options.batch_size,
        learning_rate=options.learning_rate,
        beta=options.beta,
        no_kl=options.no_kl,
        evaluate=False,
        seed=options.seed,
    )
    run_training(settings, Shown())
    course = list_course(read_metrics(folder / "run" / "metrics.jsonl"))
    print(f"\n{'steps':>9} {'reward':>7} {'passed':>7} {'language':>8}")
    for row in course:
        steps = f"{row['from']:.0f}-{row['to']:.0f}"
        print(f"{steps:>9} {row['reward']:7.3f} {row['pass_rate']:7.3f} {row['language']:8.3f}")
    found = {}
    for title, policy in (("before", options.policy), ("after", str(folder / "run" / POLICY_FOLDER))):
        samples = sample(policy, kept_aside, sampling, options.group_size, options.seed)
        show(title, samples)
        shown = [{"form": one.form, "completion": one.completion, "reward": one.score.reward} for one in samples]
        found[title] = {"figures": summarise(samples), "samples": shown[:: options.group_size]}
    return {"course": course, **found}


def main() -> None:
    """Read the options, run, and write the figures."""
    parser = make_parser(__doc__)
    parser.add_argument("--steps", type=int, default=300, help="optimizer steps (default: %(default)s)")
    parser.add_argument("--forms", nargs="+", default=["Sonnet", "Haiku"], help="forms (default: %(default)s)")
    parser.add_argument("--prompts", type=int, default=64, help="prompts of each form (default: %(default)s)")
    parser.add_argument("--group-size", type=int, default=16, help="completions of a prompt (default: %(default)s)")
    parser.add_argument("--batch-size", type=int, help="completions a step (default: the usual number)")
    parser.add_argument("--policy", help="folder or hub id (default: the bundled policy)")
    parser.add_argument("--learning-rate", type=float, help="default: one that suits the policy's size")
    parser.add_argument("--beta", type=float, default=0.04, help="weight of the KL term (default: %(default)s)")
    parser.add_argument("--no-kl", action="store_true", help="let it go as far as it will: no KL term")
    parser.add_argument("--seed", type=int, default=0, help="seed (default: %(default)s)")
    parser.add_argument("--work", type=Path, help="empty folder for the set and the run (default: a temporary one)")
    options = parser.parse_args()
    folder = options.work or Path(tempfile.mkdtemp(prefix="learnable-under-grpo-"))
    write_figures(options.json, run(options, folder))


if __name__ == "__main__":
    main()
