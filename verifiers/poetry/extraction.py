r"""Which part of a completion is the poem: all of it, except what is clearly not part of a poem.

Rules, in this order:

1. Thinking blocks are removed (see `verifiers.completions`). Text is normalised (NFKC, plain quotes, no invisible
format characters). The marker lines of code fences are removed, and what they enclose stays.
2. Blank lines separate blocks. So does a line without a letter or digit (a rule, a bullet).
3. A first block of one line is a preamble and is removed if it ends in a colon or greets ("Sure!", "Here is a sonnet").
   A greeting without a blank line after it is a line of the poem.
4. A title is removed: a first line that is a Markdown heading, all in bold, or begins with "Title:"; or a first block
of one line of at most eight words, without closing punctuation, before a block of several lines.
5. A last block that is about the poem ("I hope you like it", "Let me know", "Note:") is removed.

Everything else stays and counts as lines, a second poem too. A rule that would leave no line does not apply.
"""

from __future__ import annotations

import re
import unicodedata

from learnable.verifiers.completions import strip_thinking

_FENCE = re.compile(r"^\s*(```|~~~)[\w+-]*\s*$")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u0060": "'", "\u00b4": "'"})
_SAID = re.compile(r"[^\W_]")
_GREETING = re.compile(
    r"(?:sure|certainly|of course|absolutely|okay|ok|great|here(?: is|'s| are)|below is|this is (?:a|my|the))\b[^\n]*$",
    re.I,
)
_HEADING = re.compile(r"\s*(?:#{1,6}\s+\S.*|\*\*[^*]+\*\*|__[^_]+__|title\s*:.*)\s*$", re.I)
_CLOSED = re.compile(r"[.,;:!?\u2014-]['\")\]*_]*\s*$")
_SIGN_OFF = re.compile(
    r"\W*(?:i hope (?:you|this|that|it)|let me know|feel free|would you like|note\s*:|explanation\s*:|enjoy!|"
    r"(?:this|the) (?:poem|sonnet|haiku|form|piece|villanelle|limerick)\b)",
    re.I,
)


def extract_blocks(completion: str, keep_first_line: bool = False) -> list[list[str]]:
    r"""Return the poem's lines in blocks. With `keep_first_line` a first block of one line is not taken as a title.

    >>> extract_blocks("Here is one:\n\n**Pond**\n\nAn old silent pond\nA frog\n\nI hope you like it!")
    [['An old silent pond', 'A frog']]
    """
    # 20,000 characters are far more than any form needs, and an endless completion must not cost seconds.
    blocks = _blocks(normalise_text(strip_thinking(completion)[:20_000]))
    if len(blocks) > 1 and len(blocks[0]) == 1 and _is_preamble(blocks[0][0]):
        blocks = blocks[1:]
    if blocks and sum(map(len, blocks)) > 1:
        blocks = _without_title(blocks, keep_first_line)
    if len(blocks) > 1 and _SIGN_OFF.match(blocks[-1][0]):
        blocks = blocks[:-1]
    return blocks


def normalise_text(text: str) -> str:
    """Return `text` with plain characters for similar ones, and without the invisible ones that could hide words."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text.translate(_QUOTES)).translate(_QUOTES)
    return "".join(character for character in text if unicodedata.category(character) != "Cf")


def _blocks(text: str) -> list[list[str]]:
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if _FENCE.match(line):
            continue
        if _SAID.search(line):
            blocks[-1].append(line.strip())
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _is_preamble(line: str) -> bool:
    return line.endswith(":") or bool(_GREETING.match(line))


def _without_title(blocks: list[list[str]], keep_first_line: bool) -> list[list[str]]:
    first, *rest = blocks
    if _HEADING.match(first[0]):
        return [first[1:], *rest] if len(first) > 1 else rest
    alone = len(first) == 1 and bool(rest) and len(rest[0]) > 1 and not keep_first_line
    if alone and len(first[0].split()) <= 8 and not _CLOSED.search(first[0]):
        return rest
    return blocks
