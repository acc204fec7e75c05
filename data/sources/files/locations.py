"""Where prompts are, a file, a folder or the hub, and what a set of them is called."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from learnable.data.errors import LearnableError, nearest_names

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
READABLE_FILES = f"{', '.join(SUFFIXES)}, each also with .gz"
OTHER_SUFFIXES = frozenset(
    ".arrow .avro .bz2 .db .doc .docx .feather .gz .html .md .npy .npz .odt .orc .pdf .pickle .pkl .py .sqlite .tar "
    ".text .toml .txt .xls .xlsx .xml .xz .yaml .yml .zip .zst".split()
)
HUB_ID = re.compile(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95}(:\w[\w.-]{0,95})?)?", re.ASCII)  # the part of it behind a colon


def find_local(location: str, what: str = "prompts") -> Path | None:
    """Return the file or folder at `location`, or None where it can only be an id on the hub.

    A path that exists is never looked for on the hub. Raises `LearnableError` for a file of a kind that is not read,
    and for what looks like a path and does not exist; `what` is the message's word for it.
    """
    path = local_path(location)
    if path_exists(path):
        if path.is_dir():
            return path
        if file_suffix(path) not in SUFFIXES:
            raise LearnableError(
                f"{what} {location!r}: a file is read by its suffix, and {file_suffix(path) or 'none'!r} is not one of "
                f"those that are ({READABLE_FILES}): convert or rename it"
            )
        return path
    if looks_local(location):
        fix = ": a URL is not read, fetch what it names" if "://" in location else _nearest(path)
        raise LearnableError(f"{what} {location!r} does not exist{fix}")
    return None


def local_path(location: str) -> Path:
    """Return the location as a path, with `~` for the home folder."""
    path = Path(location)
    try:
        return path.expanduser()
    except RuntimeError:  # no such user
        return path


def path_exists(path: Path) -> bool:
    """Whether there is such a file or folder; False for what is too long to be a name."""
    try:
        return path.exists()
    except OSError:
        return False


def looks_local(location: str) -> bool:
    """Whether this cannot be an id on the hub: it begins or ends as a path does, or has characters that no id may have.

    >>> [looks_local(text) for text in ("org/name-v1.5", "org/name:main", "./name", "a/b/c", "q.jsonl", "my set")]
    [False, False, True, True, True, True]
    """
    suffix = Path(location.lower()).suffix
    return suffix in SUFFIXES or suffix in OTHER_SUFFIXES or not HUB_ID.fullmatch(location)


def file_suffix(path: Path) -> str:
    """Return the suffix that says how a file is read, in lower case: what comes before `.gz`, where it is packed."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def plain_name(path: Path) -> str:
    """Return the name of a file without the suffixes that say how it is read, or of a folder as it is.

    >>> plain_name(Path("data/a.b.jsonl.gz")), plain_name(Path("set-v1.5"))
    ('a.b', 'set-v1.5')
    """
    name = path.name
    if file_suffix(path) in SUFFIXES:
        unpacked = name[: -len(".gz")] if name.lower().endswith(".gz") else name
        return unpacked[: -len(file_suffix(path))]
    return name if name not in ("", "..") else path.resolve().name


def folder_name(text: str, otherwise: str = "prompts") -> str:
    """Return a name for a folder that resembles `text`: letters, digits, '-', '_' and '.', not first; else `otherwise`.

    >>> folder_name("my questions (v1.5)"), folder_name(".hidden"), folder_name("?!")
    ('my_questions_v1.5', 'hidden', 'prompts')
    """
    words = re.split(r"[^\w.-]+", unicodedata.normalize("NFKC", text))
    name = " ".join(words).strip().replace(" ", "_").lstrip(".")
    name = name.encode()[:200].decode(errors="ignore")  # of the 255 bytes that a file system gives a name
    return name if any(sign.isalnum() for sign in name) else otherwise


def nearest_paths(path: Path) -> list[str]:
    """Return the paths beside a missing one that are named most like it, with a suffix or without."""
    if not path.parent.is_dir():
        return []
    names: dict[str, str] = {}
    for entry in path.parent.iterdir():
        names |= {plain_name(entry): entry.name, entry.name: entry.name}
    return [str(path.parent / name) for name in dict.fromkeys(names[near] for near in nearest_names(path.name, names))]


def _nearest(path: Path) -> str:
    if not path_exists(path.parent):
        return f", nor does its folder {str(path.parent)!r}: check the path"
    offer = " or ".join(map(repr, nearest_paths(path)))
    return f": did you mean {offer}?" if offer else ": give a file, a folder or a hub id such as org/name"
