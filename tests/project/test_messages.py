"""Below the command line a message names a setting in backticks; the flag is the command line's to say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from learnable.cli.app import app
from learnable.train.monitor.rules import read_rules

ROOT = Path(__file__).parents[2]
ROOMS = ("data", "rollouts", "verifiers", "filters", "train", "flows")
NOT_MESSAGES = {
    "data/settings.py",  # makes flags of names
    "verifiers/domains.py",  # which flag of `learnable explain` a domain reads a file for
    "train/policy/__main__.py",  # a program of its own
    "verifiers/poetry/language/training/__main__.py",  # a program of its own
}
COMMAND = re.compile(r"`[^`]+`|(?:find-learnable|learnable [a-z]+)\b(?:[^,.;:()`\n]|\.(?=\S))*")  # to be typed as it is
FLAG = re.compile(r"(?<![\w-])--(?:[a-z][a-z-]*|{})")


@pytest.fixture(scope="module")
def flags() -> set[str]:
    """Every flag of a command, and `--{}`, one that is made of a name."""
    commands = typer.main.get_command(app).commands.values()  # type: ignore[attr-defined]
    return {"--{}"}.union(*(option.opts + option.secondary_opts for command in commands for option in command.params))


def find_flags(text: str, flags: set[str]) -> list[str]:
    """Return the flags that a text says outside of commands."""
    return [flag for flag in FLAG.findall(COMMAND.sub("", text)) if flag in flags]


def read_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module with their lines, `{}` for a value; no docstring, and no help of a setting."""
    nodes = list(ast.walk(ast.parse(source)))
    skipped = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Setting":
            skipped |= {id(part) for part in ast.walk(node)}
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr) and id(node) not in skipped:
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def test_messages_below_the_command_line_name_settings(flags: set[str]) -> None:
    files = [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]
    said = [
        f"{place}:{line} says {', '.join(found)}"
        for file in files
        if (place := str(file.relative_to(ROOT))) not in NOT_MESSAGES
        for line, text in read_texts(file.read_text(encoding="utf-8"))
        if (found := find_flags(text, flags))
    ]
    assert len(files) > 400
    assert not said, "write the setting's name in backticks, as in `group_size`: " + "; ".join(said)


def test_alarms_name_settings(flags: set[str]) -> None:
    for rule in read_rules():
        assert not find_flags(f"{rule.says} {rule.why} {rule.helped}", flags), rule.name


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('raise ValueError("give --store")', ["--store"]),
        ('raise ValueError(f"{name}: give a longer " f"--prompts {file}, or none")', ["--prompts"]),
        ("warn(f\"--{name.replace('_', '-')} is wrong\")", ["--{}"]),
        ('warn("give `store`, or `ray start --address=HOST`; go on with learnable train --curated a.b --resume")', []),
        ('warn("after learnable find: give --store")', ["--store"]),
        ('"""Takes `--store` or --store."""\nstore: Annotated[str, Setting("Goes with --output.")]', []),
    ],
)
def test_this_guard_finds_flags(flags: set[str], source: str, found: list[str]) -> None:
    assert [flag for _, text in read_texts(source) for flag in find_flags(text, flags)] == found
