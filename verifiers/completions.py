"""What of a completion is judged: the answer, not the thinking before it.

Both rules hold for every verifier that reads free text: a `<think>` block is dropped, and so is everything
before a lone `</think>` (chat templates may open the block in the prompt). A block that never closes
leaves nothing to judge.
"""

from __future__ import annotations

import re

_BLOCK = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_CLOSE = re.compile(r"</think>", re.IGNORECASE)
_TURN_END = re.compile(
    r"(?<=\S)\s*(?:<\|(?:im_end|eot_id|endoftext|end|end_of_text)\|>|<end_of_turn>|</s>(?=\s*(?:<s>|\Z))).*", re.DOTALL
)


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


def take_turn(completion: str) -> str:
    r"""Return the completion without its reasoning blocks, and without what stands behind a mark of the turn's end.

    >>> take_turn("<think>3 + 4</think>7<|im_end|>\n<|im_start|>user\nAnd 3 + 5?")
    '7'
    """
    completion = strip_thinking(completion)
    return _TURN_END.sub("", completion)
