"""Which device a run will train on, and how much memory it has."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Literal

from learnable.data.errors import LearnableError

LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a control group


@dataclass(frozen=True, slots=True)
class Device:
    """Where a process trains: the first CUDA device, or this `host`; `memory` in bytes."""

    kind: Literal["cuda", "host"]
    memory: int


def describe_gpus(memory: float | None, gpus: int | None) -> Device | None:
    """Return a GPU of another machine, of so many GiB; None where none is described.

    Raises `LearnableError` for a memory or a number of GPUs that none has, and for a number alone.
    """
    if memory is None and gpus is None:
        return None
    if memory is None:
        raise LearnableError(f"`gpus` {gpus} says how many and not how large: give `gpu_memory` too, such as 80 (GiB)")
    if not 0 < memory < inf:
        raise LearnableError(f"`gpu_memory` {memory:g} is no memory: give the GiB of one GPU, such as 80")
    if gpus is not None and gpus < 1:
        raise LearnableError(f"`gpus` {gpus} is no number of GPUs: give 1 or more")
    return Device("cuda", int(memory * (1 << 30)))


def find_device() -> Device:
    """Return where the trainer's process will train. Asks the driver: torch is not loaded here."""
    memory = _ask_driver()
    return Device("cuda", memory) if memory else Device("host", _read_host_memory())


def _ask_driver() -> int:
    """Return the bytes of the first visible GPU; 0 where there is none, or the driver does not say."""
    program = shutil.which("nvidia-smi")
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    if program is None or first in ("", "-1"):
        return 0
    command = [program, "--query-gpu=memory.total", "--format=csv,noheader,nounits", f"--id={first}"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
        return int(output) << 20
    except (OSError, subprocess.SubprocessError, ValueError):
        return 0


def _read_host_memory() -> int:
    """Return the bytes that this machine has, or that its control group leaves us."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for name in LIMITS:
        file = Path(name)
        if file.is_file() and (text := file.read_text(encoding="ascii").strip()).isdigit():
            limits.append(int(text))
    return min(limits)
