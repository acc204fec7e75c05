"""The options of `find-learnable`, grouped as `--help` shows them."""

from __future__ import annotations

from typing import Annotated, Any

import typer


def _option(panel: str) -> Any:
    return lambda *flags, help: typer.Option(*flags, help=help, rich_help_panel=panel)


prompts = _option("Which prompts")
policy = _option("Which policy")
decision = _option("What is kept")
output = _option("Where it goes")

Form = Annotated[list[str] | None, prompts(help="A form, such as sonnet or Addition; repeatable.")]
Family = Annotated[list[str] | None, prompts(help="A family, such as poetry; repeatable, adds to --form.")]
Prompts = Annotated[str | None, prompts(help="A .jsonl, .csv or .parquet file, a data set folder, or a hub id.")]
PromptColumn = Annotated[str, prompts(help="Column of --prompts that holds the prompt.")]
AnswerColumn = Annotated[str | None, prompts(help="Column of --prompts that holds the right answer.")]
DatasetSplit = Annotated[str, prompts(help="Split to read of a data set.")]
Verifier = Annotated[str | None, prompts(help="Judge of rows that name none: a name, or module:object.")]
Knob = Annotated[list[str] | None, prompts(help="A generator's knob, such as arithmetic.largest=50; repeatable.")]
Limit = Annotated[int | None, prompts(help="Most prompts to look at. (default: 512 built-in, all of --prompts)")]

Policy = Annotated[str | None, policy(help="Model folder or hub id. (default: the bundled policy)")]
Engine = Annotated[str, policy(help="What samples the policy.")]
EngineArg = Annotated[list[str] | None, policy(help="For vllm.LLM, such as tensor_parallel_size=8; repeatable.")]
Temperature = Annotated[float, policy(help="Sampling temperature; use the one you train with.")]
TopP = Annotated[float, policy(help="Nucleus sampling.")]
MaxTokens = Annotated[int, policy(help="Most tokens of a completion.")]

GroupSize = Annotated[int, decision(help="Completions a prompt (TRL: num_generations).")]
Band = Annotated[tuple[float, float], decision(help="Keep prompts whose group mean lies in here.")]
MinStd = Annotated[float, decision(help="Keep prompts whose group spreads at least this much.")]
Signal = Annotated[str, decision(help="Mean of what: reward, or pass.")]
Truncated = Annotated[str, decision(help="Completions that ran out of tokens: count, or exclude.")]
TestShare = Annotated[float, decision(help="Share of each form held out from training.")]
Seed = Annotated[int, decision(help="Seed of prompts, rollouts and splits.")]

Store = Annotated[str, output(help="Folder of rollouts, scores and curated sets.")]
Name = Annotated[str, output(help="Name of the curated set. (default: from what was asked)")]
Workers = Annotated[int | None, output(help="Processes that score. (default: one for four cores)")]
UsePrefect = Annotated[bool, output("--prefect/--no-prefect", help="Run as a Prefect flow, or as plain functions.")]
AsJson = Annotated[bool, output("--json", help="Print one JSON object on stdout and nothing else there.")]
Quiet = Annotated[bool, output("--quiet", help="Show no progress.")]
