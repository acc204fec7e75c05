"""What a published set may not say: paths of the machine that it was made on, and its user's name in them."""

from __future__ import annotations

import getpass
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from learnable.data.curated.manifest import Manifest
from learnable.data.curated.record import to_plain
from learnable.data.errors import LearnableError
from learnable.data.policies import Policy
from learnable.data.sources.files.locations import looks_local

HOMES = re.compile(r"(?:/home|/Users|[A-Za-z]:\\Users)[/\\][\w.-]+")
SHOWN = 80  # characters of a text that an error quotes


def list_private_paths(manifest: Manifest, places: Iterable[str] = ()) -> list[str]:
    """Return the paths that would say whose machine a set was made on, the longest first.

    They are this machine's home and working folders, the `places` that are absolute, and what the manifest names.
    """
    homes = {str(Path.home()), *HOMES.findall(json.dumps(to_plain(manifest.to_json())))}
    with suppress(OSError, KeyError, ImportError):  # a user without a name
        homes |= {f"/home/{getpass.getuser()}", f"/Users/{getpass.getuser()}"}
    policy = manifest.policy
    named = [str(Path.cwd()), policy.path, policy.adapter, *places]
    long = {path for path in named if Path(path).is_absolute() and len(Path(path).parts) > 2}
    return sorted((homes | long) - {"/"}, key=len, reverse=True)


def clean_text(text: str, private: Sequence[str]) -> str:
    """Return a text with the last part of each private path in it instead of the whole.

    >>> clean_text("read from /home/ann/runs/a.jsonl, and /home/ann", ["/home/ann"])
    'read from a.jsonl, and ~'
    """
    return _pattern(private).sub(lambda found: re.split(r"[/\\]", found[1].rstrip("/\\"))[-1] or "~", text)


def clean_place(place: str) -> str:
    """Return where a row came from as others may read it: a hub id as it is, of a path or a URL its name alone.

    >>> clean_place("/home/ann/q.jsonl, line 7"), clean_place("org/set:main, row 3"), clean_place("reasoning-gym:sums")
    ('q.jsonl, line 7', 'org/set:main, row 3', 'reasoning-gym:sums')
    """
    location, row = split_place(place)
    return public_name(location) + row


def split_place(place: str) -> tuple[str, str]:
    """Return the file, folder or id that a row came from, and which row of it.

    >>> split_place("a, b.jsonl, line 7"), split_place("org/set")
    (('a, b.jsonl', ', line 7'), ('org/set', ''))
    """
    parts = re.fullmatch(r"(?s)(.*?)(, (?:line|row) \d.*)?", place)
    assert parts is not None
    return parts[1], parts[2] or ""


def public_name(location: str) -> str:
    """Return the name of a file or folder, or a hub id as it is."""
    is_path = "/" in location or "\\" in location
    if not is_path or (not looks_local(location) and not Path(location).exists()):
        return location
    return re.split(r"[/\\]", location.partition("?")[0].rstrip("/\\"))[-1]


def clean_manifest(manifest: Manifest, private: Sequence[str]) -> Manifest:
    """Return a manifest that names no private path."""
    policy = manifest.policy
    name = policy.policy_id.partition("@")[0]
    path = policy.path if "/" in policy.path and not looks_local(policy.path) else name
    adapter = name if policy.adapter else ""
    cleaned = replace(manifest, policy=Policy(path, policy.policy_id, adapter))
    plain = _clean_value(cleaned.to_json(), private)
    return replace(Manifest.from_json(plain), absent=manifest.absent)


def check_rows(rows: pl.DataFrame, private: Sequence[str], where: str) -> None:
    """Raise `LearnableError` for a row that names a private path: its column, the row and the fix."""
    for name, kind in rows.schema.items():
        texts = _as_texts(rows, name, kind)
        if texts is None:
            continue
        pattern = _pattern(private)
        for row in texts.str.contains_any(list(private)).arg_true():
            if found := pattern.search(str(texts[row])):
                start = max(found.start() - 20, 0)
                raise LearnableError(
                    f"{where}, row {row + 1}: column {name!r} says {str(texts[row])[start : start + SHOWN]!r}, and "
                    f"{found[0]!r} is a path of this machine: leave the column out with `drop_columns` {name}, or take "
                    "the path out of the prompts and find them again"
                )


def check_text(text: str, private: Sequence[str], where: str) -> None:
    """Raise `LearnableError` for a text that names a private path."""
    if found := _pattern(private).search(text):
        raise LearnableError(f"{where} says {found[0]!r}, a path of this machine: give the set another name")


def _pattern(private: Sequence[str]) -> re.Pattern[str]:
    paths = "|".join(map(re.escape, private))
    return re.compile(rf"(?<![\w.~/-])(?:file://)?(?:{paths})(?![\w-])((?:[/\\][^\s'\"`,;:)\]}}|<>]*)?)")


def _as_texts(rows: pl.DataFrame, name: str, kind: pl.DataType) -> pl.Series | None:
    if kind == pl.String:
        return rows[name].fill_null("")
    if not kind.is_nested():
        return None
    values = (json.dumps(value, ensure_ascii=False, default=str) for value in rows[name].to_list())
    return pl.Series(name, list(values), pl.String)


def _clean_value(value: Any, private: Sequence[str]) -> Any:
    if isinstance(value, str):
        return clean_text(value, private)
    if isinstance(value, Mapping):
        return {clean_text(key, private): _clean_value(inner, private) for key, inner in value.items()}
    return [_clean_value(inner, private) for inner in value] if isinstance(value, list) else value
