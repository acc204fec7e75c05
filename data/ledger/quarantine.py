"""Damaged files are set aside, never deleted: what is left in them may still be wanted."""

from __future__ import annotations

from upath import UPath

from learnable.data.ledger.partition import Chunk
from learnable.data.storage.places import local_path


def quarantine(root: UPath, chunk: Chunk) -> str:
    """Move a file to `<root>/quarantine`, its folders in its name; return where it is now, under the root."""
    inside = chunk.path.path.removeprefix(root.path).strip("/")
    name = inside.replace("/", "__")
    target, copies = root / "quarantine" / name, 0
    while target.exists():  # the same file was damaged before, and made again as it was
        copies += 1
        target = root / "quarantine" / f"{name}.{copies}"
    if local_path(root):
        target.parent.mkdir(parents=True, exist_ok=True)
        chunk.path.rename(target)
    else:
        root.fs.mv(chunk.path.path, target.path)
    return f"quarantine/{target.name}"
