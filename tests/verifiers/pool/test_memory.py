"""A verifier may say how much memory a completion may take; what takes more gets no reward, and the limit is undone."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.verifiers.pool.worker import bounded_memory
from learnable.verifiers.protocol import verifier_memory_limit

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other systems know no limit of address space")


@dataclass
class Sized:
    memory_limit: Any
    name: str = "sized"


@LINUX
def test_what_takes_more_than_its_memory_is_told() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(MemoryError), bounded_memory(64 << 20):
        bytearray(256 << 20)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert len(bytearray(256 << 20)) == 256 << 20


@LINUX
def test_without_a_limit_nothing_is_bounded() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with bounded_memory(None):
        assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_limit_is_a_number_of_bytes() -> None:
    assert verifier_memory_limit(Sized(1 << 20)) == 1 << 20  # type: ignore[arg-type]
    assert verifier_memory_limit(Sized(None)) is None  # type: ignore[arg-type]
    for wrong in (0, -1, True, 1.5, "1 GiB"):
        with pytest.raises(LearnableError, match="memory_limit is"):
            verifier_memory_limit(Sized(wrong))  # type: ignore[arg-type]
