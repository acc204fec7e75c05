"""What the parts of a reward are, by their kinds: read out of a spec's `reward`, and said in words.

The shapes are those of `answers.rewards.shapes`, which judges by them. A judge of a user's own may have the key for
something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from learnable.data.records import Spec

REWARD_KEY = "reward"
# What an answer is worth by how far it is off: the best that holds counts.
DISTANCES = {"exact": 1.0, "off_by_one": 0.5, "near": 0.25, "wrong_operation": 0.1, "garbage": 0.0, "unread": 0.0}
# The options of each kind, with their defaults; None has to be given.
PART_KINDS: Mapping[str, Spec] = {
    "correct": {},
    "graded": {},
    "read": {},
    "distance": DISTANCES,
    "format": {"tags": ["think", "answer"], "strict": True},
    "tags": {"tags": ["think", "answer"]},
    "pattern": {"pattern": None},
    "length": {"from": None, "to": None},
}
_FORMAT = ("format", "tags", "pattern")  # kinds that look at the form of a completion, whatever its answer
SHOWN_PATTERN = 120  # characters of a pattern in a sentence


def find_parts(spec: Spec) -> Mapping[str, Spec]:
    """Return the named parts of a spec's reward; none where it is no shape, as in the spec of a user's own judge.

    >>> find_parts({"answer": 7, "reward": "distance"}), find_parts({"reward": {"bonus": 3}})
    ({'distance': {'kind': 'distance'}}, {})
    """
    shape = spec.get(REWARD_KEY)
    if not isinstance(shape, Mapping) and shape != "distance":
        return {}
    parts: Mapping[str, Any] = name_parts(shape)
    return parts if all(isinstance(part, Mapping) and part.get("kind") in PART_KINDS for part in parts.values()) else {}


def is_only_format(spec: Spec, name: str) -> bool:
    """Say whether a part is the only one of a spec's reward that looks at the form of a completion.

    >>> is_only_format({"reward": {"right": {"kind": "correct"}, "form": {"kind": "format"}}}, "form")
    True
    """
    return [other for other, part in find_parts(spec).items() if part["kind"] in _FORMAT] == [name]


def say_wish(part: Spec) -> str:
    """Return what a part asks of a completion, "" where its name says it."""
    options = {**PART_KINDS[part["kind"]], **part}
    marks = ", ".join(f"<{tag}>, </{tag}>" for tag in options.get("tags", ()))
    match part["kind"]:
        case "format":
            return (
                f'it wants {marks} once and in order, each on a line of its own unless "strict" is false; the kind '
                '"tags" pays for each tag by itself'
            )
        case "tags":
            return f"it wants each of {marks} once"
        case "pattern":
            pattern = options["pattern"].replace("\n", "\\n")
            shown = pattern if len(pattern) <= SHOWN_PATTERN else pattern[:SHOWN_PATTERN] + "..."
            return f"its pattern {shown} has to match from the first character on"
        case "length":
            return f"it begins at {options['from']:g} characters"
    return ""


def name_parts(shape: str | Mapping[str, Spec]) -> Mapping[str, Spec]:
    """Return the named parts of a shape, of which a text is one by itself."""
    return {shape: {"kind": shape}} if isinstance(shape, str) else shape
