"""Homes as `make setup` leaves them: empty but for the lexicon, which takes many seconds to build."""

from __future__ import annotations

import shutil
from pathlib import Path

from learnable.verifiers.poetry.sound.lexicon import find_lexicon_file, load_lexicon


def make_home(folder: Path) -> Path:
    """Make `folder` a home, and return it."""
    load_lexicon()
    cache = folder / ".cache" / "learnable"
    cache.mkdir(parents=True)
    shutil.copy(find_lexicon_file(), cache)
    return folder
