"""How words sound, and how many syllables words and lines can have.

The sounds of a word come, in this order, from the dictionary and the table of poetic words, from its modern spelling,
and from its parts. For any other word only the number of syllables and the last sounds are guessed, from its spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from learnable.verifiers.poetry.sound.derivation import pronounce_compound, pronounce_derived, pronounce_prefixed
from learnable.verifiers.poetry.sound.lexicon import load_lexicon
from learnable.verifiers.poetry.sound.phones import Phones
from learnable.verifiers.poetry.sound.poetic_words import load_poetic_words, respell
from learnable.verifiers.poetry.sound.syllables import WordCounts, assume_word_counts, derive_word_counts, lengthen
from learnable.verifiers.poetry.sound.unknown_words import estimate_from_spelling
from learnable.verifiers.poetry.sound.word_table import WordTable

SPOKEN_ED = "\u00e8d"  # winged read as two syllables is written with an accent, wing\u00e8d
MAX_VARIED_WORDS = (
    100  # of a line, whose variants are considered; each word after them counts with its fewest syllables
)
WORDS_PER_LICENCE = 4  # one syllable in so many words may be dropped or added beyond the dictionary's variants


def load_dictionary() -> None:
    """Load the lexicon now instead of at the first word (a fraction of a second once it is built)."""
    pronounce("poem")
    estimate_syllables("zzyzx")


@lru_cache(maxsize=65_536)
def pronounce(word: str) -> tuple[Phones, ...]:
    """Return every pronunciation of `word` as ARPAbet phones; none where neither the word nor its parts are known."""
    if listed := _listed(word):
        return listed
    if word.endswith(SPOKEN_ED):
        plain = word.removesuffix(SPOKEN_ED) + "ed"
        return tuple(long for phones in pronounce(plain) for long in lengthen(plain, phones) or [phones])
    if word.endswith(("'s", "s'")) and len(word) > 3:
        # A name's or noun's possessive sounds like its plural.
        return pronounce(word[:-2] + "s") if word.endswith("s'") else pronounce_derived(word[:-2] + "s", pronounce)
    return (
        _derivable(word)
        or _modern(word, _derivable)
        or _affixed(word)
        or _modern(word, _affixed)
        or pronounce_compound(word, _listed)
    )


def is_listed(word: str) -> bool:
    """Whether the dictionary or the table of poetic words has the word itself."""
    return word in load_lexicon().entries or word in load_poetic_words()


def _listed(word: str) -> tuple[Phones, ...]:
    return tuple(dict.fromkeys(load_poetic_words().get(word, ()) + load_lexicon().pronunciations(word)))


def _derivable(word: str) -> tuple[Phones, ...]:
    return _listed(word) or pronounce_derived(word, _listed)


def _affixed(word: str) -> tuple[Phones, ...]:
    return pronounce_prefixed(word, _derivable) or pronounce_derived(word, _derivable)


def _modern(word: str, lookup: Callable[[str], tuple[Phones, ...]]) -> tuple[Phones, ...]:
    modern = respell(word, lambda spelling: bool(lookup(spelling)))
    return lookup(modern) if modern else ()


def find_syllable_counts(word: str) -> frozenset[int]:
    """Return every number of syllables that `word` can have by itself, without the licences of verse."""
    return frozenset(find_word_counts(word).free)


def find_word_counts(word: str) -> WordCounts:
    """Return the numbers of syllables that a word can have, with and without the licences of verse."""
    return _COUNTS[word]


def _count_word(word: str) -> WordCounts:
    if word not in load_poetic_words() and (listed := load_lexicon().counts(word)) is not None:
        return listed
    known = pronounce(word)
    return derive_word_counts(word, known) if known else assume_word_counts(estimate_syllables(word))


_COUNTS = WordTable(_count_word)


def find_line_counts(words: Sequence[str]) -> frozenset[int]:
    """Return every number of syllables that a line of these words can have.

    The dictionary's variants are free. Dropped and added syllables (see `syllables`) are not: a line has one such
    licence for every `WORDS_PER_LICENCE` words. With more, a line could pass as one of any length.

    >>> sorted(find_line_counts(["every", "fire"]))  # ev'ry or every, one or two
    [3, 4, 5]
    """
    return frozenset(list_line_counts(words))


def list_line_counts(words: Sequence[str]) -> tuple[int, ...]:
    """Return `find_line_counts`, sorted."""
    # The reached sums are the bits of an integer; there is one integer for each number of licences used.
    sums = [1] + [0] * -(-min(len(words), MAX_VARIED_WORDS) // WORDS_PER_LICENCE)
    certain = 0  # syllables of the words that leave no choice, and of the words after the first `MAX_VARIED_WORDS`
    if len(words) > MAX_VARIED_WORDS:
        certain = sum(find_word_counts(word).free[0] for word in words[MAX_VARIED_WORDS:])
        words = words[:MAX_VARIED_WORDS]
    gives = False
    for word in words:
        only, free, licensed, begins_open, ends_open = _COUNTS[word]
        merged = gives and begins_open
        if only is not None and not merged:
            certain += only
        else:
            sums = _with_word(sums, free, licensed, merged)
        gives = ends_open
    reached = 0
    for bits in sums:
        reached |= bits
    return tuple([count + certain for count in range(reached.bit_length()) if reached >> count & 1])


def _with_word(sums: list[int], free: tuple[int, ...], licensed: tuple[int, ...], merged: bool) -> list[int]:
    result = [_shifted(bits, free) for bits in sums]
    for used, bits in enumerate(sums[:-1]):
        if licensed:
            result[used + 1] |= _shifted(bits, licensed)
        if merged:
            result[used + 1] |= _shifted(bits, free) >> 1
    return result


def _shifted(sums: int, counts: tuple[int, ...]) -> int:
    if len(counts) == 1:
        return sums << counts[0]
    result = 0
    for count in counts:
        result |= sums << count
    return result


def may_merge(first: str, second: str) -> bool:
    """Whether two neighbouring words may share a syllable: th'expense, many a."""
    return find_word_counts(first).ends_open and find_word_counts(second).begins_open


@lru_cache(maxsize=65_536)
def estimate_syllables(word: str) -> int:
    """Estimate the syllables of a word by its spelling; at least one."""
    return estimate_from_spelling(load_lexicon().shares, word.replace("'", ""))
