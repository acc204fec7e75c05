"""What a command line makes of a group of flags."""

from __future__ import annotations

from typing import TypeVar

import typer

from learnable.cli.flags import with_flags

T = TypeVar("T")


def read_flags(kind: type[T], *flags: str) -> T:
    """Return the group of flags, a dataclass, that a command gets where these are typed."""
    made: list[T] = []

    def command(*, group: T) -> None:
        made.append(group)

    command.__annotations__["group"] = kind
    app = typer.Typer()
    app.command()(with_flags()(command))
    app(list(flags), standalone_mode=False)
    return made[0]
