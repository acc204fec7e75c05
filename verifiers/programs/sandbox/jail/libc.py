"""Calls to the kernel that the standard library has no function for."""

from __future__ import annotations

import ctypes
import os
import platform

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38

# Calls keep the interpreter's lock: the server and its children have one thread, and letting go of it costs time.
_LIBC = ctypes.PyDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

ARCHITECTURE = platform.machine()


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


def fork() -> int:
    """Fork this process, which has one thread only: return 0 in the child, else the child's number. Raises `OSError`.

    `os.fork` would also put locks and chance in order for what other threads were doing, which writes to half the pages
    that a child has: each must then be copied.
    """
    pid = int(_LIBC.fork())
    if pid < 0:
        raise _error("fork")
    return pid


def _error(what: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, f"{what}: {os.strerror(code)}")
