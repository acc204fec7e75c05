"""Homes as `make setup` leaves them: empty but for the lexicon, which takes many seconds to build."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.domains import HAS_POEMS


def make_home(folder: Path) -> Path:
    """Make `folder` a home, and return it."""
    cache = folder / ".cache" / "learnable"
    cache.mkdir(parents=True)
    if HAS_POEMS:
        from learnable.verifiers.poetry.sound.lexicon import find_lexicon_file, load_lexicon

        load_lexicon()
        shutil.copy(find_lexicon_file(), cache)
    return folder
