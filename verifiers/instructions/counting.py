"""How many words, sentences and paragraphs a text has.

Words are counted as the public judge of IFEval does, by runs of letters and digits: "don't" is two, "snake_case" one.
"""

from __future__ import annotations

import re

CONTEXT_CHARACTERS = 40  # characters around an end mark that tell what it is

# \w has no vowel signs: without these a word of Hindi would fall into pieces.
_WORD = re.compile(r"[\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e]+")
_END = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026]++[\"'\u201d\u2019\u00bb)\]*_]*+(?=\s|\Z)|[\u3002\uff01\uff1f\u0964\u0965\u061f\u06d4]+"
)
_LABEL = re.compile(r"\W*(?:\d{1,3}|[A-Za-z])")  # of a list: "1." is no sentence
_LAST_WORD = re.compile(r"[\w.]+\Z")
_NEXT_WORD = re.compile(r"[\s\"'\u201c\u2018(\[*_]*(\w+)")
_BLANK_LINES = re.compile(r"\n\s*\n")
_DIVIDER = re.compile(r"(?<!\S)\*\*\*(?!\S)")  # "***bold***" is none

# A full stop behind these ends no sentence; behind the others, and behind initials, only before one of the starters.
_NEVER_LAST = frozenset("mr mrs ms dr prof rev hon gen capt col lt sgt rep sen gov st vs e.g i.e cf fig approx".split())
_MAY_BE_LAST = frozenset("etc inc ltd co corp jr sr al dept est".split())
_STARTERS = frozenset(
    "the a an he she it they we i you this that these those his her its their our my your but and so then however "
    "there here when while if in on at for after before as what why how who".split()
)


def count_words(text: str) -> int:
    """Return how many runs of letters and digits a text has.

    >>> count_words("Don't stop, 2 more."), count_words("\u0939\u093f\u0928\u094d\u0926\u0940"), count_words("...")
    (5, 1, 0)
    """
    return len(_WORD.findall(text))


def count_sentences(text: str) -> int:
    r"""Return how many sentences a text has: what an end mark ends, and what is left behind the last one.

    Lines end no sentence; titles, initials, decimals, addresses and the labels of lists have full stops that end none.

    >>> count_sentences("Dr. No paid $1.50 to J. Smith. Why? Well... who knows!"), count_sentences("1. Eat.\n2. Sleep")
    (3, 2)
    """
    count, start = 0, 0
    for mark in _END.finditer(text):
        if not _WORD.search(text, start, mark.start()):
            continue
        before = text[max(start, mark.start() - CONTEXT_CHARACTERS) : mark.start()]
        if _ends(before, mark[0], text[mark.end() : mark.end() + CONTEXT_CHARACTERS]):
            count += 1
            start = mark.end()
    return count + bool(_WORD.search(text, start))


def _ends(before: str, mark: str, after: str) -> bool:
    following = _NEXT_WORD.match(after)
    if mark.startswith(("..", "\u2026")):
        return not (following and following[1][0].islower())
    if mark[0] != "." or not following:
        return True
    if _LABEL.fullmatch(before.rpartition("\n")[2]):
        return False
    last = _LAST_WORD.search(before)
    word = last[0].casefold() if last else ""
    if word in _NEVER_LAST:
        return False
    is_short = word in _MAY_BE_LAST or "." in word or (len(word) == 1 and word.isalpha() and word != "i")
    return not is_short or (following[1][0].isupper() and following[1].casefold() in _STARTERS)


def split_at_blank_lines(text: str) -> list[str]:
    """Return the paragraphs of a text that blank lines part."""
    return [part for part in _BLANK_LINES.split(text) if part.strip()]


def split_at_dividers(text: str) -> list[str]:
    r"""Return the paragraphs that the divider "***" parts; "" for one with nothing in it, but at both ends.

    >>> split_at_dividers("***\na\n***\n***bold*** b"), split_at_dividers("a *** *** b")
    (['a', '***bold*** b'], ['a', '', 'b'])
    """
    parts = [part.strip() for part in _DIVIDER.split(text)]
    if parts and not parts[0]:
        parts = parts[1:]
    return parts[:-1] if parts and not parts[-1] else parts
