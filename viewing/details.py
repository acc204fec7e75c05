"""All of one prompt as the page opens it: its words and spec, its completions, and why a text scores as it does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from learnable.data.curated.manifest import Manifest
from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject, Row, Spec
from learnable.data.schemas import OUR_COLUMNS
from learnable.verifiers.domains import EXPLANATIONS, load_from
from learnable.verifiers.explanation import Explanation


def describe_prompt(row: Row, group: Iterable[Row], manifest: Manifest) -> JsonObject:
    """Return a prompt of a version, a row of `scan_pool`, with its completions, which are rows of `read_groups`."""
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
        "completions": [_describe_completion(one, manifest) for one in group],
    }


def _describe_completion(one: Row, manifest: Manifest) -> JsonObject:
    cut_out = manifest.truncated == "exclude" and one["verdict"] == "truncated"
    return {
        "index": one["rollout_index"],
        "reward": one["reward"],
        "passed": one["passed"],
        "verdict": one["verdict"],
        "reason": one["reason"] or "",
        "counts": one["reward"] is not None and not cut_out,
        "tokens": one["num_tokens"],
        "finish": one["finish_reason"],
        "components": {name: round(value, 6) for name, value in dict(one["components"] or {}).items()},
        "text": one["completion"],
        **({"reasoning": one["reasoning"], "reasoning_tokens": one["reasoning_tokens"]} if one["reasoning"] else {}),
    }


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
