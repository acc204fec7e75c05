"""`learnable eval`: how good a policy is on a set's held-out prompts, alone or against another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from learnable.cli import options
from learnable.cli.arguments import WORKERS, EngineArguments, read_counts
from learnable.cli.console import STOPPED_RUN, Shell, open_shell
from learnable.cli.display.report_tables import tabulate_figures
from learnable.cli.flags import Flag, Given, flags_of, with_flags
from learnable.flows.settings.curation import OUTPUT, POLICY, PROMPTS
from learnable.flows.settings.evaluation import EvalSettings
from learnable.train.settings import MEASURED

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


def read_ks(typed: list[str] | None) -> int | tuple[int, ...]:
    """Return the k of pass@k, or several. Raises `LearnableError` for what is no whole number."""
    return tuple(read_counts(typed, "--k")) or EvalSettings(curated="").k


@with_flags(PROMPTS, POLICY, MEASURED, OUTPUT)
def evaluate(
    *,
    given: Annotated[Given, flags_of(EvalSettings, MEASURED, workers=WORKERS, k=Flag(kind=list[str], read=read_ks))],
    output: Annotated[str | None, options.output_option(help="Write the report to this file too, as JSON.")] = None,
    engine: EngineArguments,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure a policy on the held-out prompts of a curated set."""
    with open_shell(as_json=as_json, quiet=quiet, stopped=STOPPED_RUN) as shell:
        from learnable.flows.evaluating.pipeline import run_evaluation

        report = run_evaluation(EvalSettings(**given.read(), engine=engine.settings()))
        if output:
            report.write(Path(output))
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
