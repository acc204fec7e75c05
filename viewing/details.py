"""All of one prompt as the page opens it: its words and spec, its completions, and why a text scores as it does."""

from __future__ import annotations

import json
from collections.abc import Sequence

import polars as pl

from learnable.data.curated.manifest import Manifest
from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject, Row, Spec
from learnable.data.schemas import OUR_COLUMNS
from learnable.verifiers.domains import EXPLANATIONS, load_from
from learnable.verifiers.explanation import Explanation


def describe_prompt(row: Row, completions: Sequence[JsonObject]) -> JsonObject:
    """Return a prompt of a version, a row of `scan_pool`, with what `describe_completions` told of its completions."""
    text = row["prompt"]
    carried = {name: value for name, value in row.items() if name not in (*OUR_COLUMNS, "part") and value is not None}
    return {
        "id": row["prompt_id"],
        "prompt": text if isinstance(text, str) else [[turn["role"], turn["content"]] for turn in text],
        "spec": json.loads(row["spec"]),
        "carried": {
            name: value if isinstance(value, str | int | float | bool) else str(value)
            for name, value in carried.items()
        },
        "completions": completions,
    }


def describe_completions(rows: pl.DataFrame, manifest: Manifest) -> list[JsonObject]:
    """Return rows of `read_groups` as the page has them, in their order."""
    cut_out = (pl.col("verdict") == "truncated").fill_null(False) & (manifest.truncated == "exclude")
    plain = rows.select(
        "reward",
        "passed",
        "verdict",
        index="rollout_index",
        reason=pl.col("reason").fill_null(""),
        counts=pl.col("reward").is_not_null() & ~cut_out,
        tokens="num_tokens",
        finish="finish_reason",
        text="completion",
    )
    # Column by column: a report has a million of these, and named rows would take longer than all else.
    values = zip(*(column.to_list() for column in plain), strict=True)
    told: list[JsonObject] = [dict(zip(plain.columns, one, strict=True)) for one in values]
    for one, parts in zip(told, rows["components"].to_list(), strict=True):
        one["components"] = {name: round(value, 6) for name, value in dict(parts or {}).items()}
    thoughts = zip(told, rows["reasoning"].to_list(), rows["reasoning_tokens"].to_list(), strict=True)
    for one, thought, tokens in thoughts:
        if thought:
            one.update(reasoning=thought, reasoning_tokens=tokens)
    return told


def can_explain(verifier: str) -> bool:
    """Whether a verifier's domain says line by line why a text scores as it does."""
    return verifier in EXPLANATIONS


def explain(verifier: str, completion: str, spec: Spec, prompt: str) -> JsonObject | None:
    """Return the lines of a completion as its domain explains them; None where it cannot explain this one.

    `lines` have `text`, the `marks` over it, and under each of `headings` pieces of text with their styles. `parts` are
    the components with their weights, and `hints` say what would raise the reward.
    """
    try:
        found: Explanation = load_from(EXPLANATIONS, verifier)(completion, spec, prompt)
    except LearnableError:  # a form that this process does not know
        return None
    return {
        "headings": list(found.headings),
        "lines": [
            {
                "text": line.text,
                "marks": line.marks,
                "figures": [[list(piece) for piece in styled] for styled in line.figures],
                "ends_block": line.ends_block,
            }
            for line in found.list_lines()
        ],
        "parts": [
            {"name": part.name, "value": part.value, "weight": part.weight, "strict": part.strict, "needs": part.needs}
            for part in found.parts
        ],
        "hints": list(found.hints),
    }


def explain_ends(prompt: JsonObject, verifier: str, words: str) -> int:
    """Explain the best and the worst completion of a described prompt; return how many were."""
    completions: Sequence[JsonObject] = prompt["completions"]
    ends = completions if len(completions) < 2 else (completions[0], completions[-1])
    for one in ends:
        one["explanation"] = explain(verifier, one["text"], prompt["spec"], words)
    return len(ends)
