"""`learnable doctor`: how well this machine can confine programs, and what would make it better."""

from __future__ import annotations

from typing import Any

import typer

from learnable.cli import options
from learnable.cli.console import Shell, open_shell

DOCTOR_HELP = """
Show how well this machine can confine programs that a policy wrote.

Starts the sandbox, lets it try what must fail, and says which rung it reaches (A best), each probe, and what to \
install to climb. Ends with status 1 where programs cannot be confined.

\b
Examples:
  learnable doctor
  learnable doctor --strict --json
"""


def doctor(
    strict: bool = typer.Option(False, help="Take the two best rungs alone."),
    as_json: options.AsJson = False,
) -> None:
    """Show how well this machine can confine programs."""
    with open_shell(as_json=as_json, quiet=True) as shell:
        findings = examine_machine(strict=strict)
        show_findings(shell, findings)
    if findings["rung"] is None:
        raise typer.Exit(1)


def examine_machine(*, strict: bool) -> dict[str, Any]:
    """Return the sandbox's report with `advice`; without a sandbox `rung` is None and `remarks` say why."""
    from learnable.verifiers.programs import NoSandboxError, Sandbox, SandboxError
    from learnable.verifiers.programs.sandbox.ladder import look_at_machine

    advice = look_at_machine().advice
    try:
        with Sandbox(strict=strict) as sandbox:
            return {**sandbox.report, "advice": advice}
    except (NoSandboxError, SandboxError) as error:
        return {"rung": None, "meaning": "no sandbox", "probes": {}, "remarks": [str(error)], "advice": advice}


def show_findings(shell: Shell, findings: dict[str, Any]) -> None:
    """Show the findings: a line each, or as JSON."""
    if shell.as_json:
        shell.dump(findings)
        return
    shell.line(f"rung         {findings['rung'] or 'none'}: {findings['meaning']}")
    for name, found in findings["probes"].items():
        shell.line(f"{name:<28} {found}")
    for remark in findings["remarks"]:
        shell.line(f"why          {remark}")
    for step in findings["advice"]:
        shell.line(f"to climb     {step}")
