"""Whether the lines of a poem stand in order: said in remarks, and never a reason to fail."""

from __future__ import annotations

import re
from collections.abc import Sequence

OUT_OF_ORDER = "the last line stops within a sentence, while lines before it end one: are the lines in order?"

_STOP = re.compile(r"[.!?\u2026][\"'\u2019\u201d)\]]*\s*$")


def remark_on_order(lines: Sequence[str]) -> str:
    """Return a remark on a poem whose last line ends no sentence while two or more before it do; "" for others.

    Of human poems one in a hundred is so; of the same with their lines in random order, six of ten sonnets, and one
    stanza in six.
    """
    if len(lines) < 4 or _STOP.search(lines[-1]):
        return ""
    return OUT_OF_ORDER if sum(bool(_STOP.search(line)) for line in lines[:-1]) >= 2 else ""
