"""The shell around a command: progress on stderr, results on stdout, errors as one message, exit status."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import typer
from rich.markup import escape

from learnable.cli.display.progress_bar import ConsoleProgress
from learnable.cli.display.terminal_text import SafeConsole, has_width, read_columns
from learnable.cli.flags import name_flags
from learnable.data.errors import InterruptedRunError, LearnableError, NothingAnsweredError, SpentBudgetError
from learnable.data.progress import watched_by

UNSCORED, BAD_INPUT, INTERRUPTED = 1, 2, 130
STOPPED_ABLATION = "stopped: runs that are finished are kept, the same command goes on from there"
STOPPED_RUN = "stopped: finished groups are in the store, the same command goes on from there"


class ResultConsole(SafeConsole):
    """A console for results: whoever stops reading them ends the command, quietly (see `open_shell`)."""

    def on_broken_pipe(self) -> None:
        """Let the error through, instead of ending the process here."""
        raise BrokenPipeError(errno.EPIPE, "nobody reads the results any more")


class Shell:
    """Shows results: as tables, or as one JSON object."""

    def __init__(self, *, as_json: bool, quiet: bool, out: SafeConsole, err: SafeConsole) -> None:
        self.as_json = as_json
        self.out = out
        self.err = err
        self.progress = ConsoleProgress(err, quiet=quiet)

    def claim_output(self) -> IO[str]:
        """Return standard output, for rows alone: what is shown from now on goes to standard error."""
        rows, self.out = self.out.file, self.err
        return rows

    def line(self, text: str, *, whole: bool = False) -> None:
        """Print a line without markup, with flags for the names of settings.

        Where there is a width it wraps at words, unless it is copied as a `whole`.
        """
        soft_wrap = whole or not has_width(self.out)
        self.out.print(name_flags(text), highlight=False, soft_wrap=soft_wrap, markup=False)

    def dump(self, value: object) -> None:
        """Write one JSON value, with flags for the names of settings in what is said under `MESSAGES`."""
        self.out.file.write(json.dumps(_name_flags_in(value), indent=2) + "\n")


@contextmanager
def open_shell(*, as_json: bool, quiet: bool, stopped: str = "stopped") -> Iterator[Shell]:
    """Run a command's body, and yield the shell that it talks through.

    `LearnableError` ends it with one message and status 2, or 1 where nothing was answered or a budget is spent, Ctrl-C
    with status 130 and the word `stopped`.
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
            out=ResultConsole(file=stdout, width=None if stdout.isatty() else read_columns() or 100),  # of a file
            err=SafeConsole(stderr=True),
        )
        try:
            with watched_by(shell.progress):
                yield shell
        except BrokenPipeError:
            if not _reader_is_gone(stdout):
                raise
        except InterruptedRunError as error:
            shell.err.print(f"\n{escape(name_flags(str(error)))}", highlight=False, soft_wrap=not shell.err.is_terminal)
            raise typer.Exit(INTERRUPTED) from error
        except LearnableError as error:
            shell.err.print(
                f"[red]error:[/red] {escape(name_flags(str(error)))}",
                highlight=False,
                soft_wrap=not shell.err.is_terminal,
            )
            is_unscored = isinstance(error, NothingAnsweredError | SpentBudgetError)
            raise typer.Exit(UNSCORED if is_unscored else BAD_INPUT) from error
        except KeyboardInterrupt as error:
            shell.err.print(f"\n{stopped}", highlight=False, soft_wrap=True)
            raise typer.Exit(INTERRUPTED) from error
        finally:
            shell.progress.close()
            _flush(stdout)
            os.dup2(stdout.fileno(), 1)


# Keys of reports that have messages, and no text of prompts or completions.
MESSAGES = frozenset("advice end findings first_bad helped note notes not_compared remarks says warnings why".split())


def _name_flags_in(value: Any, *, is_message: bool = False) -> Any:
    if isinstance(value, Mapping):
        return {key: _name_flags_in(inner, is_message=is_message or key in MESSAGES) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_name_flags_in(inner, is_message=is_message) for inner in value]
    return name_flags(value) if is_message and isinstance(value, str) else value


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
