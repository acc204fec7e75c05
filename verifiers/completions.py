"""What of a completion is judged: the answer, not the thinking before it.

Both rules hold for every verifier that reads free text: a `<think>` block is dropped, and so is everything
before a lone `</think>` (chat templates may open the block in the prompt). A block that never closes
leaves nothing to judge.
"""

from __future__ import annotations

import re

_BLOCK = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_CLOSE = re.compile(r"</think>", re.IGNORECASE)


def strip_thinking(completion: str) -> str:
    """Return the completion without its reasoning blocks.

    >>> strip_thinking("<think>3 + 4</think>7")
    '7'
    >>> strip_thinking("so it is 7</think>7"), strip_thinking("<think>hmm")
    ('7', '')
    """
    if "think>" not in completion.lower():
        return completion
    return _CLOSE.split(_BLOCK.sub("", completion))[-1]
