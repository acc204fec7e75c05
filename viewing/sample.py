"""Which prompts of a large set have completions in its report: some of every form and decision, as many as fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import polars as pl

from learnable.data.curated.curated_set import CuratedSet
from learnable.data.ledger.ledger import Draw
from learnable.data.records import JsonObject, Prompt
from learnable.data.store import Store
from learnable.viewing.details import can_explain, describe_completions, describe_prompt, explain_ends
from learnable.viewing.groups import read_groups
from learnable.viewing.packing import pack_each
from learnable.viewing.prompts import scan_pool

PILOT = 256  # prompts by which it is known how many have room
PROMPTS, COMPLETIONS = 20_000, 1 << 18  # at most, where they are so short that more had room
COMPLETIONS_AT_ONCE = 1 << 15  # in memory together: some 4 KB each, and their texts
SPARE = 0.9  # of the room: later prompts may be longer
BLOCK = 64  # prompts that a browser unpacks together


@dataclass(frozen=True, slots=True)
class Block:
    """Some prompts with all their completions, packed: how many of those, and how many are explained line by line."""

    prompt_ids: Sequence[str]
    text: str
    completions: int
    explained: int


def choose_order(rows: pl.DataFrame) -> list[str]:
    """Return the prompts' ids in the order in which they get room: turn by turn one of each form and decision.

    Prompts with completions come first. Within a stratum ids decide, which are hashes: so the sample is random, and the
    same whenever it is drawn.

    >>> rows = {"prompt_id": ["c", "a", "b"], "form": ["x", "x", "y"], "decision": ["keep"] * 3, "rollouts": [8, 8, 8]}
    >>> choose_order(pl.DataFrame(rows))
    ['a', 'b', 'c']
    """
    stratum = [pl.col("form"), pl.col("decision")]
    turn = pl.col("prompt_id").rank("ordinal").over(stratum)
    sampled = pl.col("rollouts").fill_null(0) > 0
    ordered = rows.select("prompt_id", "form", "decision", sampled=sampled, turn=turn).sort(
        "sampled", "turn", "form", "decision", "prompt_id", descending=[True, False, False, False, False]
    )
    return ordered["prompt_id"].to_list()


def pack_blocks(
    curated: CuratedSet, home: Store, rows: pl.DataFrame, prompts: Mapping[str, Prompt], room: int, explained: int
) -> list[Block]:
    """Return prompts with their completions in packed blocks, as many as `room` characters and the memory hold.

    A pilot tells how long they are. The others are read in the order of the ledger's files, so that each of those is
    read few times. At most `explained` completions are explained line by line.
    """
    ordered = choose_order(rows)
    pilot, room = _fill(curated, home, [prompts[name] for name in ordered[:PILOT]], room, explained)
    told = sum(len(block.prompt_ids) for block in pilot)
    if told < min(PILOT, len(ordered)) or told == len(ordered):
        return pilot
    each = sum(len(block.text) for block in pilot) / told
    a_prompt = sum(block.completions for block in pilot) / told
    most = min(room * SPARE / each, PROMPTS, COMPLETIONS / max(a_prompt, 1))
    more = [prompts[name] for name in ordered[told : told + int(most)]]
    draw = Draw(curated.manifest.policy.policy_id, curated.manifest.sampling)
    by_file = [more[place] for place in home.ledger.order_by_file(draw, more)]
    at_once = max(round(COMPLETIONS_AT_ONCE / max(a_prompt, 1) / BLOCK), 1) * BLOCK
    others, _ = _fill(curated, home, by_file, room, explained - sum(block.explained for block in pilot), at_once)
    return pilot + others


def _fill(
    curated: CuratedSet, home: Store, prompts: Sequence[Prompt], room: int, explained: int, at_once: int = PILOT
) -> tuple[list[Block], int]:
    """Pack prompts, some at once, until the room is used up; return the blocks, and how much room is left."""
    parts = [prompts[start : start + BLOCK] for start in range(0, len(prompts), BLOCK)]
    completions: list[int] = []
    lines: list[int] = []

    def describe() -> Iterator[list[JsonObject]]:
        shares = (prompts[start : start + at_once] for start in range(0, len(prompts), at_once))
        every = chain.from_iterable(_describe(curated, home, share) for share in shares)
        for part, described in zip(parts, every, strict=True):
            lines.append(_explain(described, part, explained - sum(lines)))
            completions.append(sum(len(prompt["completions"]) for prompt in described))
            yield described

    blocks: list[Block] = []
    for part, text, many, done in zip(parts, pack_each(describe()), completions, lines, strict=True):
        if len(text) > room:
            break
        room -= len(text)
        blocks.append(Block([prompt.prompt_id for prompt in part], text, many, done))
    return blocks, room


def _describe(curated: CuratedSet, home: Store, prompts: Sequence[Prompt]) -> Iterator[list[JsonObject]]:
    """Yield the prompts block by block, so that one is described while those before it are compressed."""
    order = pl.DataFrame({"prompt_id": [prompt.prompt_id for prompt in prompts]}, {"prompt_id": pl.String})
    pool = scan_pool(curated).join(order.lazy(), on="prompt_id", how="semi").unique("prompt_id", keep="first")
    rows = {row["prompt_id"]: row for row in pool.collect().iter_rows(named=True)}
    read = read_groups(home.ledger, curated.manifest, prompts, errors=True)
    read = read.join(order.with_row_index("place"), on="prompt_id", maintain_order="left")
    for start in range(0, len(prompts), BLOCK):
        part = read.filter(pl.col("place").is_between(start, start + BLOCK, closed="left"))
        groups: dict[str, list[JsonObject]] = {}
        for name, one in zip(part["prompt_id"], describe_completions(part, curated.manifest), strict=True):
            groups.setdefault(name, []).append(one)
        names = [prompt.prompt_id for prompt in prompts[start : start + BLOCK]]
        yield [describe_prompt(rows[name], groups.get(name, [])) for name in names]


def _explain(described: Sequence[JsonObject], prompts: Sequence[Prompt], most: int) -> int:
    done = 0
    for one, prompt in zip(described, prompts, strict=True):
        if done + 2 <= most and can_explain(prompt.verifier):
            done += explain_ends(one, prompt.verifier, prompt.text)
    return done
