"""The options of `find-learnable`, grouped as `--help` shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

HELP_FLAGS = {"help_option_names": ["-h", "--help"]}


def _option(panel: str) -> Any:
    return lambda *flags, help, **more: typer.Option(*flags, help=help, rich_help_panel=panel, **more)


def complete_form(typed: str) -> list[str]:
    """Return the forms that begin so, for the shell."""
    from learnable.data.sources.builtin import FAMILIES, ON_REQUEST, known_forms

    families = (*FAMILIES.values(), *ON_REQUEST.values())
    return _complete(typed, (form for family in families for form in known_forms(family)))


def complete_family(typed: str) -> list[str]:
    """Return the families that begin so, for the shell."""
    from learnable.data.sources.builtin import FAMILIES, ON_REQUEST

    return _complete(typed, (*FAMILIES, *ON_REQUEST))


def complete_form_or_family(typed: str) -> list[str]:
    """Return the families and forms that begin so, for the shell."""
    return complete_family(typed) + complete_form(typed)


def _complete(typed: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin so, in the case that was typed: names ignore it, a shell's completion does not."""
    return [typed + name[len(typed) :] for name in names if name.casefold().startswith(typed.casefold())]


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"learnable {version('learnable')}")
        raise typer.Exit


prompts = _option("Which prompts")
policy = _option("Which policy")
engine = _option("What samples it")
decision = _option("What is kept")
output = _option("Where it goes")

Form = Annotated[
    list[str] | None,
    prompts(help="A form, such as sonnet or Addition, or all poem forms; repeatable.", autocompletion=complete_form),
]
FormsFile = Annotated[str | None, prompts("--forms", help="A TOML file of poem forms of your own (docs/forms.md).")]
Family = Annotated[
    list[str] | None,
    prompts(help="A family, such as poetry; repeatable, adds to --form.", autocompletion=complete_family),
]
Prompts = Annotated[
    str | None,
    prompts(
        help="A .jsonl, .json, .csv, .tsv or .parquet file, also with .gz; a folder of them, or one that Dataset.save_to_disk "
        "wrote; or a hub id."
    ),
]
Problems = Annotated[
    str | None,
    typer.Option("--prompts", help="Problems by id, such as HumanEval.jsonl.gz, for rows with a task_id and no tests."),
]
PromptColumn = Annotated[
    str,
    prompts(
        help="Column of --prompts that holds the prompt; a dot reaches into an object or its JSON: extra.question."
    ),
]
AnswerColumn = Annotated[
    str | None, prompts(help="Column of --prompts that holds the right answer, such as reward_model.ground_truth.")
]
DatasetSplit = Annotated[
    str, prompts(help="Split to read of a data set, or list to read of a .json file with several.")
]
SkipBadRows = Annotated[bool, prompts("--skip-bad-rows", help="Leave out rows that are no prompt, and count them.")]
Verifier = Annotated[str | None, prompts(help="Judge of rows that name none: a name, or yours as FILE.py:OBJECT.")]
Knob = Annotated[list[str] | None, prompts(help="A generator's knob, such as arithmetic.largest=50; repeatable.")]
Limit = Annotated[int | None, prompts(help="Most prompts to look at. (default: 512 built-in, all of --prompts)")]

Decontaminate = Annotated[
    list[str] | None, prompts(help="An evaluation set, FILE[:COLUMN] or hub id, that no prompt may repeat; repeatable.")
]
NearDuplicates = Annotated[
    float | None,
    prompts(help="Overlap that makes two prompts duplicates. (default: 0.9 for --prompts, else exact ones)"),
]

Policy = Annotated[str | None, policy(help="Model folder or hub id. (default: the bundled policy)")]
Engine = Annotated[str, engine(help="What samples the policy: vllm (in this process), server, ray or simulated.")]
EngineArg = Annotated[list[str] | None, engine(help="For vllm.LLM, such as tensor_parallel_size=8; repeatable.")]
BaseUrl = Annotated[
    list[str] | None, engine(help="server: an OpenAI-compatible endpoint; repeatable, shares the work.")
]
ServedModel = Annotated[str | None, engine(help="server: the model's name there. (default: the only one)")]
ApiKeyEnv = Annotated[str, engine(help="server: the environment variable that holds the key.")]
Concurrency = Annotated[int, engine(help="server: groups under way at each endpoint.")]
RequestTimeout = Annotated[float, engine(help="server: seconds one group may take.")]
EnginePatience = Annotated[float, engine(help="server: seconds without any answer before giving up.")]
RayAddress = Annotated[str | None, engine(help="ray: the cluster's address. (default: RAY_ADDRESS, or a local one)")]
Replicas = Annotated[int, engine(help="ray: copies of the policy.")]
Temperature = Annotated[float, policy(help="Sampling temperature; use the one you train with.")]
TopP = Annotated[float, policy(help="Nucleus sampling.")]
MaxTokens = Annotated[int, policy(help="Most tokens of a completion.")]

GroupSize = Annotated[int, decision(help="Completions a prompt that training draws (TRL: num_generations).")]
Preset = Annotated[str, decision(help="band, hard-biased, max-learnability, or a TOML file of your own.")]
Band = Annotated[
    tuple[float, float] | None, decision(help="Keep prompts whose mean lies in here. (default: the preset's, 0.2 0.8)")
]
MinStd = Annotated[
    float | None, decision(help="Keep prompts whose group spreads at least this much. (default: the preset's, 0.1)")
]
Quota = Annotated[float | None, decision(help="Largest share of the set that one family may take.")]
Floor = Annotated[int | None, decision(help="Prompts of each family that the set should have at least.")]
Top = Annotated[int | None, decision(help="Keep only this many prompts, those with the most to teach.")]
By = Annotated[
    str | None, decision("--by", "--signal", help="Mean of what: reward, or pass. (default: the preset's, reward)")
]
SamplingMode = Annotated[
    str, decision("--sampling", help="optimal: stop when another rollout is not worth it. fixed: --group-size for all.")
]
MaxGroup = Annotated[int, decision(help="optimal: most completions of one prompt.")]
TopUp = Annotated[bool, decision("--top-up", help="optimal: give kept prompts --group-size completions.")]
Retest = Annotated[float, decision(help="optimal: share of rejected prompts that a later run samples again.")]
PilotPrompts = Annotated[int, decision(help="optimal: prompts of each family that are sampled before any decision.")]
PilotRollouts = Annotated[int, decision(help="optimal: completions of each of those.")]

goal = _option("How many are wanted")
Want = Annotated[int | None, goal(help="Stop when this many prompts are kept.")]
Precision = Annotated[
    float | None,
    goal(help="Share of the kept prompts that are truly in the band. (default: as 32 completions would give)"),
]
DryRun = Annotated[bool, goal("--dry-run", help="Sample the pilot alone, and say what --want would cost.")]
GpuHourPrice = Annotated[float | None, goal(help="Price of an hour of this machine, for the plan's cost.")]
Truncated = Annotated[str, decision(help="Completions that ran out of tokens: count, or exclude.")]
TestShare = Annotated[float, decision(help="Share of each form held out from training.")]
Seed = Annotated[int, decision(help="Seed of prompts, rollouts and splits.")]

Store = Annotated[str, output(help="Folder or URL (s3://...) of rollouts, scores and curated sets.")]
LedgerStore = Annotated[str, typer.Option("--store", help="Folder or URL of the store.")]
Wait = Annotated[bool, output("--wait/--no-wait", help="Wait for another run that writes the store, or stop.")]
Name = Annotated[str, output(help="Name of the curated set. (default: from what was asked)")]
Workers = Annotated[int | None, output(help="Processes that score. (default: one for four cores)")]
VerifierTimeout = Annotated[
    float | None, output(help="Seconds that scoring one completion may take. (default: the verifier's own)")
]
ThenTrain = Annotated[bool, output("--then-train", help="Train on the result, as `learnable train` does by default.")]
UsePrefect = Annotated[bool, output("--prefect/--no-prefect", help="Run as a Prefect flow, or as plain functions.")]
AsJson = Annotated[bool, output("--json", help="Print one JSON object on stdout and nothing else there.")]
Version = Annotated[
    bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
]
Quiet = Annotated[bool, output("--quiet", help="Show no progress.")]

schedule = _option("When it runs")
Cron = Annotated[
    str | None, schedule(help="Run at these times (UTC) until stopped: minute hour day month weekday, as '0 3 * * *'.")
]
Every = Annotated[float | None, schedule(help="Run every so many seconds until stopped.")]

what = _option("What is trained on what")
how = _option("How it is trained")
measured = _option("What is measured")

Curated = Annotated[str, what(help="A curated set: its folder, or a version's.")]
Part = Annotated[str, what(help="The set's train, its random control, or the reserve of its preset.")]
TrainFamily = Annotated[list[str] | None, what("--family", help="Train on this family alone; repeatable.")]
Output = Annotated[str | None, what(help="Folder of the run. (default: runs/NAME-N, runs/NAME-PART-N)")]
TrainPolicy = Annotated[str | None, what(help="Model folder or hub id. (default: the one the set was curated for)")]
Resume = Annotated[bool, what("--resume", help="Go on from the last checkpoint in --output.")]

Method = Annotated[str, how(help="grpo, or sft on the set's demonstrations to warm up for it.")]
Steps = Annotated[int, how(help="Optimizer steps.")]
NumGenerations = Annotated[int, how(help="Completions a prompt: GRPO's group size.")]
BatchSize = Annotated[
    int | None, how(help="Completions a step: prompts times --num-generations. (default: 128, or what the set fills)")
]
MicroBatchSize = Annotated[int | None, how(help="Completions in one pass of one process. (default: all)")]
LearningRate = Annotated[float | None, how(help="Learning rate. (default: one that suits the model's size)")]
Beta = Annotated[float, how(help="Weight of the KL term that pulls toward the policy as it was.")]
NoKL = Annotated[bool, how("--no-kl", help="Train without the KL term, knowing that policies collapse so.")]
LossType = Annotated[str, how(help="One of TRL's losses: grpo, dr_grpo, dapo, ...")]
TrainSignal = Annotated[str, how("--signal", help="Train on what: reward, or pass.")]
TrainTemperature = Annotated[
    float | None, how("--temperature", help="Sampling temperature. (default: the curated set's)")
]
MaxCompletionLength = Annotated[int | None, how(help="Most tokens of a completion. (default: the curated set's)")]
LoraRank = Annotated[int | None, how(help="Train LoRA adapters of this rank. (default: train every weight)")]
UseVLLM = Annotated[bool, how("--use-vllm", help="Let the trainer sample with vLLM; needs a GPU.")]
NumProcesses = Annotated[int, how(help="Training processes on this machine.")]
TrainSeed = Annotated[int, how("--seed", help="Seed of data order, sampling and evaluation.")]

Evaluate = Annotated[bool, measured("--evaluate/--no-evaluate", help="Measure held-out reward before and after.")]
EvalGroupSize = Annotated[int, measured(help="Fresh completions a held-out prompt.")]
EvalK = Annotated[int, measured(help="The k of pass@k.")]
EvalLimit = Annotated[int | None, measured(help="Most held-out prompts. (default: all)")]
SaveSteps = Annotated[int, measured(help="Steps between checkpoints.")]
ReportTo = Annotated[str, measured(help="A tracker that TRL knows, such as trackio.")]
