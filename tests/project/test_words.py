"""One vocabulary: words that once had several meanings name nothing any more (the glossary is in `data.records`)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.support.paths import ROOT

ROOMS = (
    "data",
    "rollouts",
    "verifiers",
    "filters",
    "train",
    "viewing",
    "flows",
    "src/learnable/cli",
    "tests",
    "benchmarks",
)
FILES = sorted(file for room in ROOMS for file in (ROOT / room).rglob("*.py") if "attacks" not in file.parts)
RETIRED = set("asked owed held effort lots wave waves ageing foresight prospects sayings".split())
RETIRED |= set("spread spreads flip flips coin coins draws".split())
RETIRED_PAIRS = ("shelf_life", "look_ahead", "run_pipeline")
KNOBS = ("spread",)  # what users type in a spec or as `--knob` names an argument, and nothing else
CAPPED = {"MOST", "LEAST"}  # of constants: MAX and MIN
USUAL = ("held_out", "heldout", "holdout")  # data that training does not see


def names_in(tree: ast.AST) -> Iterator[str]:
    """Yield every identifier that a source file defines or uses."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.keyword(arg=str(name)) if name not in KNOBS:
                yield name


def retired_words(name: str) -> set[str]:
    """Return the retired words of an identifier.

    >>> sorted(retired_words("held_store")), retired_words("held_out"), retired_words("MOST_ROUNDS")
    (['held'], set(), {'MOST'})
    >>> retired_words("ShelfLife"), retired_words("LOOK_AHEAD"), retired_words("draw_uniforms")
    ({'shelf_life'}, {'look_ahead'}, set())
    """
    if any(usual in name.lower() for usual in USUAL):
        return set()
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    capped = CAPPED & {words[0]} if name.isupper() and words else set()
    lower = [word.lower() for word in words]
    pairs = {pair for pair in RETIRED_PAIRS if pair in "_".join(lower)}
    return capped | pairs | RETIRED & set(lower)


def test_no_identifier_has_a_retired_word() -> None:
    for file in FILES:
        used = {name for name in names_in(ast.parse(file.read_text(encoding="utf-8"))) if retired_words(name)}
        assert used == set(), file


def test_no_file_has_a_retired_word() -> None:
    assert [file for file in FILES if retired_words(file.stem)] == []


def test_no_column_has_a_retired_word() -> None:
    from learnable.data.schemas import OUR_COLUMNS, ROLLOUTS, SCORES

    assert [name for name in [*OUR_COLUMNS, *ROLLOUTS.names, *SCORES.names] if retired_words(name)] == []
    assert "p_spread" not in OUR_COLUMNS


def test_no_flag_has_a_retired_word() -> None:
    import typer

    from learnable.cli.app import app

    commands = [typer.main.get_command(app)]
    flags = []
    for command in commands:
        commands += getattr(command, "commands", {}).values()
        flags += [flag for parameter in command.params for flag in parameter.opts]
    assert len(flags) > 50
    assert [flag for flag in flags if retired_words(flag.replace("-", "_"))] == []
