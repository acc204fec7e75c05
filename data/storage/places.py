"""Where a store lives: a local folder or any fsspec URL; files there appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from upath import UPath

from learnable.data.errors import LearnableError

PathOrUrl = str | os.PathLike[str] | UPath
PUT_ATTEMPTS = 6
FIRST_PUT_DELAY = 0.5  # seconds, doubled after each failed put


def find_place(url: PathOrUrl) -> UPath:
    """Return the folder that a path or an fsspec URL names; nothing is made or asked yet.

    Raises `LearnableError` for no name, and for a protocol that is unknown or whose driver is not installed.
    """
    if not str(url).strip():
        raise LearnableError("the store has no name: give `store` a folder or a URL like s3://bucket/store")
    try:
        place = UPath(url)
        return place if local_path(place) else UPath(url, use_listings_cache=False)  # other processes write there too
    except ImportError as error:
        raise LearnableError(f"store {str(url)!r} needs a driver: {error}") from error
    except ValueError as error:
        raise LearnableError(
            f"store {str(url)!r} is not a place: {error}; give a folder or a URL like s3://"
        ) from error


def local_path(place: UPath) -> Path | None:
    """Return the place as a path on a mounted disk, or None where it is behind a URL."""
    return Path(place.path) if place.protocol in ("", "file", "local") else None


def make_folder(folder: Path, name: str, setting: str) -> None:
    """Make a folder that can be written. `name` is what errors call it, `setting` what names another one.

    Raises `LearnableError` where it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LearnableError(f"{name} cannot be made ({error.strerror}): choose another `{setting}`") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise LearnableError(f"{name} cannot be written: choose another `{setting}`")


def put(place: UPath, data: bytes) -> None:
    """Write a file that is durable and whole when this returns, and absent or unchanged when it raises.

    Objects are put again, with growing pauses, before an `OSError` is raised.
    """
    if path := local_path(place):
        replace_file(path, lambda partial: partial.write_bytes(data))
    else:
        _put_object(place, data)


def create(place: UPath, data: bytes) -> bool:
    """Put a new object, and return whether it is new: one that is there stays. Raises `OSError` as `put` does."""
    try:
        place.fs.pipe_file(place.path, data, mode="create")
    except FileExistsError:
        return False
    except (NotImplementedError, TypeError, ValueError):
        put(place, data)  # a driver that creates nothing exclusively; nor does it hold a lease
    except Exception:  # each driver has errors of its own, also for what exists
        if place.exists():
            return False
        put(place, data)
    return True


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path`, make it durable, then rename it into place.

    Raises `LearnableError` naming the path when the folder cannot be written or the disk is full.
    """
    try:
        replace_file(path, write)
    except OSError as error:
        raise LearnableError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """As `write_whole`, but raises the `OSError` itself."""
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(partial)
        sync(partial)
        partial.replace(path)
        sync(path.parent)  # or the new name may not outlive a power cut
    finally:
        partial.unlink(missing_ok=True)


def sweep(root: UPath) -> int:
    """Remove what a killed writer left half-made under a local `root`; return how many files and folders went.

    Only who writes there alone may call it: what somebody is just writing would go too. The store of evaluations in a
    store has writers of its own.
    """
    if (path := local_path(root)) is None:
        return 0
    others = path / "evaluations"
    files = [file for file in path.rglob(".*.partial") if others not in file.parents]
    files += path.glob(".locks/*/.reserve")
    folders = list(path.glob("curated/*/.staging-*"))
    for file in files:
        file.unlink(missing_ok=True)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return len(files) + len(folders)


def sync(path: Path) -> None:
    """Make a file's content, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put_object(place: UPath, data: bytes) -> None:
    from tenacity import Retrying, stop_after_attempt, wait_exponential, wait_random_exponential

    half = FIRST_PUT_DELAY / 2  # of each pause is drawn: it keeps writers apart
    pause = wait_exponential(half) + wait_random_exponential(half)
    try:
        Retrying(stop=stop_after_attempt(PUT_ATTEMPTS), wait=pause, reraise=True)(place.fs.pipe_file, place.path, data)
    except Exception as error:  # each driver has errors of its own
        raise OSError(f"{type(error).__name__}: {error}") from error


def remove(place: UPath) -> None:
    """Remove a file if it is there."""
    with suppress(FileNotFoundError):
        place.unlink()
