"""Files of exported rows, by their kind, and whether they were there already."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.data.storage.places import find_place, put
from learnable.data.tables import parquet_bytes


def write_rows(rows: Sequence[JsonObject], file: Path, kind: str) -> bool:
    """Write rows as `jsonl`, `parquet` or a `dataset` folder; return whether anything changed.

    A reader sees the whole file or the one before. Raises `LearnableError` where it cannot be written.
    """
    if kind == "dataset":
        return _write_dataset(rows, file)
    if kind == "jsonl":
        lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
        return write_bytes("".join(f"{line}\n" for line in lines).encode(), file)
    try:
        return write_bytes(parquet_bytes(pa.Table.from_pylist(list(rows))), file)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise LearnableError(
            f"{str(file)!r}: a column has values of several types ({error}): export as jsonl, which keeps them"
        ) from error


def write_table(table: pa.Table, file: Path) -> bool:
    """Write a table as Parquet; return whether anything changed. Raises `LearnableError` where it cannot be written."""
    return write_bytes(parquet_bytes(table), file)


def write_bytes(data: bytes, file: Path) -> bool:
    """Write a file; return whether anything changed. Raises `LearnableError` where it cannot be written."""
    try:
        if file.is_file() and file.read_bytes() == data:
            return False
        file.parent.mkdir(parents=True, exist_ok=True)
        put(find_place(file), data)
    except OSError as error:
        raise _cannot_write(file, error) from error
    return True


def _write_dataset(rows: Sequence[JsonObject], folder: Path) -> bool:
    """Write a folder that `datasets.load_from_disk` reads, in place of one that was there."""
    from datasets import Dataset, disable_progress_bars, load_from_disk

    disable_progress_bars()

    made = Dataset.from_list(list(rows))
    if (folder / "dataset_info.json").is_file() and load_from_disk(str(folder)).to_list() == made.to_list():
        return False
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".export-") as staging:
            made.save_to_disk(f"{staging}/new")
            if folder.is_dir():
                shutil.move(folder, f"{staging}/old")
            shutil.move(f"{staging}/new", folder)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return True


def _cannot_write(place: Path, error: OSError) -> LearnableError:
    return LearnableError(f"cannot write {str(place)!r}: {error.strerror or error}: give another `output`")
