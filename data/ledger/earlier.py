"""What earlier versions of the ledger called a question: rollouts were keyed by the prompt, its verifier and its spec.

Their files have a column `prompt_id` in place of `question_id`. Which question a prompt id stands for is told by the
groups of the runs that made them, so that a label that is mended now finds what was paid for then.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow.parquet as pq
from pyarrow.lib import ArrowInvalid
from upath import UPath

from learnable.data.records import content_id


class EarlierPrompts:
    """The questions behind the prompt ids of a store's finished runs, read once, when they are first needed."""

    def __init__(self, root: UPath) -> None:
        self._groups = root / "groups"
        self._questions: dict[str, str] | None = None

    def find(self, questions: Collection[str]) -> dict[str, str]:
        """Return the question of each known prompt id that asks one of `questions`."""
        if self._questions is None:
            self._questions = self._read()
        return {prompt_id: question for prompt_id, question in self._questions.items() if question in questions}

    def _read(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in sorted(self._groups.glob("*.parquet"), key=str):
            for row in _prompts(path):
                if row["prompt_id"] not in found:
                    found[row["prompt_id"]] = content_id(row["prompt"])
        return found


def _prompts(path: UPath) -> list[dict[str, Any]]:
    """Return the prompts of a run; none of a file that cannot be read, since only what was paid for is at stake."""
    try:
        with path.open("rb") as file:
            rows: list[dict[str, Any]] = pq.read_table(file, columns=["prompt_id", "prompt"]).to_pylist()
    except (OSError, ArrowInvalid):
        return []
    return rows
