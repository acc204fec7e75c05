"""Rows as files have them, and what is told and read of them."""

from __future__ import annotations

from typing import Any

from learnable.data.records import Prompt
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.layouts.recognition import Recognised, recognise
from learnable.data.sources.files.rows import prompts_from_rows

Row = dict[str, Any]
IFEVAL = {"prompt": "Say it.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}], "key": 7}


def place(rows: list[Row]) -> list[tuple[str, Row]]:
    return [(f"q.jsonl, line {number}", row) for number, row in enumerate(rows, start=1)]


def find(rows: list[Row], **columns: str) -> Recognised | None:
    return recognise(place(rows), Columns(**columns))


def read(rows: list[Row], **columns: str) -> list[Prompt]:
    return list(prompts_from_rows(place(rows), Columns(**columns), "q", layout=find(rows, **columns)))
