"""`learnable verify`: score a file of completions with any verifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from learnable.cli import options
from learnable.cli.arguments import count_workers, name_verifier
from learnable.cli.console import UNSCORED, Shell, open_shell
from learnable.cli.flags import name_flags

if TYPE_CHECKING:
    from learnable.verifiers.files.scoring import VerifySummary

VERIFY_HELP = """
Score a file of completions with any verifier.

Reads one JSON object a line, {"completion", "prompt"?, "form"?, "answer"?, "choices"?, "spec"?}, and writes one a \
line in the same order, {"reward", "passed", "verdict", "components", "reason"}. For programs, a row may have the \
columns of HumanEval or MBPP, or a task_id alone, of a problem in --prompts; for instructions, those of IFEval. \
Prompt and completion may be lists of messages. Ids are written too. A bad line, and a completion that is null, has \
no reward, and the others have theirs. Exits with status 1 where no row got a reward.

\b
Examples:
  learnable verify --verifier poetry --input poems.jsonl --output out.jsonl
  learnable verify --verifier programs --prompts HumanEval.jsonl.gz --input samples.jsonl --output out.jsonl
  learnable verify --verifier my_judge.py:judge --input a.jsonl.gz --output -
  learnable verify --verifier my_rewards.py:score --verifier-range -1..1 --input a.jsonl --output out.jsonl
"""


ProblemTable = Annotated[
    str | None,
    typer.Option("--prompts", help="Problems by id, such as HumanEval.jsonl.gz, for rows with a task_id and no tests."),
]


def verify(
    verifier: Annotated[str, typer.Option(help="A verifier's name, yours as FILE.py:OBJECT, or trl:NAME.")],
    input_path: Annotated[Path, typer.Option("--input", help="Completions, JSONL or .gz; - is standard input.")],
    output_path: Annotated[Path, typer.Option("--output", help="Scores, JSONL; - is standard output.")],
    prompts: ProblemTable = None,
    forms_file: options.FormsFile = None,
    verifier_range: options.VerifierRange = None,
    verifier_pass: options.VerifierPass = None,
    workers: options.Workers = None,
    verifier_timeout: options.VerifierTimeout = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Score a file of completions with any verifier."""
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        from learnable.data.sources.files.prompts import read_problems
        from learnable.verifiers.families.registry import load_forms
        from learnable.verifiers.files.rows import Problems, RowReader
        from learnable.verifiers.files.scoring import verify_file
        from learnable.verifiers.protocol import verifier_notice
        from learnable.verifiers.registry import find_verifier

        verifier = name_verifier(verifier, verifier_range, verifier_pass)
        if notice := verifier_notice(find_verifier(verifier)):
            shell.progress.warn(notice)
        problems = Problems(prompts, read_problems(prompts, verifier)) if prompts else Problems()
        reader = RowReader(verifier, load_forms(forms_file), problems)
        output = shell.claim_output() if str(output_path) == "-" else output_path
        progress = shell.progress.completions
        summary = verify_file(reader, input_path, output, count_workers(workers), progress, verifier_timeout)
        if summary.bad_rows:
            shell.progress.warn(tell_bad_rows(summary))
        show_verified(shell, summary, output_path)
        if summary.mean_reward is None:
            say_unscored(shell, verifier, summary.reasons)
            raise typer.Exit(UNSCORED)


def tell_bad_rows(summary: VerifySummary) -> str:
    """Say which lines could not be scored, and why."""
    shown = 3  # bad lines
    more = f"; and {summary.bad_rows - shown:,} more" if summary.bad_rows > shown else ""
    reasons = "; ".join(summary.first_bad[:shown])
    return f"{summary.bad_rows:,} of {summary.rows:,} lines are bad and have no reward: {reasons}{more}"


def show_verified(shell: Shell, summary: VerifySummary, output: Path) -> None:
    """Show what a scored file came to."""
    if shell.as_json:
        values = {name: value for name, value in asdict(summary).items() if summary.bad_rows or "bad" not in name}
        shell.dump(values | {"output": str(output)})
        return
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in summary.verdicts.items())
    mean = "-" if summary.mean_reward is None else f"{summary.mean_reward:.3f}"
    passed = "-" if summary.pass_rate is None else f"{summary.pass_rate:.3f}"
    shell.line(f"{verdicts}; mean reward {mean}, pass rate {passed}")
    shell.line(f"scores       {output}", whole=True)


def say_unscored(shell: Shell, verifier: str, reasons: Mapping[str, int]) -> None:
    """Say that a verifier gave no reward at all, and why."""
    why = "; ".join(f"{count:,} x {reason}" for reason, count in reasons.items())
    shell.err.print(
        f"[red]error:[/red] {escape(name_flags(f'verifier {verifier!r} gave no row a reward: {why}'))}",
        highlight=False,
        soft_wrap=True,
    )
