"""Options that several commands share, and the panels of `--help` that they stand under."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from learnable.cli.flags import Flag, option_of
from learnable.filters.stopping.budget import WANTED
from learnable.flows.settings import CurateSettings, PromptSettings, RefreshSettings
from learnable.flows.settings.curation import DECIDED, OUTPUT, POLICY, PROMPTS


def panel(title: str) -> Any:
    """Return a function that declares an option under a heading of `--help`."""
    return lambda *flags, help, **more: typer.Option(*flags, help=help, rich_help_panel=title, **more)


def complete_form(typed: str) -> list[str]:
    """Return the forms that begin so, for the shell."""
    from learnable.verifiers.families.registry import list_families

    return _complete(typed, (form for family in list_families() for form in family.known_forms()))


def complete_family(typed: str) -> list[str]:
    """Return the families that begin so, for the shell."""
    from learnable.verifiers.families.registry import ALL_FAMILIES

    return _complete(typed, ALL_FAMILIES)


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


SAMPLED_BY, SCHEDULED = "What samples it", "When it runs"
prompt_option = panel(PROMPTS)
policy_option = panel(POLICY)
engine_option = panel(SAMPLED_BY)
goal_option = panel(WANTED)
decision_option = panel(DECIDED)
output_option = panel(OUTPUT)
schedule_option = panel(SCHEDULED)

HELP_FLAGS = {"help_option_names": ["-h", "--help"]}

FormsFile = Annotated[str | None, option_of(PromptSettings, "forms_file", Flag(panel=PROMPTS))]
Workers = Annotated[int | None, option_of(CurateSettings, "workers", Flag(default=None))]
VerifierTimeout = Annotated[float | None, option_of(CurateSettings, "verifier_timeout")]
Wait = Annotated[bool, option_of(CurateSettings, "wait")]
TrustedVerifiers = Annotated[list[str] | None, option_of(RefreshSettings, "verifiers")]
VerifierRange = Annotated[
    str | None,
    prompt_option(
        help="Where the numbers of a judge of yours lie: LOW..HIGH, such as -1..1. (default: its own, or 0..1)"
    ),
]
VerifierPass = Annotated[
    float | None, prompt_option(help="The least of its numbers that passes. (default: its own, or the highest)")
]
UsePrefect = Annotated[
    bool, output_option("--prefect/--no-prefect", help="Run as a Prefect flow, or as plain functions.")
]
AsJson = Annotated[bool, output_option("--json", help="Print one JSON object on stdout and nothing else there.")]
Quiet = Annotated[bool, output_option("--quiet", help="Show no progress.")]
Version = Annotated[
    bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
]
