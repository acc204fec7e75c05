"""`learnable show`: the prompts of a curated set, and one prompt with its completions and their scores."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from learnable.cli.console import Shell, open_shell
from learnable.cli.display.fitted_table import Column, FittedTable, figure
from learnable.cli.display.prompt_page import print_prompt, shorten_prompt

if TYPE_CHECKING:
    import polars as pl

    from learnable.data.curated.curated_set import CuratedSet
    from learnable.flows.showing import ShownPrompt

SHOW_HELP = """
Show the prompts of a curated set, or one prompt with every completion and its score.

Without PROMPT_ID, lists the kept prompts, or the rejected ones. With it, or with as many of its first digits as \
tell it from the others: what was asked, what is known of it, and what the policy answered.

\b
Examples:
  learnable show learnable-store/curated/sonnet
  learnable show sonnet --rejects --limit 50
  learnable show sonnet --reason near_miss
  learnable show sonnet 3f9a0c1d --completions 4
  learnable show sonnet 3f9a0c1d --json
"""
SORTS = ("reward", "index")
Shown = TypeVar("Shown")

Set = Annotated[
    str, typer.Argument(metavar="SET", help="A curated set: its folder, a version's, or its name in --store.")
]
PromptId = Annotated[str | None, typer.Argument(metavar="PROMPT_ID", help="A prompt's id, or how it starts.")]
Rejects = Annotated[bool, typer.Option("--rejects", help="List the rejected prompts.")]
Part = Annotated[str | None, typer.Option(help="Look at this part alone: train, test, rejects, reserve or control.")]
Reason = Annotated[
    str | None, typer.Option(help="Only prompts of this decision or triage, such as too_hard or near_miss.")
]
Limit = Annotated[int, typer.Option(help="Most prompts to list; 0 for all.")]
Completions = Annotated[
    int | None, typer.Option(help="Most completions to show, the best and the worst. (default: all)")
]
Sort = Annotated[str, typer.Option(help="Completions by reward, the best first, or by index.")]
Store = Annotated[
    str | None, typer.Option(help="Folder or URL of the store. (default: the one the set lies in, or learnable-store)")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def show(
    curated: Set,
    prompt_id: PromptId = None,
    rejects: Rejects = False,
    part: Part = None,
    reason: Reason = None,
    limit: Limit = 20,
    completions: Completions = None,
    sort: Sort = "reward",
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Show the prompts of a curated set, or one of them with its completions.

    Raises `LearnableError` for what cannot be shown, which the shell turns into one message and exit status 2.
    """
    with open_shell(as_json=as_json, quiet=True) as shell:
        from learnable.data.errors import LearnableError, UnknownNameError
        from learnable.flows.showing import find_row, find_set, read_rows, show_prompt, with_reason

        if sort not in SORTS:
            raise UnknownNameError("--sort", sort, SORTS)
        for flag, number in (("--limit", limit), ("--completions", completions)):
            if number is not None and number < 0:
                raise LearnableError(f"{flag} {number} is less than nothing: give 0 or more")
        curated_set = find_set(curated, store or "learnable-store")
        all_rows = read_rows(curated_set, _parts(rejects, part, reason, prompt_id))
        rows = all_rows if reason is None else with_reason(all_rows, reason)
        if prompt_id is None and rows.is_empty() and not as_json:
            say_none(shell, curated_set, all_rows, reason)
        elif prompt_id is None:
            show_list(
                shell,
                curated_set,
                rows,
                limit,
                shlex.join(
                    [*(["--store", store] if store else []), *(["--"] if curated.startswith("-") else []), curated]
                ),
            )
        else:
            show_one(shell, show_prompt(curated_set, find_row(rows, prompt_id), store), completions, sort)


def _parts(rejects: bool, part: str | None, reason: str | None, prompt_id: str | None) -> Sequence[str]:
    """Return the parts that are meant: a reason why prompts were rejected means the rejected ones."""
    from learnable.data.curated.curated_set import POOL_PARTS
    from learnable.flows.showing import KEPT_PARTS, REJECTED_PARTS

    if part is not None:
        return (part,)
    if rejects:
        return REJECTED_PARTS
    if prompt_id is not None:
        return POOL_PARTS
    return REJECTED_PARTS if reason not in (None, "keep") else KEPT_PARTS


def show_list(shell: Shell, curated: CuratedSet, rows: pl.DataFrame, limit: int, again: str) -> None:
    """List prompts, say how many more there are, and what to type next: `again` is how the set was named."""
    from learnable.flows.showing import id_digits, set_name

    listed = rows.head(limit or rows.height)
    if shell.as_json:
        keys = ("prompt_id", "part", "family", "form", "prompt", "n", "mean", "std", "decision", "triage")
        prompts = [{key: to_json(row[key]) for key in keys} for row in listed.iter_rows(named=True)]
        shell.dump({"curated": str(curated.path), "prompts": prompts, "total": rows.height})
        return
    digits = id_digits(rows["prompt_id"])
    count = f"{rows.height:,} prompt{'s' * (rows.height != 1)}"
    shell.line(f"{count} of {set_name(curated)}, policy {curated.manifest.policy.policy_id}\n")
    shell.out.print(tabulate_prompts(listed, digits))
    if rows.height > listed.height:
        shell.line(f"\n{rows.height - listed.height:,} more: --limit 0 lists all {rows.height:,}")
    shell.line(f"\nnext         learnable show {again} {listed['prompt_id'][0][:digits]}", whole=True)


def say_none(shell: Shell, curated: CuratedSet, rows: pl.DataFrame, reason: str | None) -> None:
    """Say that no prompt is listed, and what there is instead."""
    from learnable.flows.showing import count_reasons, set_name

    shell.line(f"no prompt of {set_name(curated)}" + (f" is {reason}" if reason else " there"))
    if rows.is_empty():
        there = {name: part.rows for name, part in curated.manifest.parts.items()}
    else:
        there = count_reasons(rows)
    shell.line(f"there are    {', '.join(f'{count:,} {name}' for name, count in there.items())}")


def tabulate_prompts(rows: pl.DataFrame, digits: int) -> FittedTable:
    """Return a table with one row per prompt; ids are cut to so many `digits`, which tell them apart."""
    triaged = rows["triage"].null_count() < rows.height
    columns = [
        Column("id", text=8),
        Column("form", text=12, need=3),
        Column("prompt", text=16, cut=True),
        Column("n", need=2),
        Column("mean"),
        Column("std", need=1),
        Column("decision", text=12),
    ]
    table = FittedTable([*columns, Column("triage", text=17)] if triaged else columns)
    for row in rows.iter_rows(named=True):
        cells = (row["prompt_id"][:digits], row["form"], shorten_prompt(row["prompt"]), figure(row["n"], 0))
        judged = (figure(row["mean"]), figure(row["std"]), row["decision"] or "-")
        table.add_row(*cells, *judged, *([row["triage"] or "-"] if triaged else []))
    return table


def show_one(shell: Shell, shown: ShownPrompt, count: int | None, sort: str) -> None:
    """Show one prompt with `count` of its completions."""
    listed = shown.completions or []
    if sort == "index":
        listed = sorted(listed, key=lambda one: one.rollout_index)
    chosen = pick(listed, count, sort)
    if not shell.as_json:
        print_prompt(shell.out, shown, chosen, sort)
        return
    from learnable.data.tables import JSON_NAMES

    manifest = shown.curated.manifest
    verifier = shown.row["verifier"]
    page = {
        "curated": str(shown.curated.path),
        "policy": manifest.policy.policy_id,
        "sampling": manifest.sampling.to_json(),
        "verifier_version": manifest.verifiers.get(verifier),
        "row": {JSON_NAMES.get(name, name): value for name, value in shown.row.items()},
        "completions": None if shown.completions is None else [asdict(one) for one in chosen],
        "total": len(listed),
        "note": shown.note,
    }
    shell.dump({key: to_json(value) for key, value in page.items()})


def pick(listed: Sequence[Shown], count: int | None, sort: str) -> list[Shown]:
    """Return `count` completions: the first by index; by reward the best half and the worst half.

    >>> pick(range(9), 3, "reward")
    [0, 1, 8]
    """
    if count is None or count >= len(listed):
        return list(listed)
    worst = count // 2 if sort == "reward" else 0
    return [*listed[: count - worst], *(listed[-worst:] if worst else ())]


def to_json(value: Any) -> Any:
    """Return a value as JSON can say it: a number that is none as null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: to_json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(inner) for inner in value]
    return value
