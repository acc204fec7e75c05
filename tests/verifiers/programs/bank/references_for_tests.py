"""The reference solutions and the mistakes of the problem bank, and what writes its judged calls from them.

`references/TOPIC.toml` has the `solutions` of each form of the family `code`, the first of which says what is expected,
and in `wrong` mistakes that people make. A new row of `cases.jsonl` may leave out what is expected, as in
`"example": [[2]], "edges": [[[0]], [[1]]]`: after any change, write all rows anew with

    python -m tests.verifiers.programs.bank.references_for_tests
"""

from __future__ import annotations

import copy
import json
import random
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from learnable.verifiers.programs.bank.family import BANK
from learnable.verifiers.programs.bank.problem import Arguments
from tests.support.paths import ROOT
from tests.verifiers.programs.bank.calls_for_tests import DRAW_CALL

CASES = ROOT / "verifiers" / "programs" / "bank" / "cases.jsonl"
MAX_DRAWN = 100  # as many as the knob `drawn_cases` may ask for
TRIES = 20  # for each call that is drawn: some draws repeat, as short lists do


@cache
def read_references() -> dict[str, dict[str, list[str]]]:
    """Return by form the bodies of its `solutions` and of the `wrong` ones."""
    files = sorted((Path(__file__).parent / "references").glob("*.toml"))
    return {form: bodies for file in files for form, bodies in tomllib.loads(file.read_text(encoding="utf-8")).items()}


def write_sources(form: str, kind: str, parameters: Arguments, name: str = "f") -> list[str]:
    """Return the sources of a form's `solutions`, or of its `wrong` ones, as functions called `name`."""
    return [BANK[form].write(body, name, parameters) for body in read_references()[form][kind]]


@cache
def compiled(source: str, name: str = "f") -> Callable[..., Any]:
    """Return the function `name` of a source that this project wrote."""
    scope: dict[str, Any] = {}
    exec(source, scope)
    function: Callable[..., Any] = scope[name]
    return function


def judge(form: str, parameters: Arguments, arguments: list[Any]) -> list[Any]:
    """Return `[arguments, expected]` of one call."""
    source = write_sources(form, "solutions", parameters)[0]
    return [arguments, compiled(source)(*copy.deepcopy(arguments))]


def draw_calls(form: str, parameters: Arguments, known: list[list[Any]]) -> Iterator[list[Any]]:
    """Yield distinct calls that are not known."""
    rng, seen = random.Random(f"{form}:{parameters}"), list(known)
    for _ in range(TRIES * MAX_DRAWN):
        if len(seen) == len(known) + MAX_DRAWN:
            break
        if (given := DRAW_CALL[form](rng)) not in seen:
            seen.append(given)
            yield given


def write_row(line: str) -> str:
    """Return a row of `cases.jsonl` with every call judged and all of them drawn; of another family, as it is."""
    row = json.loads(line)
    form, parameters = row["form"], tuple(row["parameters"])
    if form not in BANK:
        return line
    example, edges = row["example"][0], [case[0] for case in row["edges"]]
    drawn = list(draw_calls(form, parameters, [*edges, example]))
    row["example"] = judge(form, parameters, example)
    row["edges"], row["drawn"] = ([judge(form, parameters, call) for call in calls] for calls in (edges, drawn))
    return json.dumps(row, ensure_ascii=False)


if __name__ == "__main__":
    lines = CASES.read_text(encoding="utf-8").splitlines()
    CASES.write_text("".join(f"{write_row(line)}\n" for line in lines), encoding="utf-8")
