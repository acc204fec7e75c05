"""Prompts from JSONL, CSV and Parquet files, from folders of them, and from whatever `datasets` opens."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
from pyarrow.lib import ArrowInvalid

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.data.sources.problems import problems_by_id
from learnable.data.sources.rows import BadRowError, Columns, Row, prompts_from_rows

SUFFIXES = (".jsonl", ".ndjson", ".csv", ".parquet")


def file_prompts(location: str, columns: Columns, split: str = "train") -> Iterator[Prompt]:
    """Read prompts from a file by its suffix, which `.gz` may follow, or from a folder or hub id through `datasets.load_dataset`.

    Raises `BadRowError` naming file and line, or `LearnableError` for a missing or empty file.
    """
    path = Path(location)
    is_file = file_suffix(path) in SUFFIXES and not path.is_dir()
    source = path.name.removesuffix(".gz").removesuffix(file_suffix(path)) if is_file else path.name
    yield from _not_empty(prompts_from_rows(location_rows(location, split), columns, source), location)


def read_problems(location: str, verifier: str, split: str = "test") -> dict[str, Prompt]:
    """Read a table of problems as `file_prompts` does, and return them under the ids of their rows (`problems_by_id`)."""
    problems = problems_by_id(location_rows(location, split), verifier, location)
    if not problems:
        raise LearnableError(f"problems {location!r} is empty: it needs at least one row with an id and a prompt")
    return problems


def location_rows(location: str, split: str) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a file, or of a folder or hub id through `datasets`. Raises `LearnableError` for a missing file."""
    path = Path(location)
    if file_suffix(path) not in SUFFIXES or path.is_dir():
        return dataset_rows(location, split)
    if not path.is_file():
        raise LearnableError(f"prompt file {location!r} does not exist")
    return file_rows(path)


def file_suffix(path: Path) -> str:
    """Return the suffix that says how a file is read: what comes before `.gz`, where it is packed."""
    return Path(path.name.removesuffix(".gz")).suffix


def file_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a file with one of `SUFFIXES`, packed as .gz or not, each with the place it came from."""
    return _unzipped_rows(path) if path.suffix == ".gz" else READERS[path.suffix](path)


def _unzipped_rows(path: Path) -> Iterator[tuple[str, Row]]:
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / path.stem  # messages show its name
        try:
            with gzip.open(path) as packed, plain.open("wb") as file:
                shutil.copyfileobj(packed, file)
        except (OSError, EOFError) as error:
            raise LearnableError(f"file {str(path)!r} is no whole gzip file ({error}): fetch it again") from error
        yield from READERS[plain.suffix](plain)


def _read_jsonl(path: Path) -> Iterator[tuple[str, Row]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(_text_lines(file, path), start=1):
            if not line.strip():
                continue
            place = f"{path.name}, line {number}"
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise BadRowError(f"{place}: not valid JSON ({error}): mend or remove the line") from error
            if not isinstance(row, dict):
                raise BadRowError(f"{place}: a JSON {type(row).__name__}: each line must be an object with a prompt")
            yield place, row


def _read_csv(path: Path) -> Iterator[tuple[str, Row]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(_text_lines(file, path), strict=True)
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise BadRowError(f"{path.name}, line {reader.line_num}: not valid CSV ({error})") from error
            if None in row or None in row.values():
                raise BadRowError(
                    f"{path.name}, line {reader.line_num}: the row has more or fewer cells than the header"
                )
            yield f"{path.name}, line {reader.line_num}", row


def _read_parquet(path: Path) -> Iterator[tuple[str, Row]]:
    try:
        batches = pq.ParquetFile(path).iter_batches()
        rows = (row for batch in batches for row in batch.to_pylist())
        for number, row in enumerate(rows, start=1):
            yield f"{path.name}, row {number}", row
    except (ArrowInvalid, OSError) as error:
        raise LearnableError(f"prompt file {str(path)!r} is not readable Parquet: {error}") from error


def dataset_rows(location: str, split: str) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a data set folder or of a hub id, each with the place it came from."""
    from datasets import load_dataset

    try:
        dataset = load_dataset(location, split=split, streaming=True)
        for number, row in enumerate(dataset, start=1):
            yield f"{location}, row {number}", row
    except LearnableError:
        raise
    except Exception as error:  # datasets raises its own, hub, network and parser errors alike
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise LearnableError(
            f"prompts {location!r}: neither a {', '.join(SUFFIXES)} file nor a data set that "
            f"datasets.load_dataset opens with split {split!r}: {reason}"
        ) from error


def _text_lines(file: Iterator[str], path: Path) -> Iterator[str]:
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise LearnableError(f"prompt file {str(path)!r} is not UTF-8 text: {error}") from error


def _not_empty(prompts: Iterator[Prompt], location: str) -> Iterator[Prompt]:
    first = next(prompts, None)
    if first is None:
        raise LearnableError(f"prompts {location!r} is empty: it needs at least one row with a prompt")
    yield first
    yield from prompts


READERS = {".jsonl": _read_jsonl, ".ndjson": _read_jsonl, ".csv": _read_csv, ".parquet": _read_parquet}
