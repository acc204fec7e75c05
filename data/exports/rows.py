"""Rows of a curated set as a target's columns have them: templates filled with the values of a prompt."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject, Row, canonical_json
from learnable.data.schemas import OUR_COLUMNS

# What says where a prompt stands, and how surely; an export has those that the set has.
CERTIFICATE = (
    *("n", "mean", "std", "passes", "pass_rate", "rollouts", "n_eff"),
    *("alpha", "beta", "p_zero", "p_one", "p_in_band", "p_min_std", "p_keep", "ci_low", "ci_high"),
    *("usable_at_g", "expected_within_variance", "decision"),
)


@dataclass(frozen=True, slots=True)
class Exported:
    """What the rows of one export share: the set's name, and the tags around thoughts ("" where there are none)."""

    name: str
    tags: str = ""


def fill_row(template: Any, row: Row, index: int, export: Exported) -> JsonObject:
    """Return a row by a target's columns. Raises `LearnableError` for a value that the table of targets misspells."""
    values = find_values(row, index, export)
    return {str(name): _fill(value, values) for name, value in template.items()}


def find_values(row: Row, index: int, export: Exported) -> JsonObject:
    """Return what templates may name of a prompt: `$messages`, `$answer` and the others, and each column of the set."""
    prompt, spec = row["prompt"], json.loads(row["spec"])
    turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(turn) for turn in prompt]
    answer = spec.get("answer", "")
    own = {name: plain(value) for name, value in row.items() if name in OUR_COLUMNS}
    return own | {
        "messages": turns,
        "text": turns[-1]["content"],
        "answer": answer if isinstance(answer, str) else canonical_json(answer),
        "record": make_record(row, export.tags),
        "certificate": {name: plain(row[name]) for name in CERTIFICATE if name in row},
        "data_source": f"learnable/{export.name}",
        "index": index,
        "nothing": None,
    }


def make_record(row: Row, tags: str = "") -> str:
    """Return what `learnable.train.rewards.score_record` needs to judge answers to a prompt, as JSON."""
    prompt = row["prompt"]
    record = {
        "prompt": prompt if isinstance(prompt, str) else [dict(turn) for turn in prompt],
        "prompt_id": row["prompt_id"],
        "spec": json.loads(row["spec"]),
        "verifier": row["verifier"],
    }
    return canonical_json(record | ({"think_tags": tags} if tags else {}))


def plain(value: Any) -> Any:
    """Return a value as JSON has it: no NaN, and no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _fill(template: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(template, str) and template.startswith("$"):
        if template[1:] not in values:
            raise LearnableError(f"targets.toml: {template} is no value of a prompt: use one of {', '.join(values)}")
        return values[template[1:]]
    if isinstance(template, Mapping):
        return {name: _fill(inner, values) for name, inner in template.items()}
    return [_fill(inner, values) for inner in template] if isinstance(template, list) else template
