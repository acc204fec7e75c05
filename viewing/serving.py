"""Runs the viewer's server on the loopback until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from learnable.data.errors import LearnableError
from learnable.data.store import Store
from learnable.viewing.library import Library
from learnable.viewing.server import LOOPBACK, make_app


def serve(store: Store, runs: Path, port: int, token: str, on_ready: Callable[[str], None]) -> None:
    """Serve a store, after `on_ready` was told the address to open.

    Raises `LearnableError` for a port that is not free.
    """
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            own.bind((LOOPBACK, port))
        except (OSError, OverflowError) as error:
            raise LearnableError(
                f"port {port} cannot be used ({error}): choose another, or 0 for a free one"
            ) from error
        config = uvicorn.Config(make_app(Library(store, runs), token), log_level="warning", access_log=False)
        on_ready(f"http://{LOOPBACK}:{own.getsockname()[1]}/?token={token}")
        uvicorn.Server(config).run(sockets=[own])
