"""Calls to the kernel that the standard library has no function for."""

from __future__ import annotations

import ctypes
import os
import platform

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

MACHINE = platform.machine()


def prctl(option: int, value: int = 0) -> None:
    """Set an attribute of this process. Raises `OSError`."""
    if _LIBC.prctl(ctypes.c_int(option), *(ctypes.c_ulong(number) for number in (value, 0, 0, 0))) != 0:
        raise _error("prctl")


def syscall(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make a system call; buffers are passed by address. Raises `OSError`."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = int(_LIBC.syscall(ctypes.c_long(number), *words))
    if result < 0:
        raise _error(f"system call {number}")
    return result


def _error(what: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, f"{what}: {os.strerror(code)}")
