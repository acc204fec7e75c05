"""Mosaic rhymes: two words at the end of a line that rhyme with one or two of another (show it, bestow it; riot, he).

The last word must be a light one of one syllable and the word before it none, so that the two make a feminine ending.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from learnable.verifiers.poetry.rhyme.pairs import FULL_RHYME, SPELLED_RHYME, is_double
from learnable.verifiers.poetry.rhyme.rimes import find_rhyme_sounds, find_tail, relax
from learnable.verifiers.poetry.sound.phones import Phones, drop_stresses
from learnable.verifiers.poetry.sound.pronunciation import pronounce

LIGHT_WORDS = frozenset(
    """
    a am an and are as at be but can did do else 'em for from had has have he hence her him his how i if in is it
    its me my not of off on or our she so some than that the thee their them then there they thou thy to too up us was
    we what who will with ye you your
    """.split()
)

End = tuple[str, str]  # the word before the last one, where the two may be heard as one, or ""; and the last word
NO_WORDS: End = ("", "")


def find_end(words: Sequence[str]) -> End:
    """Return the end of a line as it may be heard.

    >>> find_end("duty so great to show it".split()), find_end("he gave it to me".split())
    (('show', 'it'), ('', 'me'))
    """
    if not words:
        return NO_WORDS
    open_to = len(words) > 1 and words[-1] in LIGHT_WORDS and words[-2] not in LIGHT_WORDS
    return (words[-2] if open_to else "", words[-1])


@lru_cache(maxsize=65_536)
def credit_mosaic(first: End, second: End) -> float:
    """Return how well the ends of two lines rhyme over two words, in [0, 1]; 0 where neither has two.

    It is 1 where they sound the same from the stressed vowel on, and a half where easy speech says them so, where the
    vowels under the stress are similar, or where one is an unknown word whose end, by its spelling, sounds alike.

    >>> credit_mosaic(("show", "it"), ("bestow", "it")), credit_mosaic(("show", "it"), ("show", "it"))
    (1.0, 0.0)
    """
    if not (first[0] or second[0]) or _says_again(first, second):
        return 0.0
    one, other = _list_tails(first), _list_tails(second)
    if one & other:
        return FULL_RHYME
    if any(tail == answer or is_double(tail, answer) for tail, answer in product(map(relax, one), map(relax, other))):
        return SPELLED_RHYME
    return SPELLED_RHYME if _may_rhyme(one, second) or _may_rhyme(other, first) else 0.0


def _says_again(first: End, second: End) -> bool:
    """Whether the words before the last are the same or sound the same."""
    return first[0] == second[0] or bool(set(pronounce(first[0])) & set(pronounce(second[0])))


@lru_cache(maxsize=65_536)
def _list_tails(end: End) -> frozenset[Phones]:
    """Return the sounds from the stressed vowel on in every way to say them: two syllables and more."""
    before, last = end
    if not before:
        sounds = find_rhyme_sounds(last)
        return frozenset(tail for tail in sounds.full if len(tail) > 2 and sounds.known)
    endings = [drop_stresses(phones) for phones in pronounce(last)]
    # In a light word a weak h is not heard: "forsook 'er".
    endings += [phones[1:] for phones in endings if phones[:1] == ("HH",)]
    return frozenset((*find_tail(phones), *ending) for phones, ending in product(pronounce(before), endings))


def _may_rhyme(tails: frozenset[Phones], unknown: End) -> bool:
    sounds = find_rhyme_sounds(unknown[1])
    if unknown[0] or sounds.known:
        return False
    pairs = product(sounds.last, map(relax, tails))
    return any(relax(("", *rime))[1:] == tail[-len(rime) :] for rime, tail in pairs)


def list_mosaics(ends: Sequence[End], reach: int) -> Iterator[tuple[int, int, float]]:
    """Yield the pairs of lines, at most `reach` apart, that rhyme over two words, with their credit."""
    for index, end in enumerate(ends):
        if not end[0]:
            continue
        start = max(0, index - reach)
        for other, another in enumerate(ends[start : index + reach + 1], start):
            is_new = other > index or (other < index and not another[0])
            if is_new and (credit := credit_mosaic(end, another)):
                yield min(index, other), max(index, other), credit
