"""The command line: `find-learnable`, and `learnable find | train | refresh | show | verify | explain | doctor | forms | ledger`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from learnable.cli import options
from learnable.cli.commands.doctor import DOCTOR_HELP, doctor
from learnable.cli.commands.explain import EXPLAIN_HELP, explain
from learnable.cli.commands.forms import FORMS_HELP, forms
from learnable.cli.commands.ledger import ledger_app
from learnable.cli.commands.refresh import REFRESH_HELP, refresh
from learnable.cli.commands.show import SHOW_HELP, show
from learnable.cli.console import STOPPED_RUN, UNSCORED, open_shell

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
  find-learnable --prompts questions.jsonl --want 2000 --precision 0.9 --dry-run --gpu-hour-price 2.5
  find-learnable --engine server --base-url http://127.0.0.1:8000/v1 --base-url http://127.0.0.1:8001/v1
  find-learnable --engine ray --ray-address auto --replicas 8 --store s3://bucket/store
  find-learnable --family arithmetic --store /data/store --cron "0 3 * * *"
"""
VERIFY_HELP = """
Score a file of completions with any verifier.

Reads one JSON object a line, {"completion", "prompt"?, "form"?, "spec"?}, and writes one a line in the \
same order, {"reward", "passed", "verdict", "components", "reason"}. For programs, a row may have the \
columns of HumanEval or MBPP, or a task_id alone, of a problem in --prompts. Ids are written too. Exits with \
status 1 where no row got a reward.

\b
Examples:
  learnable verify --verifier poetry --input poems.jsonl --output out.jsonl
  learnable verify --verifier programs --prompts HumanEval.jsonl.gz --input samples.jsonl --output out.jsonl
  learnable verify --verifier my_judge.py:judge --input a.jsonl.gz --output -
"""

TRAIN_HELP = """
Train on a curated set with TRL's GRPOTrainer, and say whether held-out reward rose.

Measures the policy on the set's held-out prompts with fresh completions, trains, measures again, and \
writes the trained policy, metrics.jsonl, a reward curve and report.json.

\b
Examples:
  learnable train --curated learnable-store/curated/arithmetic
  learnable train --curated SET --steps 200 --learning-rate 1e-6 --lora-rank 16
  learnable train --curated SET --part control
  learnable train --curated SET --output runs/first --resume
"""

app = typer.Typer(
    no_args_is_help=True,
    context_settings=options.HELP_FLAGS,
    help="Find the prompts a language model can learn from.",
)
find_app = typer.Typer(context_settings=options.HELP_FLAGS)


@app.callback()
def about(version: options.Version = False) -> None:
    """Find the prompts a language model can learn from."""


@find_app.command(help=FIND_HELP)
@app.command(help=FIND_HELP)
def find(
    form: options.Form = None,
    family: options.Family = None,
    forms_file: options.FormsFile = None,
    prompts: options.Prompts = None,
    prompt_column: options.PromptColumn = "prompt",
    answer_column: options.AnswerColumn = None,
    dataset_split: options.DatasetSplit = "train",
    skip_bad_rows: options.SkipBadRows = False,
    verifier: options.Verifier = None,
    knob: options.Knob = None,
    limit: options.Limit = None,
    decontaminate: options.Decontaminate = None,
    near_duplicates: options.NearDuplicates = None,
    policy: options.Policy = None,
    engine: options.Engine = "vllm",
    engine_arg: options.EngineArg = None,
    base_url: options.BaseUrl = None,
    served_model: options.ServedModel = None,
    api_key_env: options.ApiKeyEnv = "OPENAI_API_KEY",
    concurrency: options.Concurrency = 64,
    request_timeout: options.RequestTimeout = 600.0,
    engine_patience: options.EnginePatience = 300.0,
    ray_address: options.RayAddress = None,
    replicas: options.Replicas = 1,
    temperature: options.Temperature = 1.0,
    top_p: options.TopP = 1.0,
    max_tokens: options.MaxTokens = 256,
    want: options.Want = None,
    precision: options.Precision = None,
    dry_run: options.DryRun = False,
    gpu_hour_price: options.GpuHourPrice = None,
    sampling: options.SamplingMode = "optimal",
    group_size: options.GroupSize = 16,
    max_group: options.MaxGroup = 48,
    pilot_prompts: options.PilotPrompts = 64,
    pilot_rollouts: options.PilotRollouts = 8,
    top_up: options.TopUp = False,
    retest: options.Retest = 0.02,
    preset: options.Preset = "band",
    band: options.Band = None,
    min_std: options.MinStd = None,
    by: options.By = None,
    quota: options.Quota = None,
    floor: options.Floor = None,
    top: options.Top = None,
    truncated: options.Truncated = "count",
    test_share: options.TestShare = 0.2,
    seed: options.Seed = 0,
    store: options.Store = "learnable-store",
    name: options.Name = "",
    workers: options.Workers = None,
    verifier_timeout: options.VerifierTimeout = None,
    wait: options.Wait = True,
    then_train: options.ThenTrain = False,
    cron: options.Cron = None,
    every: options.Every = None,
    prefect: options.UsePrefect = True,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    version: options.Version = False,
) -> None:
    """Find the prompts a policy can learn from."""
    asked = dict(locals())
    with open_shell(as_json=as_json, quiet=quiet, stopped=STOPPED_RUN) as shell:
        from learnable.cli.arguments import curate_settings, timetable
        from learnable.flows.curation.cost import plan_curation
        from learnable.flows.launch import run_curation
        from learnable.train.settings import TrainSettings

        settings = curate_settings(asked)
        if dry_run:
            shell.show_plan(plan_curation(settings, gpu_hour_price))
            return
        scheduled = timetable(cron, every, prefect=prefect)
        training = TrainSettings(curated="", output="") if then_train else None
        if scheduled:
            from learnable.flows.launch import serve_curation

            serve_curation(settings, training, scheduled)
            return
        shell.show_curation(run_curation(settings, training, use_prefect=prefect))


@app.command(help=TRAIN_HELP)
def train(
    curated: options.Curated,
    part: options.Part = "train",
    family: options.TrainFamily = None,
    output: options.Output = None,
    policy: options.TrainPolicy = None,
    method: options.Method = "grpo",
    steps: options.Steps = 60,
    num_generations: options.NumGenerations = 16,
    batch_size: options.BatchSize = None,
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
    cron: options.Cron = None,
    every: options.Every = None,
    prefect: options.UsePrefect = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Train on a curated set."""
    asked = dict(locals())
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        from learnable.cli.arguments import timetable
        from learnable.flows.launch import run_training
        from learnable.train.settings import TrainSettings

        scheduled = timetable(cron, every, prefect=prefect or not (cron is None and every is None))
        for name in ("cron", "every", "prefect", "as_json", "quiet", "family"):
            asked.pop(name)
        settings = TrainSettings(**{**asked, "families": tuple(family or ()), "output": output or ""})
        if scheduled:
            from learnable.flows.launch import serve_training

            serve_training(settings, scheduled)
            return
        shell.show_training(run_training(settings, use_prefect=prefect).to_json())


@app.command(help=VERIFY_HELP)
def verify(
    verifier: Annotated[str, typer.Option(help="A verifier's name, or FILE.py:OBJECT or MODULE:OBJECT.")],
    input_path: Annotated[Path, typer.Option("--input", help="Completions, JSONL or .gz; - is standard input.")],
    output_path: Annotated[Path, typer.Option("--output", help="Scores, JSONL; - is standard output.")],
    prompts: options.Problems = None,
    forms_file: options.FormsFile = None,
    workers: options.Workers = None,
    verifier_timeout: options.VerifierTimeout = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Score a file of completions with any verifier."""
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        from learnable.cli.arguments import worker_count
        from learnable.data.forms import load_forms
        from learnable.data.sources.files.prompts import read_problems
        from learnable.verifiers.files.rows import Problems, RowReader
        from learnable.verifiers.files.scoring import verify_file
        from learnable.verifiers.protocol import verifier_notice
        from learnable.verifiers.registry import find_verifier

        if notice := verifier_notice(find_verifier(verifier)):
            shell.progress.warn(notice)
        problems = Problems(prompts, read_problems(prompts, verifier)) if prompts else Problems()
        reader = RowReader(verifier, load_forms(forms_file) if forms_file else {}, problems)
        output = shell.claim_output() if str(output_path) == "-" else output_path
        told = shell.progress.completions
        summary = verify_file(reader, input_path, output, worker_count(workers), told, verifier_timeout)
        shell.show_verified(asdict(summary) | {"output": str(output_path)})
        if summary.mean_reward is None:
            shell.say_unscored(verifier, summary.reasons)
            raise typer.Exit(UNSCORED)


app.command(help=REFRESH_HELP)(refresh)
app.command(help=SHOW_HELP)(show)
app.command(help=EXPLAIN_HELP)(explain)
app.command(help=FORMS_HELP)(forms)
app.command(help=DOCTOR_HELP)(doctor)
app.add_typer(ledger_app, name="ledger")


def main() -> None:
    """Run `learnable`."""
    app()


def find_command() -> None:
    """Run `find-learnable`."""
    find_app()
