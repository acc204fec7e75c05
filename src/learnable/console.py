"""The shell around a command: progress on stderr, results on stdout, errors as one message, exit status."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.progress import watched_by
from learnable.progress_bar import ConsoleProgress
from learnable.report_tables import forms_table, held_out_table, holdings_table, parts_table, plan_table

BAD_INPUT, INTERRUPTED = 2, 130
FILE_WIDTH = 100  # columns, where the output is no terminal
IN_WORDS = {"too_easy": " (saturated)", "too_hard": " (beyond the policy)"}
MANY_FILES = 1000  # beyond this, looking things up takes seconds


class Shell:
    """Shows results: as tables, or as one JSON object."""

    def __init__(self, *, as_json: bool, quiet: bool, out: Console, err: Console) -> None:
        self.as_json = as_json
        self.out = out
        self.err = err
        self.progress = ConsoleProgress(err, quiet=quiet)

    def show_curation(self, report: Mapping[str, Any]) -> None:
        """Show the table by form, where things were written, and what to type next."""
        if self.as_json:
            self._dump(report)
            return
        totals = report["totals"]
        self.out.print(forms_table(report))
        self._line(
            f"\n{totals['kept']} of {totals['prompts']} prompts kept: {totals['train']} to train on, {totals['test']} held out. "
            f"{totals['rollouts']:,} rollouts, {totals['generated']:,} of them new, {totals['tokens']:,} tokens, "
            f"{report['seconds']:.0f} s."
        )
        if len(report["forms"]) > 1:
            whole = sum(form["learnable"] for form in report["forms"])
            self._line(
                f"{whole} of {len(report['forms'])} forms are learnable as a whole: mean .2 to .8, within-group std over .1."
            )
        decisions = ((reason, count) for reason, count in totals["decisions"].items() if reason != "keep")
        rejected = ", ".join(f"{count} {reason}{IN_WORDS.get(reason, '')}" for reason, count in decisions)
        if rejected:
            self._line(f"Rejected: {rejected}.")
        if report["triage"]:
            self._line(f"Never solved: {', '.join(f'{count} {name}' for name, count in report['triage'].items())}.")
        if report["certified_precision"] is not None:
            self._line(
                f"Certified: {report['certified_precision']:.0%} of the kept are expected to be truly in the band. "
                f"Forecast: {report['advice']}."
            )
        self._line(f"\ncurated set  {report['curated']}")
        if "training" in report:
            self._line("")
            self.show_training(report["training"])
        elif totals["train"] and report["engine"] != "simulated":
            self._line(f"next         learnable train --curated {report['curated']}")

    def show_plan(self, plan: Mapping[str, Any]) -> None:
        """Show what a run would come to, and what to type next."""
        if self.as_json:
            self._dump(plan)
            return
        self.out.print(plan_table(plan))
        for remark in plan["remarks"]:
            self._line(f"\n{remark[0].upper()}{remark[1:]}.")
        self._line("\nnext         the same command without --dry-run")

    def show_training(self, report: Mapping[str, Any]) -> None:
        """Show held-out figures before and after, the verdict, and where things were written."""
        if self.as_json:
            self._dump(report)
            return
        if report["held_out"]:
            self.out.print(held_out_table(report["held_out"]))
        self._line(f"\n{report['verdict']}\n")
        if report["foresight"]:
            self._line(f"{report['foresight']['sentence']}\n")
        self._show_parts(report)
        for name, key in (("policy", "trained_policy"), ("curve", "curve"), ("metrics", "metrics")):
            self._line(f"{name:<12} {report[key]}")
        self._line(f"next         find-learnable --policy {report['trained_policy']}")

    def _show_parts(self, report: Mapping[str, Any]) -> None:
        """Show what training on other parts of the set came to."""
        for comparison in report["comparisons"]:
            self.out.print(parts_table(comparison))
            self._line(f"\n{comparison['verdict']}\n")
        for objection in report["not_compared"]:
            self._line(f"{objection}\n")
        if report["held_out"] and report["settings"]["part"] == "train" and not report["comparisons"]:
            self._line("control      the same command with --part control shows what the curation is worth")

    def show_verified(self, summary: Mapping[str, Any]) -> None:
        """Show what a scored file came to."""
        if self.as_json:
            self._dump(summary)
            return
        verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in summary["verdicts"].items())
        mean = "-" if summary["mean_reward"] is None else f"{summary['mean_reward']:.3f}"
        passed = "-" if summary["pass_rate"] is None else f"{summary['pass_rate']:.3f}"
        self._line(f"{verdicts}; mean reward {mean}, pass rate {passed}\nscores       {summary['output']}")

    def show_forms(self, families: Sequence[Mapping[str, Any]]) -> None:
        """Show families with their forms and knobs."""
        if self.as_json:
            self._dump(families)
            return
        table = Table("family", "forms", "knobs", header_style="bold", show_lines=True)
        for family in families:
            table.add_row(family["family"], ", ".join(family["forms"]), ", ".join(family["knobs"]))
        self.out.print(table)

    def show_ledger(self, holdings: Mapping[str, Any]) -> None:
        """Show what a ledger holds."""
        if self.as_json:
            self._dump(holdings)
            return
        self.out.print(holdings_table(holdings))
        self._line(
            f"\n{holdings['rollouts']:,} rollouts of {holdings['prompts']:,} prompts, {holdings['tokens']:,} tokens; "
            f"{holdings['bytes']:,} bytes in {holdings['files']:,} files"
        )
        self._line(f"scored by    {', '.join(holdings['verifiers']) or 'nothing yet'}")
        if holdings["files"] > MANY_FILES:
            self._line(f"next         learnable ledger compact --store {holdings['store']}")

    def show_damage(self, damaged: Sequence[Mapping[str, Any]]) -> None:
        """Show which files were set aside."""
        if self.as_json:
            self._dump({"damaged": damaged})
            return
        for file in damaged:
            self._line(f"damaged      {file['file']}: {file['why']}\n             set aside as {file['moved_to']}")
        if damaged:
            self._line("What they held counts as missing: the command that made it makes it again, and nothing else.")
        else:
            self._line("every file is as it was written")

    def show_compacted(self, files: Mapping[str, int]) -> None:
        """Show how many files there were and are."""
        if self.as_json:
            self._dump(files)
        else:
            self._line(f"{files['files_before']:,} files before, {files['files_after']:,} now")

    def show_findings(self, findings: Mapping[str, Any], lines: Sequence[str]) -> None:
        """Show what was found, in `lines`."""
        if self.as_json:
            self._dump(findings)
            return
        for line in lines:
            self._line(line)

    def _line(self, text: str) -> None:
        self.out.print(text, highlight=False, soft_wrap=True, markup=False)

    def _dump(self, value: object) -> None:
        self.out.file.write(json.dumps(value, indent=2) + "\n")


@contextmanager
def open_shell(*, as_json: bool, quiet: bool) -> Iterator[Shell]:
    """Run a command's body. `LearnableError` ends it with one message and status 2, Ctrl-C with status 130.

    What libraries print on stdout goes to stderr, so that stdout holds results alone.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's wish to stop is as good as Ctrl-C
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as stdout:
        os.dup2(2, 1)
        shell = Shell(
            as_json=as_json,
            quiet=quiet,
            out=Console(file=stdout, width=None if stdout.isatty() else FILE_WIDTH),
            err=Console(stderr=True),
        )
        try:
            with watched_by(shell.progress):
                yield shell
        except InterruptedRunError as error:
            shell.err.print(f"\n{escape(str(error))}", highlight=False, soft_wrap=True)
            raise typer.Exit(INTERRUPTED) from error
        except LearnableError as error:
            shell.err.print(f"[red]error:[/red] {escape(str(error))}", highlight=False, soft_wrap=True)
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:
            shell.err.print("\nstopped: finished groups are in the store, the same command goes on from there")
            raise typer.Exit(INTERRUPTED) from error
        finally:
            shell.progress.close()
            stdout.flush()
            os.dup2(stdout.fileno(), 1)
