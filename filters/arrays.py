"""The kinds of arrays that the filters calculate with.

Where a docstring says nothing else, an array has one axis, one entry a group (a prompt), and arrays that are given
together have one shape. `rewards` has the shape (prompts, rollouts).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
"""Figures: rewards, means, variances, chances. NaN where a figure is missing."""

Indices = NDArray[np.int64]
"""Row numbers of prompts, counts of rollouts, or the numbers of words."""

Flags = NDArray[np.bool_]
"""A yes or no for each entry."""

Actions = NDArray[np.int8]
"""What to do with each group: `CONTINUE`, `KEEP` or `DROP` of `filters.stopping.table`."""
