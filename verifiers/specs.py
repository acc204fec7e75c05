"""Checks that verifiers share: what a spec must hold, said as key, value and fix."""

from __future__ import annotations

from collections.abc import Collection

from learnable.data.errors import nearest_names
from learnable.data.records import Spec
from learnable.verifiers.protocol import SpecError


def fault(key: str, value: object, fix: str) -> SpecError:
    """Return the error for a spec whose `key` holds an unusable `value`."""
    shown = repr(value)
    return SpecError(f"spec key {key!r} is {shown if len(shown) <= 80 else shown[:77] + '...'}: {fix}")


def check_keys(spec: Spec, required: Collection[str], optional: Collection[str] = ()) -> None:
    """Raise `SpecError` for a missing key, or for one that the verifier would silently ignore.

    `form` may label any spec, whether or not the verifier looks at it.
    """
    for key in required:
        if key not in spec:
            raise SpecError(f"spec key {key!r} is missing in {dict(spec)!r}: add it")
    known = [*required, *optional]
    for key in spec:
        if key not in known and key != "form":
            near = nearest_names(str(key), known)
            fix = f"did you mean {near[0]!r}?" if near else f"use only {', '.join(known)}"
            raise fault(str(key), spec[key], f"no such key; {fix}")


def check_int(spec: Spec, key: str) -> None:
    """Raise `SpecError` unless `spec[key]` is a whole number (and not a boolean)."""
    if isinstance(spec[key], bool) or not isinstance(spec[key], int):
        raise fault(key, spec[key], "give a whole number, as in 23")


def check_text(spec: Spec, key: str) -> None:
    """Raise `SpecError` unless `spec[key]` is text with something in it."""
    if not isinstance(spec[key], str) or not spec[key].strip():
        raise fault(key, spec[key], "give a non-empty string")
