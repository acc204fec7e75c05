"""The command line: `find-learnable`, and `learnable` with all its commands."""

from __future__ import annotations

import os
from typing import Any

import typer
from typer import rich_utils

from learnable.cli import options
from learnable.cli.commands.ablate import ABLATE_HELP, ablate
from learnable.cli.commands.annotate import ANNOTATE_HELP, annotate
from learnable.cli.commands.compare import COMPARE_HELP, compare
from learnable.cli.commands.dial import DIAL_HELP, dial
from learnable.cli.commands.doctor import DOCTOR_HELP, doctor
from learnable.cli.commands.evaluate import EVAL_HELP, evaluate
from learnable.cli.commands.explain import EXPLAIN_HELP, explain
from learnable.cli.commands.export import EXPORT_HELP, export
from learnable.cli.commands.find import FIND_HELP, find
from learnable.cli.commands.forms import FORMS_HELP, forms
from learnable.cli.commands.import_rollouts import IMPORT_HELP, import_rollouts
from learnable.cli.commands.ledger import ledger_app
from learnable.cli.commands.loop import LOOP_HELP, loop
from learnable.cli.commands.new_verifier import NEW_VERIFIER_HELP, new_verifier
from learnable.cli.commands.publish import PUBLISH_HELP, publish
from learnable.cli.commands.refresh import REFRESH_HELP, refresh
from learnable.cli.commands.report import REPORT_HELP, report
from learnable.cli.commands.show import SHOW_HELP, show
from learnable.cli.commands.train import TRAIN_HELP, train
from learnable.cli.commands.verify import VERIFY_HELP, verify
from learnable.cli.commands.view import VIEW_HELP, view
from learnable.cli.display.terminal_text import SafeConsole
from learnable.cli.flags import FlagApp, FlagCommand

# Only what `--help` needs is imported up here: torch, vllm, trl, polars and prefect wait inside the commands.

rich_utils.Console = SafeConsole  # type: ignore[attr-defined]  # what typer says of arguments, and its tracebacks

app = FlagApp(
    no_args_is_help=True,
    context_settings=options.HELP_FLAGS,
    help="Find the prompts a language model can learn from.",
)
find_app = typer.Typer(context_settings=options.HELP_FLAGS)


class FindCommand(FlagCommand):
    """`find-learnable`, whose messages may be about settings of other commands too."""

    def find_root(self, ctx: Any) -> Any:
        """Return `learnable`."""
        return typer.main.get_command(app)


@app.callback()
def about(version: options.Version = False) -> None:
    """Find the prompts a language model can learn from."""


find_app.command(help=FIND_HELP, cls=FindCommand)(find)
app.command(help=FIND_HELP)(find)
app.command(help=DIAL_HELP)(dial)
app.command(help=TRAIN_HELP)(train)
app.command(help=ABLATE_HELP)(ablate)
app.command(help=VERIFY_HELP)(verify)
app.command(help=REFRESH_HELP)(refresh)
app.command("eval", help=EVAL_HELP)(evaluate)
app.command(help=LOOP_HELP)(loop)
app.command(help=SHOW_HELP)(show)
app.command(help=REPORT_HELP)(report)
app.command(help=VIEW_HELP)(view)
app.command(help=EXPLAIN_HELP)(explain)
app.command(help=FORMS_HELP)(forms)
app.command(help=NEW_VERIFIER_HELP)(new_verifier)
app.command("import", help=IMPORT_HELP)(import_rollouts)
app.command(help=EXPORT_HELP)(export)
app.command(help=COMPARE_HELP)(compare)
app.command(help=PUBLISH_HELP)(publish)
app.command(help=ANNOTATE_HELP)(annotate)
app.command(help=DOCTOR_HELP)(doctor)
app.add_typer(ledger_app, name="ledger")


def main() -> None:
    """Run `learnable`."""
    keep_to_one_thread()
    app()


def find_command() -> None:
    """Run `find-learnable`."""
    keep_to_one_thread()
    find_app()


def keep_to_one_thread() -> None:
    """Let NumPy use one thread, unless the user says otherwise.

    Our matrices are small, and threads that wait for each other took 3.5 times as long where something else used one
    of two cores.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
