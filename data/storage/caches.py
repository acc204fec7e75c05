"""Where this user's copies are kept; apart from `places`, which is slow to import."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return this user's folder for copies and leavings: `learnable` in `$XDG_CACHE_HOME` or `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "learnable"
