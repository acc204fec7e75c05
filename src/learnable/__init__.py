"""Find the prompts a language model can learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from learnable.data.records import Score
    from learnable.verifiers.protocol import Verifier

__version__ = "0.1.0"
__all__ = ["Score", "Verifier"]

_HOMES = {"Score": "learnable.data.records", "Verifier": "learnable.verifiers.protocol"}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for, so that `import learnable` loads nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'learnable' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
