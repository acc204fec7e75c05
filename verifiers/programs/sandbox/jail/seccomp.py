"""The system calls that a candidate may make. Everything else fails with EPERM.

The list is what CPython needs to compute, allocate memory, write its answers and exit. `mmap` and `mprotect` pass
only without PROT_EXEC. Nothing can be waited for: sleeping succeeds at once, a wait with a time limit has reached it,
and one without is interrupted, whereupon the caller tries again and again and uses up its processor time. So a
program's end never depends on a clock on the wall, nor on what else the machine does.
"""

from __future__ import annotations

import ctypes
import struct

from .libc import ARCHITECTURE, syscall

# asm/unistd_64.h and asm-generic/unistd.h. The ones called most come first: the filter looks in this order.
X86_64 = {
    "futex": 202, "write": 1, "read": 0, "munmap": 11, "brk": 12, "madvise": 28, "mremap": 25, "clock_gettime": 228,
    "getpid": 39, "gettid": 186, "getrandom": 318, "exit_group": 231, "exit": 60, "rt_sigreturn": 15, "lseek": 8,
    "fstat": 5, "sched_yield": 24, "restart_syscall": 219, "clock_getres": 229, "gettimeofday": 96, "time": 201,
    "getrusage": 98, "times": 100, "sigaltstack": 131, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108,
    "membarrier": 324, "mmap": 9, "mprotect": 10, "nanosleep": 35, "clock_nanosleep": 230, "seccomp": 317,
}  # fmt: skip
AARCH64 = {
    "futex": 98, "write": 64, "read": 63, "munmap": 215, "brk": 214, "madvise": 233, "mremap": 216,
    "clock_gettime": 113, "getpid": 172, "gettid": 178, "getrandom": 278, "exit_group": 94, "exit": 93,
    "rt_sigreturn": 139, "lseek": 62, "fstat": 80, "sched_yield": 124, "restart_syscall": 128, "clock_getres": 114,
    "gettimeofday": 169, "getrusage": 165, "times": 153, "sigaltstack": 132, "getuid": 174, "getgid": 176,
    "geteuid": 175, "getegid": 177, "membarrier": 283, "mmap": 222, "mprotect": 226, "nanosleep": 101,
    "clock_nanosleep": 115, "seccomp": 277,
}  # fmt: skip
ARCHITECTURES = {"x86_64": (0xC000003E, X86_64), "aarch64": (0xC00000B7, AARCH64)}  # AUDIT_ARCH_* of linux/audit.h

CONDITIONAL = {"mmap", "mprotect"}  # their third argument is the protection
WAITS = {"FUTEX_WAIT": 0, "FUTEX_LOCK_PI": 6, "FUTEX_WAIT_BITSET": 9, "FUTEX_WAIT_REQUEUE_PI": 11, "FUTEX_LOCK_PI2": 13}
FUTEX_COMMAND = 0x7F  # the rest of the second argument of `futex` are flags
SLEEP_CALLS = {"nanosleep", "clock_nanosleep"}
FOR_ITSELF = {"seccomp"}  # in the table only to install the filter
X32_BIT = 0x40000000  # x86-64's other table of calls, which the numbers above do not cover
PROT_EXEC = 4
EPERM, EINTR, ETIMEDOUT = 1, 4, 110

# linux/bpf_common.h: load a word, mask it; jump if equal, if at least, if a bit is set; return.
LOAD, AND, IF_EQUAL, IF_AT_LEAST, IF_SET, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
# In struct seccomp_data. The fourth argument of `futex` is the address of its time limit, in two halves.
NUMBER_OFFSET, ARCHITECTURE_OFFSET, SECOND_ARGUMENT_OFFSET, THIRD_ARGUMENT_OFFSET, FOURTH_ARGUMENT_OFFSET = (
    0,
    4,
    24,
    32,
    40,
)
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
SECCOMP_SET_MODE_FILTER, SECCOMP_GET_ACTION_AVAIL, SPEC_ALLOW = 1, 2, 4

Instruction = tuple[int, int, int, int]


def is_supported() -> bool:
    """Say whether the kernel has seccomp filters and this machine's table of calls is known."""
    if ARCHITECTURE not in ARCHITECTURES:
        return False
    action = ctypes.create_string_buffer(struct.pack("I", FAIL), 4)
    try:
        return syscall(ARCHITECTURES[ARCHITECTURE][1]["seccomp"], SECCOMP_GET_ACTION_AVAIL, 0, action) == 0
    except OSError:
        return False


def build_filter(machine: str) -> list[Instruction]:
    """Return the filter for a machine. Raises `KeyError` for one without a table."""
    architecture, numbers = ARCHITECTURES[machine]
    lines: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE_OFFSET),
        (IF_EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_OFFSET),
    ]
    if machine == "x86_64":
        lines += [(IF_AT_LEAST, 0, 1, X32_BIT), (RETURN, 0, 0, KILL)]
    for name, number in numbers.items():
        lines += _lines(name, number)
    return [*lines, (RETURN, 0, 0, FAIL | EPERM)]


def _lines(name: str, number: int) -> list[Instruction]:
    if name in FOR_ITSELF:
        return []
    if name == "futex":
        return _futex_lines(number)
    if name in CONDITIONAL:
        return [
            (IF_EQUAL, 0, 4, number),
            (LOAD, 0, 0, THIRD_ARGUMENT_OFFSET),
            (IF_SET, 0, 1, PROT_EXEC),
            (RETURN, 0, 0, FAIL | EPERM),
            (RETURN, 0, 0, ALLOW),
        ]
    return [(IF_EQUAL, 0, 1, number), (RETURN, 0, 0, FAIL if name in SLEEP_CALLS else ALLOW)]


def _futex_lines(number: int) -> list[Instruction]:
    decide: list[Instruction] = [
        (RETURN, 0, 0, ALLOW),
        (LOAD, 0, 0, FOURTH_ARGUMENT_OFFSET),
        (IF_EQUAL, 0, 2, 0),
        (LOAD, 0, 0, FOURTH_ARGUMENT_OFFSET + 4),
        (IF_EQUAL, 1, 0, 0),
        (RETURN, 0, 0, FAIL | ETIMEDOUT),
        (RETURN, 0, 0, FAIL | EINTR),
    ]
    commands = list(WAITS.values())
    look: list[Instruction] = [(LOAD, 0, 0, SECOND_ARGUMENT_OFFSET), (AND, 0, 0, FUTEX_COMMAND)]
    look += [(IF_EQUAL, len(commands) - at, 0, command) for at, command in enumerate(commands)]
    return [(IF_EQUAL, 0, len(look) + len(decide), number), *look, *decide]


class Filter:
    """The filter of this machine, packed once and installed by each child. Raises `KeyError` on another machine."""

    def __init__(self) -> None:
        lines = build_filter(ARCHITECTURE)
        self._code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
        header = struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(self._code))
        self._header = ctypes.create_string_buffer(header, len(header))
        self._number = ARCHITECTURES[ARCHITECTURE][1]["seccomp"]

    def install(self) -> None:
        """Bind this process to the filter, for good; it may gain no privilege any more. Raises `OSError`."""
        syscall(self._number, SECCOMP_SET_MODE_FILTER, SPEC_ALLOW, self._header)
