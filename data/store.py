"""The store: the ledger, each run's groups, and curated sets, in a local folder or behind an fsspec URL.

<root>/format.json                  the number of the format, written when the store is made
<root>/rollouts/ and scores/        the ledger
<root>/groups/<run>.parquet         what a run decided
<root>/curated/<name>/<version>/    curated sets
<root>/imports/                     which rollouts came from files, and their indices (`data.ledger.imports`)
<root>/counts/                      what other policies made of prompts (`data.ledger.counts`)
<root>/quarantine/                  damaged files of the ledger
<root>/speeds/                      tokens a second that were measured
<root>/evaluations/seed-N/          a store of its own: completions of held-out prompts, which decide nothing
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.ledger.ledger import Draw, Ledger
from learnable.data.ledger.upkeep import compact_used
from learnable.data.storage.format import check_store, mark_store
from learnable.data.storage.lock import hold_store
from learnable.data.storage.places import PathOrUrl, find_place, local_path, make_folder, put, sweep
from learnable.data.tables import Frame, frame_bytes


def find_home(version: UPath) -> Store | None:
    """Return the store that a version of a curated set lies in; None of a copy that lies elsewhere.

    Raises `LearnableError` for a store of another format.
    """
    path = local_path(version)
    sets = (find_place(path.absolute()) if path else version).parent.parent
    return Store(sets.parent).open() if sets.name == "curated" and (sets.parent / "rollouts").is_dir() else None


class Store:
    """Everything a policy answered, what verifiers said of it, and what was made of it."""

    def __init__(self, root: PathOrUrl) -> None:
        self.root: UPath = find_place(root)
        self.ledger = Ledger(self.root)

    @property
    def curated(self) -> UPath:
        """The folder of curated sets."""
        return self.root / "curated"

    @contextmanager
    def hold(self, draw: Draw | None = None, *, wait: float | None, on_wait: Callable[[str], None]) -> Iterator[None]:
        """Be the only writer of a draw's rows inside the block, with room for a chunk kept, without leftovers.

        Without a draw, of all that is in the store. Makes the folder. Many small files of the draw are merged at the
        end. `wait` is how many seconds to wait for another writer, None for as long as it takes; `on_wait` is told
        once, in a sentence, whom we wait for.
        Raises `LearnableError` where the store cannot be made or written, is full, is in use for too long, or is of
        another format.
        """
        check_store(self.root)
        self._make()
        part = draw.folder.replace("/", "__") if draw else ""
        with hold_store(self.root, part, wait=wait, on_wait=on_wait) as lock:
            mark_store(self.root)
            # Before room is kept: leftovers take some. Those that others may be writing stay until somebody is alone.
            for place in (self.root,) if lock.alone else self.ledger.folders(draw):
                sweep(place)
            lock.share()
            self.ledger.open(lock.check, draw, taken_over=lock.taken_over)
            try:
                yield
                if draw:
                    compact_used(self.ledger)
            finally:
                self.ledger.close()

    def open(self) -> Store:
        """Return the store itself. Raises `LearnableError` where there is none, or one of another format."""
        if not self.root.is_dir():
            raise LearnableError(
                f"store {str(self.root)!r} does not exist: give `store`, or fill one with find-learnable"
            )
        check_store(self.root)
        return self

    def write_groups(self, run_id: str, groups: Frame) -> None:
        """Write the run's decided groups, one row per prompt. Raises `LearnableError` when they cannot be written."""
        self.ledger.check_lock()
        path = self.root / "groups" / f"{run_id}.parquet"
        try:
            put(path, frame_bytes(groups))
        except OSError as error:
            raise LearnableError(f"cannot write {str(path)!r}: {error.strerror or error}") from error

    def _make(self) -> None:
        if path := local_path(self.root):
            make_folder(path, f"store {str(self.root)!r}", "store")
