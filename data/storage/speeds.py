"""How fast an engine made a policy's completions, remembered beside the ledger: a plan may need no engine.

<root>/speeds/<weights>-<engine>.json
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from urllib.parse import quote

from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.records import weights_id
from learnable.data.storage.places import put


@dataclass(frozen=True, slots=True)
class Speed:
    """Completion tokens that were made, and the seconds of wall clock that this took."""

    tokens: int
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Completion tokens a second."""
        return self.tokens / self.seconds


def note_speed(root: UPath, policy_id: str, engine: str, speed: Speed) -> None:
    """Remember the last speed that was measured; one of less than a second only where there is no other.

    Raises `LearnableError` when it cannot be written.
    """
    if not speed.tokens or speed.seconds <= 0:
        return
    # A shorter run says little of an engine.
    if speed.seconds < 1.0 and find_speed(root, policy_id, engine):
        return
    path = _file(root, policy_id, engine)
    try:
        put(path, json.dumps(asdict(speed)).encode())
    except OSError as error:
        raise LearnableError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def find_speed(root: UPath, policy_id: str, engine: str) -> Speed | None:
    """Return the speed that was measured last, or None where none was, or its file cannot be understood."""
    try:
        speed = Speed(**json.loads(_file(root, policy_id, engine).read_bytes()))
        return speed if speed.tokens_per_second > 0 else None
    except (OSError, ValueError, TypeError, ZeroDivisionError):
        return None


def _file(root: UPath, policy_id: str, engine: str) -> UPath:
    return root / "speeds" / f"{quote(weights_id(policy_id), safe='')}-{engine}.json"
