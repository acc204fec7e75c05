"""A curated set whose shards are opened once, for all that a preparation asks of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from learnable.data.curated.curated_set import COMBINED, CuratedSet
from learnable.data.errors import LearnableError
from learnable.train.preflight.shards import refuse_shards_without_columns


@dataclass(frozen=True)
class LoadedSet(CuratedSet):
    """A curated set that keeps each part it has read: meant to be let go of before training starts."""

    tables: dict[tuple[str, tuple[str, ...]], pa.Table] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, curated: CuratedSet) -> LoadedSet:
        """Return the set with nothing read yet."""
        return cls(curated.path, curated.manifest)

    @property
    def unread(self) -> CuratedSet:
        """The set without what was read of it."""
        return CuratedSet(self.path, self.manifest)

    def read(self, part: str, families: Collection[str] = (), columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of a part as `CuratedSet.read` does.

        Raises `LearnableError` as it does, and for a part whose shards have different columns.
        """
        chosen = tuple(families) if part in COMBINED else ()  # which prompts those are depends on the families
        if (part, chosen) not in self.tables:
            self.tables[part, chosen] = self._read_whole(part, chosen)
        rows = self.tables[part, chosen]
        if not {*(columns or ()), *(("family",) if families else ())} <= set(rows.column_names):
            return super().read(part, families, columns)  # which names the shard
        if families and part not in COMBINED:
            rows = rows.filter(pc.is_in(rows["family"], value_set=pa.array(list(families), pa.string())))
        return rows if columns is None else rows.select(list(columns))

    def check_shards(self, parts: Collection[str]) -> None:
        """Raise `LearnableError` as `CuratedSet.check_shards` does: reading a shard compares its digest."""
        for part in parts:
            if self.shards(part):
                self.read(part)
            else:
                super().check_shards((part,))  # all of them may be gone

    def _read_whole(self, part: str, families: Collection[str]) -> pa.Table:
        try:
            return super().read(part, families)
        except pa.ArrowInvalid as error:
            refuse_shards_without_columns(self, part)
            reason = str(error).splitlines()[0]
            raise LearnableError(
                f"{part} of {str(self.path)!r} has shards of different columns: {reason}; curate the set again"
            ) from error
