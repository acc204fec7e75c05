"""Where a store lives and who may write to it: folders and object storage, locks, leases.

`cache_folder` stands here, since `places` is slow to import and not everybody needs it.
"""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return this user's folder for copies and leftovers: `learnable` in `$XDG_CACHE_HOME` or `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "learnable"
