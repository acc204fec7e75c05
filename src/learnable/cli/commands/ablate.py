"""`learnable ablate`: training runs that differ in a few settings, side by side in one table and one figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from learnable.cli import options
from learnable.cli.console import BAD_INPUT, STOPPED_ABLATION, Shell, open_shell
from learnable.cli.display.fitted_table import Column, FittedTable
from learnable.data.errors import LearnableError
from learnable.data.plain_text import escape_controls
from learnable.train.ablation.planning import Ablation, Variant, list_ablations, read_ablation, read_text, write_value
from learnable.train.preflight.output import RUNS

if TYPE_CHECKING:
    from learnable.train.ablation.preparing import PreparedAblation
    from learnable.train.ablation.report import AblationReport

ABLATE_HELP = """
Train the same policy in several ways, one run after the other, and set what they came to side by side.

FILE is a TOML file of variants, of a grid of settings, and of seeds, or the name of a shipped one (--list). Every \
run is checked before the first is trained. The same command goes on where it was stopped: a run that is finished is \
not run again. Writes ablation.md, ablation.json and ablation.png into --output:
docs/how-to/compare-settings.md has the rest.

\b
Examples:
  learnable ablate --list
  learnable ablate samplers --curated learnable-store/curated/arithmetic --dry-run
  learnable ablate samplers --curated learnable-store/curated/arithmetic
  learnable ablate single-form --form haiku --curated learnable-store/curated/poetry
  learnable ablate samplers --show > mine.toml
  learnable ablate mine.toml --output runs/mine
"""
NEEDS = (0, 5, 0, 0, 0, 6, 4, 3, 7, 2, 1)  # of the table's columns, where a terminal is too narrow for all

run_option = options.panel("Which runs")


def ablate(
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="A TOML file, or a shipped one's name.")] = None,
    curated: Annotated[
        str, run_option(help="A curated set: its folder, or a version's. (default: the file's own)")
    ] = "",
    form: Annotated[
        str,
        run_option(
            "--form", help="The form that the file is about, as in single-form --form haiku. (default: its own)"
        ),
    ] = "",
    verifier: options.TrustedVerifiers = None,
    output: Annotated[str | None, run_option(help="Folder of all runs. (default: runs/ablation-NAME)")] = None,
    listed: Annotated[bool, run_option("--list", help="List the shipped ablations.")] = False,
    show: Annotated[bool, run_option("--show", help="Print the file, to make another one of it.")] = False,
    dry_run: Annotated[
        bool,
        run_option(
            "--dry-run", help="Check and print the runs, what differs and the completions each makes; train nothing."
        ),
    ] = False,
    use_prefect: options.UsePrefect = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Train several variants and compare them. Raises `LearnableError` where no FILE says which."""
    with open_shell(as_json=as_json, quiet=quiet, stopped=STOPPED_ABLATION) as shell:
        if listed:
            show_list(shell)
            return
        if not file:
            raise LearnableError(f"no FILE was given: give a TOML file, or one of {', '.join(list_ablations())}")
        if show:
            shell.out.file.write(escape_controls(read_text(file)))
            return
        from learnable.verifiers.registry import trust_verifiers

        trust_verifiers(verifier or ())
        ablation = read_ablation(file, curated, form)
        if not is_any_missing(shell, ablation, dry_run=dry_run):
            folder = Path(output) if output else RUNS / f"ablation-{ablation.name}"
            run_variants(shell, ablation, folder, dry_run=dry_run, use_prefect=use_prefect)


def run_variants(shell: Shell, ablation: Ablation, folder: Path, *, dry_run: bool, use_prefect: bool) -> None:
    """Train every variant and show the table, or show what would be trained. Exits with a status where one failed.

    Raises `LearnableError` for a variant that cannot work.
    """
    from learnable.train.ablation.preparing import prepare_ablation

    prepared = prepare_ablation(ablation, folder)
    if dry_run:
        show_plan(shell, prepared)
        return
    from learnable.flows.ablating import run_ablation

    report = run_ablation(prepared, use_prefect=use_prefect)
    show_report(shell, report)
    if report.failed:
        raise typer.Exit(BAD_INPUT)


def show_list(shell: Shell) -> None:
    """Show the shipped ablations and what each asks."""
    ablations = [read_ablation(name, "SET") for name in list_ablations()]
    if shell.as_json:
        shell.dump([{"name": one.name, "title": one.title, "runs": len(one.variants)} for one in ablations])
        return
    table = FittedTable([Column("name", text=12), Column("variants"), Column("what it compares", text=20)])
    for one in ablations:
        table.add_row(one.name, str(len(one.variants)), one.title)
    shell.out.print(table)


def is_any_missing(shell: Shell, ablation: Ablation, *, dry_run: bool) -> bool:
    """Make the sets that are not there, or, of a dry run, say which would be made; return whether any is missing then.

    Raises `LearnableError` as a curation does.
    """
    from learnable.flows.ablating import find_missing_sets, make_set

    missing = find_missing_sets(ablation)
    if dry_run and missing:
        show_missing(shell, ablation.curated, missing)
        return True
    for variant in missing:
        make_set(ablation, variant)
    return False


def show_missing(shell: Shell, curated: str, missing: Sequence[Variant]) -> None:
    """Show the sets that are made first; what the runs come to is known when they are there."""
    sets = [{"curated": one.settings.curated, "make": dict(one.make), "made_by": one.made_by} for one in missing]
    if shell.as_json:
        shell.dump({"missing": sets})
        return
    for one in missing:
        name, made = one.settings.curated, write_value(one.make)
        shell.line(f"{name} is not there: it is made first, of the prompts of {curated} ({made})")
    shell.line("\nthe runs are planned when it is")


def show_plan(shell: Shell, prepared: PreparedAblation) -> None:
    """Show the runs as they would be made, and what preflight says of the variants."""
    from learnable.train.ablation.report import write_differences

    rows = [
        {
            "run": run.name,
            "differs": dict(run.variant.differs),
            "steps": run.settings.steps,
            "completions": run.completions,
            "evaluated": prepared.count_evaluated(run),
            "state": run.state,
            "folder": run.settings.output,
        }
        for run in prepared.runs
    ]
    if shell.as_json:
        shell.dump({"runs": rows, "held_out_prompts": len(prepared.shared), "remarks": prepared.remarks})
        return
    figures = (Column("steps"), Column("completions\ntrained on"), Column("completions\nheld out", need=1))
    table = FittedTable([Column("run", text=12), Column("what differs", text=12), *figures, Column("state")])
    for run, row in zip(prepared.runs, rows, strict=True):
        counts = (f"{row[name]:,}" for name in ("steps", "completions", "evaluated"))
        table.add_row(run.name, write_differences(run.variant.differs), *counts, run.state)
    shell.out.print(table)
    made = sum(run.completions for run in prepared.runs if run.state != "finished")
    shell.line(f"\n{made:,} completions are to be trained on; {len(prepared.shared)} held-out prompts are compared")
    for remark in prepared.remarks:
        shell.line(f"\n{remark}")


def show_report(shell: Shell, report: AblationReport) -> None:
    """Show the table, what is to be known of it, and where things were written."""
    if shell.as_json:
        shell.dump(report.to_json())
        return
    first, *figures = zip(report.columns, NEEDS, strict=True)
    table = FittedTable([Column(first[0], text=20), *(Column(name, need=need) for name, need in figures)])
    for variant in report.variants:
        table.add_row(*report.list_cells(variant))
    shell.line(f"\n{report.title or report.name}: {report.heading}\n")
    shell.out.print(table)
    for note in (*report.notes, *report.failed):
        shell.line(f"\n{note}")
    shell.line(f"\n{'figure':<12} {report.figure}", whole=True)
    shell.line(f"{'table':<12} {report.table}", whole=True)
