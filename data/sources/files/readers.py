"""Rows of files, by their suffix: JSON Lines, JSON, CSV, TSV and Parquet, each packed as .gz or not."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow.parquet as pq
from pyarrow.lib import ArrowInvalid

from learnable.data.errors import LearnableError
from learnable.data.records import Row
from learnable.data.sources.files.bad_rows import BadRowError, OnBad, refuse
from learnable.data.sources.files.locations import file_suffix

FileRows = Iterator[tuple[str, Row]]

# What text files begin with, the longer marks first: UTF-32's begins with UTF-16's.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# A packed file may become 50 times as large, and so many bytes more: a few kilobytes must not fill the disk.
FREE_UNPACKED = 1 << 30
UTF8 = "utf-8-sig"  # with its mark or without


def file_rows(
    path: Path, on_bad: OnBad = refuse, columns: Collection[str] | None = None, split: str | None = None
) -> FileRows:
    """Yield the rows of a file with one of `SUFFIXES`, packed as .gz or not, each with the place it came from.

    Args:
        path: the file.
        on_bad: is given the `BadRowError` of each row that cannot be read.
        columns: what is looked at, where that is not every column: a Parquet file is read faster so.
        split: which list of rows to take from a JSON object that has several.

    Raises `LearnableError` for a file that cannot be read at all.
    """
    try:
        if path.name.lower().endswith(".gz"):
            with tempfile.TemporaryDirectory() as folder:
                yield from _plain_rows(_unzip(path, Path(folder)), path, on_bad, columns, split)
        else:
            yield from _plain_rows(path, path, on_bad, columns, split)
    except OSError as error:
        raise LearnableError(f"file {str(path)!r} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        kind = error.encoding.upper().replace("-LE", "").replace("-BE", "")
        raise LearnableError(f"file {str(path)!r} is not {kind} text: {error}: save it as UTF-8") from error


def _unzip(path: Path, folder: Path) -> Path:
    plain = folder / path.name[: -len(".gz")]
    times = 50
    try:
        most = FREE_UNPACKED + times * path.stat().st_size
        with gzip.open(path) as packed, plain.open("wb") as file:
            while some := packed.read(1 << 20):
                file.write(some)
                if file.tell() > most:
                    raise LearnableError(
                        f"file {str(path)!r} unpacks to more than {times} times its size: unpack it yourself "
                        "if that is right, and give what came of it"
                    )
    except (OSError, EOFError) as error:
        raise LearnableError(f"file {str(path)!r} is not a whole gzip file ({error}): fetch it again") from error
    return plain


def _plain_rows(path: Path, own: Path, on_bad: OnBad, columns: Collection[str] | None, split: str | None) -> FileRows:
    """Yield the rows of a file that is not packed; `own` is the user's, which messages name."""
    match file_suffix(path):
        case ".csv":
            return _read_csv(path, own, on_bad, ",")
        case ".tsv":
            return _read_csv(path, own, on_bad, "\t")
        case ".parquet":
            return _read_parquet(path, own, columns)
        case ".json":
            return _read_json(path, own, on_bad, split)
    return _read_jsonl(path, own, on_bad)


def _read_jsonl(path: Path, own: Path, on_bad: OnBad) -> FileRows:
    encoding = _find_encoding(path)
    lines: IO[Any] = path.open("rb") if encoding == UTF8 else path.open(encoding=encoding, newline="\n")
    with lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            place = f"{own.name}, line {number}"
            try:
                yield place, _parse_line(place, line)
            except BadRowError as error:
                on_bad(error)


def _find_encoding(path: Path) -> str:
    """Return how a text file is encoded, by its first bytes: UTF-16 has a mark, or ASCII with every other byte 0."""
    with path.open("rb") as file:
        start = file.read(4)
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    if len(start) >= 2 and start.count(0) and 0 in start[:2]:
        return "utf-16-be" if start[0] == 0 else "utf-16-le"
    return UTF8


def _parse_line(place: str, line: bytes | str) -> Row:
    try:
        row = json.loads(line if isinstance(line, str) else line.decode(UTF8))
    except UnicodeDecodeError as error:
        raise BadRowError(
            place, f"not UTF-8 text ({error.reason} at byte {error.start + 1}): save it as UTF-8"
        ) from error
    except (ValueError, RecursionError) as error:
        raise BadRowError(place, f"not valid JSON ({error}): correct or remove the line") from error
    if not isinstance(row, dict):
        raise BadRowError(place, f"a JSON {type(row).__name__}: each line must be an object with a prompt")
    return row


def _read_json(path: Path, own: Path, on_bad: OnBad, split: str | None) -> FileRows:
    text = path.read_bytes().decode(_find_encoding(path))
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        if not _is_json_lines(text):
            raise LearnableError(f"file {str(own)!r} is not valid JSON ({error}): correct it") from error
        yield from _read_jsonl(path, own, on_bad)
        return
    for number, row in enumerate(_find_list(document, own, split), start=1):
        place = f"{own.name}, row {number}"
        if isinstance(row, dict):
            yield place, row
        else:
            on_bad(BadRowError(place, f"a JSON {type(row).__name__}: each row must be an object with a prompt"))


def _is_json_lines(text: str) -> bool:
    first = next((line for line in text.splitlines() if line.strip()), "")
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _find_list(document: Any, path: Path, split: str | None) -> list[Any]:
    """Return the rows of a JSON file: a list, the one list in an object, an object of rows by their ids, or one row."""
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        lists = {key: value for key, value in document.items() if _is_table(value)}
        if split in lists:
            return list(lists[split])
        if len(lists) > 1:
            raise LearnableError(
                f"file {str(path)!r} has several lists of rows ({', '.join(lists)}): name one with `dataset_split`"
            )
        if lists:
            return list(next(iter(lists.values())))
        return list(document.values()) if split not in document and _is_by_id(document) else [document]
    raise LearnableError(
        f"file {str(path)!r} has no list of rows: write [{{...}}, {{...}}], or one object a line as .jsonl"
    )


def _is_by_id(document: dict[str, Any]) -> bool:
    """Whether an object maps ids to rows: all its values are objects with the same keys.

    Where those are numbers, the object is one of columns, as pandas writes it.
    """
    rows = list(document.values())
    if len(rows) < 2 or not all(isinstance(row, dict) and row.keys() == rows[0].keys() for row in rows):
        return False
    return not all(key.isdigit() for key in rows[0])


def _is_table(value: Any) -> bool:
    """Whether this is a list of rows, and not the messages or the choices of one."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(row, dict) and not {"role", "content"} <= row.keys() and {"label", "text"} != row.keys()
            for row in value
        )
    )


def _read_csv(path: Path, own: Path, on_bad: OnBad, delimiter: str) -> FileRows:
    # Python's own limit of a cell is 131,072 characters, and tests are longer.
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 30))
    with path.open(encoding=_find_encoding(path), newline="") as file:
        reader = csv.DictReader(file, strict=True, delimiter=delimiter)
        _check_header(reader, own)
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                kind = file_suffix(path)[1:].upper()
                on_bad(BadRowError(f"{own.name}, line {reader.line_num}", f"not valid {kind} ({error})"))
                continue
            place = f"{own.name}, line {reader.line_num}"
            if None in row or None in row.values():
                on_bad(BadRowError(place, "the row has more or fewer cells than the header"))
            else:
                yield place, row


def _check_header(reader: csv.DictReader[str], own: Path) -> None:
    """Raise `LearnableError` for what is no header, and for a name of two columns: the last would stand for both."""
    try:
        names = list(reader.fieldnames or ())
    except csv.Error as error:
        raise LearnableError(f"file {str(own)!r} has no header that can be read ({error}): correct line 1") from error
    for name in filter(None, names):  # spreadsheets leave empty ones at the end
        if names.count(name) > 1:
            raise LearnableError(f"file {str(own)!r} has two columns {name!r}: give each a name of its own")


def _read_parquet(path: Path, own: Path, columns: Collection[str] | None) -> FileRows:
    try:
        file = pq.ParquetFile(path)
        known = file.schema_arrow.names
        batches = file.iter_batches(columns=None if columns is None else [name for name in known if name in columns])
        rows = (row for batch in batches for row in batch.to_pylist())
        for number, row in enumerate(rows, start=1):
            yield f"{own.name}, row {number}", row
    except (ArrowInvalid, OSError) as error:
        raise LearnableError(f"prompt file {str(own)!r} is not readable Parquet: {error}") from error
