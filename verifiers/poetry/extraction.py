"""What of a completion is the poem. The whole answer is: nothing is picked out of it.

Rules, in this order: thinking blocks go (see `verifiers.completions`); text is normalised (NFKC, typographic
quotes made plain, invisible format characters removed); the marker lines of code fences go, and what they
enclose stays; lines without a letter or digit (blank ones, rules, bullets) go. A title, a greeting or a
second poem stays and counts as lines.
"""

from __future__ import annotations

import re
import unicodedata

from learnable.verifiers.completions import without_thinking

MAX_CHARACTERS = 20_000  # no form here comes near; a runaway completion must not cost seconds

_FENCE = re.compile(r"^\s*(```|~~~)[\w+-]*\s*$")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u0060": "'", "\u00b4": "'"})
_SAID = re.compile(r"[^\W_]")


def poem_lines(completion: str) -> list[str]:
    r"""Return the lines of the poem.

    >>> poem_lines("```\nAn old silent pond\n\n---\nA frog\n```")
    ['An old silent pond', 'A frog']
    """
    text = normal_text(without_thinking(completion)[:MAX_CHARACTERS])
    return [line.strip() for line in text.splitlines() if _SAID.search(line) and not _FENCE.match(line)]


def normal_text(text: str) -> str:
    """Return `text` with look-alike and invisible characters made plain, so that they cannot hide words."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text.translate(_QUOTES)).translate(_QUOTES)
    return "".join(character for character in text if unicodedata.category(character) != "Cf")
