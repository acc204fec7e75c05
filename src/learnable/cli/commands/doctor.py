"""`learnable doctor`: how well this machine can confine programs, and what would make it better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from learnable.cli import options
from learnable.cli.console import Shell, open_shell

if TYPE_CHECKING:
    from learnable.data.records import JsonObject

DOCTOR_HELP = """
Show how well this machine can confine programs that a policy wrote.

Starts the sandbox, lets it try what must fail, and says which rung it reaches (A best), each probe, and what to \
install to climb. Ends with status 1 where programs cannot be confined.

\b
Examples:
  learnable doctor
  learnable doctor --strict --json
"""


@dataclass(frozen=True, slots=True)
class Findings:
    """What the sandbox says of itself, or why there is none (`missing`), and what would make it better."""

    sandbox: JsonObject | None
    advice: Sequence[str]
    missing: str = ""


def doctor(
    strict: bool = typer.Option(False, help="Take the two best rungs alone."),
    as_json: options.AsJson = False,
) -> None:
    """Show how well this machine can confine programs."""
    with open_shell(as_json=as_json, quiet=True) as shell:
        findings = examine_machine(strict=strict)
        show_findings(shell, findings)
    if findings.sandbox is None:
        raise typer.Exit(1)


def examine_machine(*, strict: bool) -> Findings:
    """Start the sandbox, and return what it found. Raises `LearnableError` where no domain has one."""
    from learnable.verifiers.domains import MACHINE_CHECKS, load_from

    return Findings(*load_from(MACHINE_CHECKS, "a sandbox")(strict=strict))


def show_findings(shell: Shell, findings: Findings) -> None:
    """Show the findings: a line each, or as JSON."""
    if shell.as_json:
        none: dict[str, object] = {"rung": None, "meaning": "no sandbox", "probes": {}, "remarks": [findings.missing]}
        shell.dump({**(findings.sandbox or none), "advice": findings.advice})
        return
    if findings.sandbox is None:
        shell.line("rung         none: no sandbox")
        shell.line(f"why          {findings.missing}")
    else:
        _show_sandbox(shell, findings.sandbox)
    for step in findings.advice:
        shell.line(f"to climb     {step}")


def _show_sandbox(shell: Shell, report: JsonObject) -> None:
    shell.line(f"rung         {report['rung']}: {report['meaning']}")
    for name, result in report["probes"].items():
        shell.line(f"{name:<28} {result}")
    for remark in report["remarks"]:
        shell.line(f"why          {remark}")
