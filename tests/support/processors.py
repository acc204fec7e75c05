"""Figures that were recorded to the last digit, and where they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

CPU = Path("/proc/cpuinfo")

# The fit of a prior ends some 3e-5 elsewhere with OpenBLAS's kernels for other processors.
recorded_with_avx512 = pytest.mark.skipif(
    CPU.is_file() and " avx512f" not in CPU.read_text(encoding="utf-8"),
    reason="recorded with OpenBLAS's kernels for AVX-512; other kernels change the last digits of a fitted prior",
)
