"""How options are declared: alone or in groups, under the panels of `--help`; those that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

Command = Callable[..., None]


def with_flags(command: Command) -> Command:
    """Let a command take groups of options.

    A parameter whose type is a dataclass becomes a flag for each of the dataclass's fields, with the field's default;
    the command gets the dataclass. So a flag is declared once, and mypy sees the way from it to its use.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    flags: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        kind = hints[parameter.name]
        flags += _flags_of(kind) if is_dataclass(kind) else [parameter.replace(annotation=kind)]

    @wraps(command)
    def run(**typed: Any) -> None:
        made = {
            name: kind(**{field.name: typed.pop(field.name) for field in fields(kind)}) for name, kind in groups.items()
        }
        command(**made, **typed)

    shown = [flag.replace(kind=Parameter.KEYWORD_ONLY) for flag in flags]
    run.__signature__ = Signature(shown)  # type: ignore[attr-defined]  # what Typer reads
    run.__annotations__ = {flag.name: flag.annotation for flag in shown}
    return run


def _flags_of(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def panel(title: str) -> Any:
    """Return a function that declares an option under a heading of `--help`."""
    return lambda *flags, help, **more: typer.Option(*flags, help=help, rich_help_panel=title, **more)


def complete_form(typed: str) -> list[str]:
    """Return the forms that begin so, for the shell."""
    from learnable.verifiers.families.registry import list_families

    return _complete(typed, (form for family in list_families() for form in family.known_forms()))


def complete_family(typed: str) -> list[str]:
    """Return the families that begin so, for the shell."""
    from learnable.verifiers.families.registry import KNOWN

    return _complete(typed, KNOWN)


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


prompt_option = panel("Which prompts")
TrustedVerifiers = Annotated[
    list[str] | None,
    prompt_option(
        "--verifier",
        help="A verifier of your own that the set names, as FILE.py:OBJECT; repeatable. A set's own word imports none.",
    ),
]
policy_option = panel("Which policy")
engine_option = panel("What samples it")
goal_option = panel("How many are wanted")
decision_option = panel("What is kept")
output_option = panel("Where it goes")
schedule_option = panel("When it runs")

HELP_FLAGS = {"help_option_names": ["-h", "--help"]}

FormsFile = Annotated[
    str | None, prompt_option("--forms", help="A TOML file of poem forms of your own (docs/reference/poem-keys.md).")
]
Workers = Annotated[int | None, output_option(help="Processes that score. (default: one for four cores)")]
VerifierTimeout = Annotated[
    float | None, output_option(help="Seconds that scoring one completion may take. (default: the verifier's own)")
]
VerifierRange = Annotated[
    str | None,
    prompt_option(
        help="Where the numbers of a judge of yours lie: LOW..HIGH, such as -1..1. (default: its own, or 0..1)"
    ),
]
VerifierPass = Annotated[
    float | None, prompt_option(help="The least of its numbers that passes. (default: its own, or the highest)")
]
Wait = Annotated[bool, output_option("--wait/--no-wait", help="Wait for another run that writes the store, or stop.")]
UsePrefect = Annotated[
    bool, output_option("--prefect/--no-prefect", help="Run as a Prefect flow, or as plain functions.")
]
AsJson = Annotated[bool, output_option("--json", help="Print one JSON object on stdout and nothing else there.")]
Quiet = Annotated[bool, output_option("--quiet", help="Show no progress.")]
Version = Annotated[
    bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
]
