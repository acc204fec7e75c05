"""The shell around a command: progress on stderr, results on stdout, errors as one message, exit status."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import IO, TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape

from learnable.cli.display.progress_bar import ConsoleProgress
from learnable.cli.display.report_tables import (
    tabulate_forms,
    tabulate_held_out,
    tabulate_holdings,
    tabulate_parts,
    tabulate_plan,
)
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.progress import watched_by

if TYPE_CHECKING:
    from learnable.flows.curation.cost import CostReport
    from learnable.flows.curation.report import CurationReport

UNSCORED, BAD_INPUT, INTERRUPTED = 1, 2, 130
STOPPED_RUN = "stopped: finished groups are in the store, the same command goes on from there"
FILE_WIDTH = 100  # columns, where the output is no terminal
IN_WORDS = {"too_easy": " (saturated)", "too_hard": " (beyond the policy)"}
MANY_FILES = 1000  # beyond this, looking things up takes seconds


class ResultConsole(Console):
    """A console for results: whoever stops reading them ends the command, quietly (see `open_shell`)."""

    def on_broken_pipe(self) -> None:
        """Let the error through, instead of ending the process here."""
        raise BrokenPipeError(errno.EPIPE, "nobody reads the results any more")


class Shell:
    """Shows results: as tables, or as one JSON object."""

    def __init__(self, *, as_json: bool, quiet: bool, out: Console, err: Console) -> None:
        self.as_json = as_json
        self.out = out
        self.err = err
        self.progress = ConsoleProgress(err, quiet=quiet)

    def show_curation(self, report: CurationReport) -> None:
        """Show the table by form, where things were written, and what to type next."""
        if self.as_json:
            self.dump(report.to_json())
            return
        totals = report.totals
        self.out.print(tabulate_forms(report))
        self.line(
            f"\n{totals.kept} of {totals.prompts} prompts kept: {totals.train} to train on, {totals.test} held out. "
            f"{totals.rollouts:,} rollouts, {totals.generated:,} of them new, {totals.tokens:,} tokens, "
            f"{report.seconds:.0f} s."
        )
        if len(report.forms) > 1:
            whole = sum(bool(form.learnable) for form in report.forms)
            self.line(
                f"{whole} of {len(report.forms)} forms are learnable as a whole: mean .2 to .8, within-group std over .1."
            )
        decisions = ((reason, count) for reason, count in totals.decisions.items() if reason != "keep")
        rejected = ", ".join(f"{count} {reason}{IN_WORDS.get(reason, '')}" for reason, count in decisions)
        if rejected:
            self.line(f"Rejected: {rejected}.")
        if report.triage:
            self.line(f"Never solved: {', '.join(f'{count} {name}' for name, count in report.triage.items())}.")
        if report.certified_precision is not None:
            self.line(
                f"Certified: {report.certified_precision:.0%} of the kept are expected to be truly in the band. "
                f"Forecast: {report.advice}."
            )
        self.line(f"\ncurated set  {report.curated}", whole=True)
        if report.training is not None:
            self.line("")
            self.show_training(report.training.to_json())
        elif totals.train and report.engine != "simulated":
            self.line(f"next         learnable train --curated {quote(report.curated)}", whole=True)

    def show_plan(self, plan: CostReport) -> None:
        """Show what a run would come to, and what to type next."""
        if self.as_json:
            self.dump(plan.to_json())
            return
        self.out.print(tabulate_plan(plan))
        for remark in plan.remarks:
            self.line(f"\n{remark[0].upper()}{remark[1:]}.")
        self.line("\nnext         the same command without --dry-run")

    def show_training(self, report: Mapping[str, Any]) -> None:
        """Show held-out figures before and after, the verdict, and where things were written."""
        if self.as_json:
            self.dump(report)
            return
        if report["held_out"]:
            self.out.print(tabulate_held_out(report["held_out"]))
        self.line(f"\n{report['verdict']}\n")
        if report["foresight"]:
            self.line(f"{report['foresight']['sentence']}\n")
        self._show_parts(report)
        for name, key in (("policy", "trained_policy"), ("curve", "curve"), ("metrics", "metrics")):
            self.line(f"{name:<12} {report[key]}", whole=True)
        self.line(f"next         find-learnable --policy {quote(report['trained_policy'])}", whole=True)

    def _show_parts(self, report: Mapping[str, Any]) -> None:
        """Show what training on other parts of the set came to."""
        for comparison in report["comparisons"]:
            self.out.print(tabulate_parts(comparison))
            self.line(f"\n{comparison['verdict']}\n")
        for objection in report["not_compared"]:
            self.line(f"{objection}\n")
        if report["held_out"] and report["settings"]["part"] == "train" and not report["comparisons"]:
            self.line("control      the same command with --part control shows what the curation is worth")

    def show_verified(self, summary: Mapping[str, Any]) -> None:
        """Show what a scored file came to."""
        if self.as_json:
            self.dump(summary)
            return
        verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in summary["verdicts"].items())
        mean = "-" if summary["mean_reward"] is None else f"{summary['mean_reward']:.3f}"
        passed = "-" if summary["pass_rate"] is None else f"{summary['pass_rate']:.3f}"
        self.line(f"{verdicts}; mean reward {mean}, pass rate {passed}")
        self.line(f"scores       {summary['output']}", whole=True)

    def claim_output(self) -> IO[str]:
        """Return standard output, for rows alone: what is shown from now on goes to standard error."""
        rows, self.out = self.out.file, self.err
        return rows

    def say_unscored(self, verifier: str, reasons: Mapping[str, int]) -> None:
        """Say that a verifier gave no reward at all, and why."""
        why = "; ".join(f"{count:,} x {reason}" for reason, count in reasons.items())
        self.err.print(
            f"[red]error:[/red] {escape(f'verifier {verifier!r} gave no row a reward: {why}')}",
            highlight=False,
            soft_wrap=True,
        )

    def show_ledger(self, holdings: Mapping[str, Any]) -> None:
        """Show what a ledger holds."""
        if self.as_json:
            self.dump(holdings)
            return
        self.out.print(tabulate_holdings(holdings))
        self.line(
            f"\n{holdings['rollouts']:,} rollouts of {holdings['prompts']:,} prompts, {holdings['tokens']:,} tokens; "
            f"{holdings['bytes']:,} bytes in {holdings['files']:,} files"
        )
        self.line(f"scored by    {', '.join(holdings['verifiers']) or 'nothing yet'}")
        if holdings["files"] > MANY_FILES:
            self.line(f"next         learnable ledger compact --store {quote(holdings['store'])}", whole=True)

    def show_damage(self, damaged: Sequence[Mapping[str, Any]]) -> None:
        """Show which files were set aside."""
        if self.as_json:
            self.dump({"damaged": damaged})
            return
        for file in damaged:
            self.line(
                f"damaged      {file['file']}: {file['why']}\n             set aside as {file['moved_to']}", whole=True
            )
        if damaged:
            self.line("What they held counts as missing: the command that made it makes it again, and nothing else.")
        else:
            self.line("every file is as it was written")

    def show_compacted(self, files: Mapping[str, int]) -> None:
        """Show how many files there were and are."""
        if self.as_json:
            self.dump(files)
        else:
            self.line(f"{files['files_before']:,} files before, {files['files_after']:,} now")

    def show_findings(self, findings: Mapping[str, Any], lines: Sequence[str]) -> None:
        """Show what was found, in `lines`."""
        if self.as_json:
            self.dump(findings)
            return
        for line in lines:
            self.line(line)

    def line(self, text: str, *, whole: bool = False) -> None:
        """Print a line without markup. On a terminal it wraps at words, unless it is to be copied as a `whole`."""
        soft_wrap = whole or not self.out.is_terminal
        self.out.print(text, highlight=False, soft_wrap=soft_wrap, markup=False)

    def dump(self, value: object) -> None:
        """Write one JSON value."""
        self.out.file.write(json.dumps(value, indent=2) + "\n")


@contextmanager
def open_shell(*, as_json: bool, quiet: bool, stopped: str = "stopped") -> Iterator[Shell]:
    """Run a command's body. `LearnableError` ends it with one message and status 2, Ctrl-C with status 130 and the word `stopped`.

    What libraries print on stdout goes to stderr, so that stdout holds results alone. Where their reader has gone, as
    `| head` does, the rest is not said, and that is no error.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's wish to stop is as good as Ctrl-C
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as stdout:
        os.dup2(2, 1)
        shell = Shell(
            as_json=as_json,
            quiet=quiet,
            out=ResultConsole(file=stdout, width=None if stdout.isatty() else FILE_WIDTH),
            err=Console(stderr=True),
        )
        try:
            with watched_by(shell.progress):
                yield shell
        except BrokenPipeError:
            if not _reader_is_gone(stdout):
                raise
        except InterruptedRunError as error:
            shell.err.print(f"\n{escape(str(error))}", highlight=False, soft_wrap=not shell.err.is_terminal)
            raise typer.Exit(INTERRUPTED) from error
        except LearnableError as error:
            shell.err.print(
                f"[red]error:[/red] {escape(str(error))}", highlight=False, soft_wrap=not shell.err.is_terminal
            )
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:
            shell.err.print(f"\n{stopped}", highlight=False, soft_wrap=True)
            raise typer.Exit(INTERRUPTED) from error
        finally:
            shell.progress.close()
            _flush(stdout)
            os.dup2(stdout.fileno(), 1)


def _flush(stdout: IO[str]) -> None:
    """Write what is left; where nobody reads it, drop it."""
    try:
        stdout.flush()
    except BrokenPipeError:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), stdout.fileno())


def _reader_is_gone(stdout: IO[str]) -> bool:
    watched = select.poll()
    watched.register(stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in watched.poll(0))
