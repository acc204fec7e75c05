"""Figures that were recorded to the last digit, and where they hold."""

from __future__ import annotations

import numpy as np
import pytest

# The fit of a prior ends some 3e-5 elsewhere with OpenBLAS's kernels for other processors.
recorded_with_avx512 = pytest.mark.skipif(
    "AVX512F" not in np.show_config(mode="dicts")["SIMD Extensions"].get("found", []),
    reason="recorded with OpenBLAS's kernels for AVX-512; other kernels change the last digits of a fitted prior",
)
