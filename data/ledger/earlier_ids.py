"""Which rollouts of earlier versions are a policy's too: the ids that those versions gave the same weights.

<root>/policies/<weights>.json    {"earlier": [the weights' part of earlier ids]}
"""

from __future__ import annotations

import json
from urllib.parse import quote

from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.storage.places import put


def note_earlier_id(root: UPath, weights: str, earlier: str) -> None:
    """Remember that `earlier` names the same weights. Raises `LearnableError` when it cannot be written."""
    known = find_earlier_ids(root, weights)
    if earlier in known or earlier == weights:
        return
    path = _file(root, weights)
    try:
        put(path, json.dumps({"earlier": [*known, earlier]}).encode())
    except OSError as error:
        raise LearnableError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def find_earlier_ids(root: UPath, weights: str) -> tuple[str, ...]:
    """Return the earlier ids of these weights: none where no file says any, or it cannot be understood."""
    try:
        return tuple(str(name) for name in json.loads(_file(root, weights).read_bytes())["earlier"])
    except (OSError, ValueError, TypeError, KeyError):
        return ()


def _file(root: UPath, weights: str) -> UPath:
    return root / "policies" / f"{quote(weights, safe='')}.json"
