"""Where a set is published: the hub, or a folder behind any fsspec URL. What is there already is not sent again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from upath import UPath

from learnable.data.curated.curated_set import MANIFEST
from learnable.data.errors import LearnableError
from learnable.data.storage.places import find_place, local_path, put, remove
from learnable.data.tables import hash_file

HUB = "hub:"
CARD = "README.md"
SHARD = re.compile(r"[a-z]+-\d{5}-of-\d{5}\.parquet")  # files that a card's patterns would find
Change = Literal["new", "changed", "same"]


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file to publish: its name there, where it lies here, its size in bytes and its SHA-256."""

    name: str
    path: Path
    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> PublishedFile:
        """Describe a file."""
        return cls(path.name, path, path.stat().st_size, hash_file(path))


class Destination(Protocol):
    """Where a set goes. `title` is what `load_dataset` takes, "" where that depends on the reader."""

    @property
    def title(self) -> str:
        """What `load_dataset` takes; "" where that depends on where the reader is."""

    def compare(self, files: Sequence[PublishedFile]) -> tuple[dict[str, Change], list[str]]:
        """Return what became of each file since it was last sent, and which shards are there that no longer belong.

        Raises `LearnableError` where the destination cannot be asked, or holds what is no published set.
        """

    def send(self, files: Sequence[PublishedFile], stale: Sequence[str], message: str) -> str:
        """Send files, remove the stale ones, and return where they are now.

        Raises `LearnableError` where that is refused or fails.
        """


def find_destination(to: str, *, private: bool = False) -> Destination:
    """Return the destination of that name: `hub:user/name`, a folder, or a URL such as s3://bucket/set.

    Raises `LearnableError` for a name that is none.
    """
    if not to.startswith(HUB):
        if private:
            raise LearnableError(f"`private` is for data sets of the hub, and {to!r} is a folder: leave it out")
        return FolderDestination(find_place(to))
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils._validators import validate_repo_id

    name = to.removeprefix(HUB)
    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise LearnableError(f"`to` {to!r} names no data set of the hub ({error}): give hub:user/name") from error
    if "/" not in name:
        raise LearnableError(f"`to` {to!r} names no user: give hub:user/name")
    return HubDestination(name, private)


@dataclass(frozen=True, slots=True)
class FolderDestination:
    """A folder on this disk or behind a URL. The manifest is sent last: it says which shards are there."""

    folder: UPath
    title: str = ""

    def compare(self, files: Sequence[PublishedFile]) -> tuple[dict[str, Change], list[str]]:
        """Compare with what the folder holds: files by their content, shards behind a URL by its manifest.

        Raises `LearnableError` for a folder that holds what is no published set.
        """
        if not self.folder.exists():
            return {file.name: "new" for file in files}, []
        there = {path.name for path in self.folder.iterdir() if not path.name.startswith(".")}
        if there and MANIFEST not in there:
            raise LearnableError(
                f"{str(self.folder)!r} holds files ({', '.join(sorted(there)[:3])}) and no curated set: give `to` a "
                "folder that is new or empty"
            )
        digests = _read_digests(self.folder) if there else {}
        found: dict[str, Change] = {
            file.name: "new" if file.name not in there else "same" if self._has(file, digests) else "changed"
            for file in files
        }
        return found, sorted(name for name in there - found.keys() if SHARD.fullmatch(name))

    def send(self, files: Sequence[PublishedFile], stale: Sequence[str], message: str) -> str:
        """Write files, each whole or not at all. Raises `LearnableError` where that fails."""
        try:
            for file in sorted(files, key=lambda file: file.name == MANIFEST):
                put(self.folder / file.name, file.path.read_bytes())
            for name in stale:
                remove(self.folder / name)
        except OSError as error:
            raise LearnableError(f"cannot write to {str(self.folder)!r}: {error.strerror or error}") from error
        return str(self.folder)

    def _has(self, file: PublishedFile, digests: Mapping[str, str]) -> bool:
        place = self.folder / file.name
        if path := local_path(place):
            return path.stat().st_size == file.size and hash_file(path) == file.sha256
        if file.name in digests:
            return digests[file.name] == file.sha256 and place.stat().st_size == file.size
        return hashlib.sha256(place.read_bytes()).hexdigest() == file.sha256


@dataclass(frozen=True, slots=True)
class HubDestination:
    """A data set of the hub, as huggingface_hub writes it: one commit, with the token that it finds."""

    title: str
    private: bool

    def compare(self, files: Sequence[PublishedFile]) -> tuple[dict[str, Change], list[str]]:
        """Compare with the files of the data set's main branch, by the digests that the hub lists.

        Raises `LearnableError` where the hub cannot be asked.
        """
        from huggingface_hub import HfApi
        from huggingface_hub.errors import RepositoryNotFoundError
        from huggingface_hub.hf_api import RepoFile

        try:
            listed = HfApi().list_repo_tree(self.title, repo_type="dataset")
            there = {file.path: file for file in listed if isinstance(file, RepoFile)}
        except RepositoryNotFoundError:
            return {file.name: "new" for file in files}, []
        except Exception as error:  # the hub's own kinds, and those of the transport that its client happens to use
            raise self._refused(error) from error
        found: dict[str, Change] = {}
        for file in files:
            known = there.get(file.name)
            found[file.name] = "new" if known is None else "changed"
            if known is not None and (known.lfs.sha256 if known.lfs else known.blob_id) in _digests(file):
                found[file.name] = "same"
        return found, sorted(name for name in there.keys() - found.keys() if SHARD.fullmatch(name))

    def send(self, files: Sequence[PublishedFile], stale: Sequence[str], message: str) -> str:
        """Make the data set where there is none, and commit. Raises `LearnableError` where the hub refuses."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
        from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

        bars = not are_progress_bars_disabled()
        disable_progress_bars()  # stages say the same
        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=file.path) for file in files
        ]
        operations += [CommitOperationDelete(path_in_repo=name) for name in stale]
        try:
            made = HfApi().create_repo(self.title, repo_type="dataset", private=self.private or None, exist_ok=True)
            HfApi().create_commit(self.title, operations, commit_message=message, repo_type="dataset")
            return str(made)
        except Exception as error:  # the hub's own kinds, and those of the transport that its client happens to use
            raise self._refused(error) from error
        finally:
            if bars:
                enable_progress_bars()

    def _refused(self, error: Exception) -> LearnableError:
        from huggingface_hub import get_token
        from huggingface_hub.errors import HfHubHTTPError

        errors = (error, error.__cause__) if error.__cause__ else (error,)
        said = ": ".join((str(one).splitlines() or [type(one).__name__])[0] for one in errors)
        if token := get_token():
            said = said.replace(token, "***")
        status = error.response.status_code if isinstance(error, HfHubHTTPError) else 0
        fix = (
            ": log in with hf auth login, or set HF_TOKEN to a token that may write there"
            if status in (401, 403)
            else ""
        )
        return LearnableError(f"the hub did not take {HUB}{self.title} ({said}){fix}")


def _read_digests(folder: UPath) -> dict[str, str]:
    """Return the SHA-256 of each shard by the manifest that is there."""
    try:
        parts = json.loads((folder / MANIFEST).read_bytes()).get("parts", {})
        return {name: digest for part in parts.values() for name, digest in part["sha256"].items()}
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise LearnableError(
            f"{str(folder / MANIFEST)!r} is no manifest of a curated set: give `to` a folder that is new or empty"
        ) from error


def _digests(file: PublishedFile) -> tuple[str, str]:
    """Return a file's SHA-256, and the SHA-1 by which git knows it."""
    git = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
    with file.path.open("rb") as data:
        while some := data.read(1 << 20):
            git.update(some)
    return file.sha256, git.hexdigest()
