"""Rhyme schemes as text: one label a line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Scheme = tuple[str, ...]
UNRHYMED = "x"
RENTREMENT = "R"  # the opening words of line 1 return; `Rb` rhymes with class b besides


def parse_scheme(text: str) -> Scheme:
    """Split a rhyme scheme into one label a line; labels of two characters are set apart by spaces.

    `/` marks a stanza break and is not a label.

    >>> parse_scheme("aabba"), parse_scheme("A1 b A2"), parse_scheme("abab/cdcd")
    (('a', 'a', 'b', 'b', 'a'), ('A1', 'b', 'A2'), ('a', 'b', 'a', 'b', 'c', 'd', 'c', 'd'))
    """
    text = text.strip()
    return tuple(text.replace("/", " ").split()) if " " in text else tuple(text.replace("/", ""))


def stanza_sizes(text: str) -> tuple[int, ...]:
    """Return the lines of each stanza of a scheme.

    >>> stanza_sizes("abba/abba/cde/cde"), stanza_sizes("A1 b A2 / a b A1"), stanza_sizes("aabba")
    ((4, 4, 3, 3), (3, 3), (5,))
    """
    spaced = " " in text.strip()
    return tuple(len(stanza.split() if spaced else stanza) for stanza in text.strip().split("/"))


def is_label(label: str) -> bool:
    """Whether a label is a letter, a refrain (`A1`, or `X1` where it does not rhyme) or a rentrement (`R`, `Rb`)."""
    if label.startswith(RENTREMENT) and len(label) == 2 and label[1].islower():
        return True
    return label.isascii() and (
        (len(label) == 1 and label.isalpha()) or (len(label) > 1 and label[0].isupper() and label[1:].isdigit())
    )


def is_refrain(label: str) -> bool:
    """Whether the whole line returns wherever this label stands."""
    return len(label) > 1 and label[1:].isdigit()


def is_rentrement(label: str) -> bool:
    """Whether the line is made of the opening words of line 1."""
    return label == RENTREMENT or (label.startswith(RENTREMENT) and label[1:].islower())


def rhyme_class(label: str) -> str:
    """Return the rhyme class of a label: the refrain `A1` rhymes with `a`, a plain rentrement with nothing.

    >>> [rhyme_class(label) for label in ("a", "A1", "X1", "R", "Rb")]
    ['a', 'a', 'x', 'x', 'b']
    """
    if is_rentrement(label):
        return label[1:] or UNRHYMED
    return label[0].lower()


def say_scheme(scheme: Sequence[str], stanzas: Sequence[int] = ()) -> str:
    """Write a scheme as a prompt names it, stanza breaks as `/` where they are given.

    >>> say_scheme(("a", "a", "b")), say_scheme(("A1", "b", "A1"), (2, 1))
    ('aab', 'A1 b / A1')
    """
    spaced = any(len(label) > 1 for label in scheme)
    if sum(stanzas) != len(scheme):
        stanzas = (len(scheme),)
    starts = [sum(stanzas[:number]) for number in range(len(stanzas) + 1)]
    parts = [(" " if spaced else "").join(scheme[a:b]) for a, b in pairwise(starts)]
    return (" / " if spaced else "/").join(parts)
