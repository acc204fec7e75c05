"""Damaged files are set aside, never deleted: what is left in them may still be wanted."""

from __future__ import annotations

from upath import UPath

from learnable.data.ledger.partition import Chunk
from learnable.data.places import local_path


def quarantine(root: UPath, chunk: Chunk) -> str:
    """Move a file to `<root>/quarantine`, its folders in its name; return where it is now, under the root."""
    inside = chunk.path.path.removeprefix(root.path).strip("/")
    target = root / "quarantine" / inside.replace("/", "__")
    if local_path(root):
        target.parent.mkdir(parents=True, exist_ok=True)
        chunk.path.rename(target)
    else:
        root.fs.mv(chunk.path.path, target.path)
    return f"quarantine/{target.name}"
