"""`learnable eval`: how good a policy is on a set's held-out prompts, alone or against another one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from learnable.cli import options
from learnable.cli.arguments import EngineArguments, RunArguments, count_workers, read_counts
from learnable.cli.console import STOPPED_RUN, Shell, open_shell
from learnable.cli.display.report_tables import tabulate_figures
from learnable.flows.settings.evaluation import EvalSettings
from learnable.train.settings import HeldOutName

if TYPE_CHECKING:
    from learnable.flows.evaluating.report import EvalReport

EVAL_HELP = """
Measure a policy on the held-out prompts of a curated set, through any engine.

Mean reward, pass@1, pass@k (unbiased) and greedy reward, with intervals, over new completions: those of the curation \
chose the prompts, and are never counted. Prompts that were kept and prompts that were rejected are reported apart, \
then families, forms and difficulties. With --against, two policies are compared prompt by prompt.

\b
Examples:
  learnable eval --curated learnable-store/curated/arithmetic
  learnable eval --curated SET --policy runs/arithmetic-1/policy --against path/to/model
  learnable eval --curated SET --verifier my_judge.py:score
  learnable eval --curated SET --engine server --base-url http://127.0.0.1:8000/v1 --output now.json
  learnable eval --curated SET --policy path/to/model --against now.json --held-out kept
  learnable eval --curated SET --k 1,4,16 --temperature 0.6 --top-p 0.95
"""
measure_option = options.panel("What is measured")
DEFAULTS = EvalSettings(curated="")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalArguments:
    """Which set, which policies, and what is measured."""

    curated: Annotated[str, options.prompt_option(help="A curated set: its folder, or a version's.")]
    held_out: Annotated[
        str,
        options.prompt_option(help="pool: held-out prompts that were kept or rejected; kept: the kept ones alone."),
    ] = DEFAULTS.held_out
    limit: Annotated[int | None, options.prompt_option(help="Most held-out prompts. (default: all)")] = DEFAULTS.limit
    policy: Annotated[
        str | None,
        options.policy_option(help="Model folder, LoRA adapter's folder, or hub id. (default: the set's own)"),
    ] = DEFAULTS.policy
    verifier: options.TrustedVerifiers = None
    against: Annotated[
        str | None,
        options.policy_option(help="Another policy to compare with, or a file that --output wrote of one."),
    ] = DEFAULTS.against
    group_size: Annotated[int, measure_option(help="New completions a prompt.")] = DEFAULTS.group_size
    k: Annotated[
        list[str] | None,
        measure_option("--k", help="The k of pass@k, --group-size at most; repeatable, or as 1,4,16. (default: 8)"),
    ] = None
    temperature: Annotated[
        float | None, measure_option(help="Sampling temperature, such as 0.6. (default: the set's)")
    ] = DEFAULTS.temperature
    top_p: Annotated[float | None, measure_option(help="Nucleus sampling, such as 0.95. (default: the set's)")] = (
        DEFAULTS.top_p
    )
    greedy: Annotated[
        bool, measure_option("--greedy/--no-greedy", help="Also one completion a prompt at temperature 0.")
    ] = DEFAULTS.greedy
    confidence: Annotated[float, measure_option(help="That of the intervals.")] = DEFAULTS.confidence
    seed: Annotated[
        int, measure_option("--seed", help="Of the completions, which are kept by it: another one makes others.")
    ] = DEFAULTS.seed
    store: Annotated[
        str | None,
        options.output_option(help="Folder or URL of the store that keeps completions. (default: the set's)"),
    ] = DEFAULTS.store
    output: Annotated[str | None, options.output_option(help="Write the report to this file too, as JSON.")] = None

    def settings(self, engine: EngineArguments, run: RunArguments) -> EvalSettings:
        """Return the settings. Raises `LearnableError` for what cannot work."""
        return EvalSettings(
            curated=self.curated,
            policy=self.policy,
            verifiers=tuple(self.verifier or ()),
            against=self.against,
            engine=engine.settings(),
            held_out=cast(HeldOutName, self.held_out),
            group_size=self.group_size,
            k=tuple(read_counts(self.k, "--k")) or DEFAULTS.k,
            temperature=self.temperature,
            top_p=self.top_p,
            greedy=self.greedy,
            limit=self.limit,
            confidence=self.confidence,
            seed=self.seed,
            store=self.store,
            workers=count_workers(run.workers),
            verifier_timeout=run.verifier_timeout,
            wait=run.wait,
        )


@options.with_flags
def evaluate(
    *,
    arguments: EvalArguments,
    engine: EngineArguments,
    run: RunArguments,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure a policy on the held-out prompts of a curated set."""
    with open_shell(as_json=as_json, quiet=quiet, stopped=STOPPED_RUN) as shell:
        from learnable.flows.evaluating.pipeline import run_evaluation

        report = run_evaluation(arguments.settings(engine, run))
        if arguments.output:
            report.write(Path(arguments.output))
        show_evaluation(shell, report)


def show_evaluation(shell: Shell, report: EvalReport) -> None:
    """Show the figures, and those of the other policy with what changed from it to this one."""
    if shell.as_json:
        shell.dump(report.to_json())
        return
    sampling = f"temperature {report.sampling.temperature:g}, top-p {report.sampling.top_p:g}"
    how = f"{report.group_size} new completions a prompt, {report.confidence:.0%} intervals, {sampling}"
    shell.out.print(tabulate_figures(f"policy {report.policy_id}, {how}", report.figures))
    if other := report.against:
        shell.out.print(tabulate_figures(f"policy {other.policy_id}, the shared prompts", other.figures))
        title = f"{report.policy_id} against {other.policy_id}, prompt by prompt"
        shell.out.print(tabulate_figures(title, other.changes, signed=True))
        shell.line(f"\n{report.policy_id} against {other.policy_id}: {other.verdict}")
    unscored = report.figures[0].unscored
    if unscored:
        shell.line(f"\n{unscored:,} completions have no reward and are left out")
    shell.line(f"\n{report.tokens:,} completion tokens; {report.generated:,} completions are new", whole=True)
