"""The command line: `find-learnable`, and `learnable find | train | verify | forms`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from learnable import options
from learnable.console import open_shell
from learnable.data.errors import LearnableError

if TYPE_CHECKING:
    from learnable.flows.settings import CurateSettings

# Only what `--help` needs is imported here: torch, vllm, trl, datasets and prefect wait inside their commands.

FIND_HELP = """
Find the prompts a policy can learn from.

Samples a group of completions for each prompt, scores them, keeps the prompts whose group neither \
always fails nor always succeeds, and writes them as Parquet that TRL's GRPOTrainer reads as it is.

\b
Examples:
  find-learnable --form sonnet --limit 40
  find-learnable --family arithmetic --family comparison
  find-learnable --prompts questions.jsonl --verifier arithmetic
  find-learnable --prompts org/name --answer-column label --verifier choice
  find-learnable --form haiku --policy path/to/model --signal pass --json
"""
VERIFY_HELP = """
Score a file of completions with any verifier.

Reads one JSON object a line, {"completion", "prompt"?, "form"?, "spec"?}, and writes one a line in the \
same order, {"reward", "passed", "verdict", "components", "reason"}.

\b
Examples:
  learnable verify --verifier poetry --input poems.jsonl --output out.jsonl
  learnable verify --verifier my.module:Judge --input a.jsonl --output b.jsonl
"""

TRAIN_HELP = """
Train on a curated set with TRL's GRPOTrainer, and say whether held-out reward rose.

Measures the policy on the set's held-out prompts with fresh completions, trains, measures again, and \
writes the trained policy, metrics.jsonl, a reward curve and report.json.

\b
Examples:
  learnable train --curated learnable-store/curated/arithmetic
  learnable train --curated SET --steps 200 --learning-rate 1e-6 --lora-rank 16
  learnable train --curated SET --output runs/first --resume
"""

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Find the prompts a language model can learn from.")
find_app = typer.Typer(add_completion=False)


@find_app.command(help=FIND_HELP)
@app.command(help=FIND_HELP)
def find(
    form: options.Form = None,
    family: options.Family = None,
    prompts: options.Prompts = None,
    prompt_column: options.PromptColumn = "prompt",
    answer_column: options.AnswerColumn = None,
    dataset_split: options.DatasetSplit = "train",
    verifier: options.Verifier = None,
    knob: options.Knob = None,
    limit: options.Limit = None,
    policy: options.Policy = None,
    engine: options.Engine = "vllm",
    engine_arg: options.EngineArg = None,
    temperature: options.Temperature = 1.0,
    top_p: options.TopP = 1.0,
    max_tokens: options.MaxTokens = 256,
    group_size: options.GroupSize = 16,
    band: options.Band = (0.2, 0.8),
    min_std: options.MinStd = 0.1,
    signal: options.Signal = "reward",
    truncated: options.Truncated = "count",
    test_share: options.TestShare = 0.2,
    seed: options.Seed = 0,
    store: options.Store = "learnable-store",
    name: options.Name = "",
    workers: options.Workers = None,
    then_train: options.ThenTrain = False,
    prefect: options.UsePrefect = True,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the prompts a policy can learn from."""
    asked = dict(locals())
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        from learnable.flows.launch import run_curation
        from learnable.train.settings import TrainSettings

        settings = _curate_settings(asked)
        training = TrainSettings(curated="", output=_run_folder(settings.set_name)) if then_train else None
        shell.show_curation(run_curation(settings, training, use_prefect=prefect))


@app.command(help=TRAIN_HELP)
def train(
    curated: options.Curated,
    family: options.TrainFamily = None,
    output: options.Output = None,
    policy: options.TrainPolicy = None,
    method: options.Method = "grpo",
    steps: options.Steps = 60,
    num_generations: options.NumGenerations = 16,
    batch_size: options.BatchSize = 128,
    micro_batch_size: options.MicroBatchSize = None,
    learning_rate: options.LearningRate = None,
    beta: options.Beta = 0.04,
    no_kl: options.NoKL = False,
    loss_type: options.LossType = "grpo",
    signal: options.TrainSignal = "reward",
    temperature: options.TrainTemperature = None,
    max_completion_length: options.MaxCompletionLength = None,
    lora_rank: options.LoraRank = None,
    use_vllm: options.UseVLLM = False,
    num_processes: options.NumProcesses = 1,
    evaluate: options.Evaluate = True,
    eval_group_size: options.EvalGroupSize = 16,
    eval_k: options.EvalK = 8,
    eval_limit: options.EvalLimit = None,
    save_steps: options.SaveSteps = 20,
    report_to: options.ReportTo = "none",
    resume: options.Resume = False,
    seed: options.TrainSeed = 0,
    prefect: options.UsePrefect = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Train on a curated set."""
    asked = dict(locals())
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        from learnable.flows.launch import run_training
        from learnable.train.settings import TrainSettings

        for name in ("prefect", "as_json", "quiet", "family"):
            asked.pop(name)
        asked["families"] = tuple(family or ())
        asked["output"] = output or _run_folder(curated, resume)
        shell.show_training(run_training(TrainSettings(**asked), use_prefect=prefect))


@app.command(help=VERIFY_HELP)
def verify(
    verifier: Annotated[str, typer.Option(help="A verifier's name, or module:object.")],
    input_path: Annotated[Path, typer.Option("--input", help="Completions, JSONL.")],
    output_path: Annotated[Path, typer.Option("--output", help="Scores, JSONL.")],
    workers: options.Workers = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Score a file of completions with any verifier."""
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        from learnable.verifiers.files import verify_file
        from learnable.verifiers.protocol import verifier_notice
        from learnable.verifiers.registry import find_verifier

        if notice := verifier_notice(find_verifier(verifier)):
            shell.progress.warn(notice)
        summary = verify_file(verifier, input_path, output_path, _workers(workers), shell.progress.completions)
        shell.show_verified(asdict(summary) | {"output": str(output_path)})


@app.command()
def forms(as_json: options.AsJson = False) -> None:
    """List the built-in families, their forms and their knobs."""
    with open_shell(as_json=as_json, quiet=True) as shell:
        from learnable.data.sources.builtin import FAMILIES

        shell.show_forms(
            [{"family": f.name, "forms": list(f.forms), "knobs": list(f.knob_names())} for f in FAMILIES.values()]
        )


def main() -> None:
    """Run `learnable`."""
    app()


def find_command() -> None:
    """Run `find-learnable`."""
    find_app()


def _curate_settings(asked: Mapping[str, Any]) -> CurateSettings:
    from learnable.data.records import Sampling
    from learnable.filters.band import Band
    from learnable.flows.settings import CurateSettings, PromptSettings

    wanted = PromptSettings(
        forms=tuple(asked["form"] or ()),
        families=tuple(asked["family"] or ()),
        location=asked["prompts"],
        knobs=_pairs(asked["knob"], "--knob"),
        **{key: asked[key] for key in ("prompt_column", "answer_column", "verifier", "dataset_split", "limit")},
    )
    return CurateSettings(
        prompts=wanted,
        engine_options={key: _literal(value) for key, value in _pairs(asked["engine_arg"], "--engine-arg").items()},
        band=Band(asked["band"][0], asked["band"][1], min_std=asked["min_std"], signal=asked["signal"]),
        sampling=Sampling(temperature=asked["temperature"], top_p=asked["top_p"], max_tokens=asked["max_tokens"]),
        workers=_workers(asked["workers"]),
        **{
            key: asked[key]
            for key in ("policy", "engine", "group_size", "truncated", "test_share", "seed", "store", "name")
        },
    )


def _run_folder(curated: str, resume: bool = False) -> str:
    parts = [part for part in Path(curated).parts if part not in ("/", ".", "..")]
    name = "-".join(parts[-2:] if parts[-1].startswith("v") else parts[-1:])
    taken = len(list(Path("runs").glob(f"{name}-[0-9]*")))
    return str(Path("runs") / f"{name}-{taken if resume and taken else taken + 1}")


def _workers(asked: int | None) -> int:
    return max(1, (os.cpu_count() or 1) // 4) if asked is None else asked


def _pairs(items: Sequence[str] | None, flag: str) -> dict[str, str]:
    pairs = {}
    for item in items or ():
        name, separator, value = item.partition("=")
        if not (name and separator):
            raise LearnableError(f"{flag} {item!r} is not NAME=VALUE")
        pairs[name] = value
    return pairs


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
