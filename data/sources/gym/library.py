"""reasoning-gym, where it is installed: it is loaded on first use, for that takes seconds."""

from __future__ import annotations

import importlib
import warnings
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from learnable.data.errors import LearnableError

NAME = "reasoning-gym"  # of the package, and of the verifier of its prompts


def library_version() -> str:
    """Return the version that is installed, "" where there is none."""
    try:
        return version(NAME)
    except PackageNotFoundError:
        return ""


def require_library() -> None:
    """Raise `LearnableError` where reasoning-gym is not installed."""
    if not library_version():
        raise LearnableError(
            f"{NAME} is not installed, which has these data sets and judges their answers: pip install 'learnable[gym]'"
        )


@cache
def load_library() -> Any:
    """Return its module of data sets (`DATASETS`) and curricula (`CURRICULA`), by name.

    Raises `LearnableError` where it is not installed.
    """
    require_library()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of a package that it needs, when that is first compiled
        importlib.import_module("reasoning_gym")
        return importlib.import_module("reasoning_gym.factory")
