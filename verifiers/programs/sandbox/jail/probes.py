"""What the server and a child try that must fail: the sandbox's test of itself."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any


def look_around() -> dict[str, str]:
    """Return what the server, which has no filter, can still reach: "" for a thing refused, else what was found."""
    return {
        # A file that this interpreter could read a moment ago.
        "read": _attempt(lambda: os.close(os.open(os.__file__, os.O_RDONLY))),
        "list": _attempt(lambda: os.close(os.open("/", os.O_RDONLY))),
        "reach": _attempt(_find_route),
    }


def _find_route() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # looks up a route and sends nothing; the address is for documentation


def _attempt(action: Callable[[], Any]) -> str:
    try:
        action()
    except OSError:
        return ""
    return "possible"


# Run in a child as any candidate is. Each entry of what it returns must be the number of EPERM, but for `honest`.
SOURCE = """
import mmap, os, socket, subprocess, threading

def attempt(action):
    try:
        action()
    except OSError as error:
        return error.errno
    except RuntimeError:  # "can't start new thread" keeps its number to itself
        return 1
    return 0

def probe():
    return {
        "open": attempt(lambda: os.open("/", os.O_RDONLY)),
        "write": attempt(lambda: os.open("/tmp/learnable-probe", os.O_WRONLY)),
        "socket": attempt(socket.socket),
        "fork": attempt(lambda: os.fork() or os._exit(0)),
        "thread": attempt(lambda: threading.Thread(target=len).start()),
        "exec": attempt(lambda: os.execv("/bin/true", ["true"])),
        "kill": attempt(lambda: os.kill(os.getpid(), 0)),
        "executable memory": attempt(lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)),
        "honest": sum(range(10)),
    }
"""
REFUSED_ERRNO, HONEST = 1, 45  # what a refused attempt comes to, and `sum(range(10))`
