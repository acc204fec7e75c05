"""Landlock: no file, no TCP port, no signal or abstract socket beyond this process and its children."""

from __future__ import annotations

import ctypes
import os
import struct

from .libc import PR_SET_NO_NEW_PRIVS, prctl, syscall

CREATE_RULESET, RESTRICT_SELF = 444, 446  # the same on every machine


def find_version() -> int:
    """Return the version of Landlock that the kernel offers, 0 for none."""
    try:
        # The flag is LANDLOCK_CREATE_RULESET_VERSION.
        return syscall(CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def restrict() -> int:
    """Give up every right that Landlock knows of, for good, and return its version. Raises `OSError`."""
    offered = find_version()
    if offered == 0:
        return 0
    # How many rights over files each version knows; 16 from version 5.
    rights = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(offered, 16)) - 1
    # LANDLOCK_ACCESS_NET_BIND_TCP and LANDLOCK_ACCESS_NET_CONNECT_TCP.
    network = 0b11 if offered >= 4 else 0
    # LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET and LANDLOCK_SCOPE_SIGNAL.
    scopes = 0b11 if offered >= 6 else 0
    ruleset = ctypes.create_string_buffer(struct.pack("QQQ", rights, network, scopes), 24)
    size = 24 if offered >= 6 else 16 if offered >= 4 else 8
    fd = syscall(CREATE_RULESET, ruleset, size, 0)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    syscall(RESTRICT_SELF, fd, 0)
    os.close(fd)
    return offered
