"""The format of what is on disk: one number, which a store has in `format.json` and a curated set in its manifest."""

from __future__ import annotations

import json

from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.storage.places import put

STORE_FORMAT = 1
FORMAT_FILE = "format.json"


def check_store(root: UPath) -> None:
    """Raise `LearnableError` for a store of another format, or with files of the ledger and no format. Writes nothing.

    What is no store yet passes.
    """
    number = _read_number(root)
    if number is None and _has_ledger(root):
        number = _read_number(root)  # a run may have written both meanwhile, the number first
    elif number is None:
        return
    check_number(number, f"store {str(root)!r}", "give another `store`")


def mark_store(root: UPath) -> None:
    """Write the format of a store that has none yet. Needs the store's lock.

    Raises `LearnableError` as `check_store` does, and where it cannot be written.
    """
    check_store(root)
    if _read_number(root) is None:
        try:
            put(root / FORMAT_FILE, json.dumps({"format": STORE_FORMAT}).encode() + b"\n")
        except OSError as error:
            raise LearnableError(f"store {str(root)!r} cannot be written ({error.strerror or error})") from error


def check_number(number: object, what: str, fix: str) -> None:
    """Raise `LearnableError` that says `what` it is and the `fix`, unless the number is that of this version."""
    if type(number) is int and number == STORE_FORMAT:
        return
    complaint = "names no format" if number is None else f"is of format {number!r}"
    raise LearnableError(
        f"{what} {complaint}, and this version of Learnable reads format {STORE_FORMAT}: {fix}, "
        "or use the version that wrote it"
    )


def _read_number(root: UPath) -> object:
    """Return the format that a store names, None where it names none."""
    path = root / FORMAT_FILE
    try:
        given = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise LearnableError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    except ValueError:
        return None
    return given.get("format") if isinstance(given, dict) else None


def _has_ledger(root: UPath) -> bool:
    return any(next((root / table).rglob("*.parquet"), None) for table in ("rollouts", "scores"))
