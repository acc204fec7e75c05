r"""Text of others where people read it: names, messages and answers can steer no terminal, no log and no page.

Whatever is shown passes through here at the edge: the command line's console, the log of a scheduled run, the trainer's
log, a card. What is stored, and JSON, is left as it came.
"""

from __future__ import annotations

import re

# Would move the cursor, change colours, ring, begin a line, or turn the direction of text: all controls but tab and
# line feed, line and paragraph separators, and the marks of direction. Lone surrogates cannot be written at all.
# What joins letters and emoji (U+200C, U+200D) belongs to the text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]")


def escape_controls(text: str) -> str:
    r"""Write control characters as escapes.

    >>> escape_controls("a\x1b[31m\nb\u202e")
    'a\\x1b[31m\nb\\u202e'
    """
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def quote_markdown(text: object) -> str:
    r"""Return text as Markdown code on one line: no link, tag, heading or cell of a table begins or ends in it.

    >>> quote_markdown("sonnet"), quote_markdown("a`b|<b>\n# c")
    ('`sonnet`', '``a`b\\x7c<b>\\n# c``')
    """
    line = escape_controls(str(text)).replace("\n", r"\n").replace("\t", r"\t").replace("|", r"\x7c")
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    pad = " " * (line[:1] in ("`", "") or line[-1:] == "`")
    return f"{fence}{pad}{line}{pad}{fence}"


def whole_characters(text: str) -> str:
    r"""Return the text with U+FFFD for each half of a surrogate pair, which JSON can say and no file can store.

    >>> whole_characters("a\ud800b \ud83d\ude00") == "a\ufffdb \U0001f600"
    True
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
