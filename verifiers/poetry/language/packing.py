"""Numbers as text, for the model's file: bytes, compressed, and real numbers in steps that fit a byte."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]


def pack_bytes(numbers: bytes) -> str:
    """Return the bytes, compressed, as text."""
    return base64.b85encode(zlib.compress(numbers, 9)).decode()


def unpack_bytes(text: str) -> bytes:
    """Return the bytes that `pack_bytes` made a text of. Raises ValueError for any other text."""
    try:
        return zlib.decompress(base64.b85decode(text))
    except zlib.error as error:
        raise ValueError(str(error)) from error


def find_levels(numbers: Floats) -> tuple[npt.NDArray[np.int8], float]:
    """Return the numbers in steps, of the same shape, and the size of a step."""
    import numpy as np

    # 127 levels on either side of 0 fill an int8.
    step = float(np.abs(numbers).max() / 127) or 1.0
    return np.rint(numbers / np.float32(step)).astype(np.int8), step


def restore_levels(levels: npt.NDArray[np.int8], step: float) -> Floats:
    """Return the numbers that `find_levels` was given, rounded to steps."""
    import numpy as np

    return levels.astype(np.float32) * np.float32(step)


def round_numbers(numbers: Floats) -> Floats:
    """Return the numbers as a file keeps them."""
    return restore_levels(*find_levels(numbers))
