"""How words sound: pronunciations from the lexicon, and estimates for words it lacks.

The sounds of a word come, in this order, from the dictionary and the table of poetic words, from its modern spelling, from
its parts, and for what remains only the number of syllables and the last sounds are guessed from its spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from learnable.verifiers.poetry.sound.derivation import compound, derived, prefixed
from learnable.verifiers.poetry.sound.lexicon import lexicon
from learnable.verifiers.poetry.sound.phones import Phones
from learnable.verifiers.poetry.sound.poetic_words import poetic_words, respelled
from learnable.verifiers.poetry.sound.syllables import WordCounts, count_syllables, estimated, lengthened
from learnable.verifiers.poetry.sound.unknown_words import estimate

SPOKEN_ED = "\u00e8d"  # winged read as two syllables is written with an accent, wing\u00e8d
MOST_WORDS = 100  # of a line whose variants are considered; beyond, each word counts with its fewest syllables
WORDS_A_LICENCE = 4  # one syllable in so many words may be dropped or added beyond the dictionary's variants


def load_dictionary() -> None:
    """Load the lexicon now rather than at the first word (a fraction of a second once it is built)."""
    pronunciations("poem")
    estimated_syllables("zzyzx")


@lru_cache(maxsize=65_536)
def pronunciations(word: str) -> tuple[Phones, ...]:
    """Return every pronunciation of `word`, as ARPAbet phones; none where neither it nor its parts are known."""
    if found := _listed(word):
        return found
    if word.endswith(SPOKEN_ED):
        plain = word.removesuffix(SPOKEN_ED) + "ed"
        return tuple(long for phones in pronunciations(plain) for long in lengthened(plain, phones) or [phones])
    if word.endswith(("'s", "s'")) and len(word) > 3:
        # A name's or noun's possessive sounds like its plural.
        return pronunciations(word[:-2] + "s") if word.endswith("s'") else derived(word[:-2] + "s", pronunciations)
    return (
        _derivable(word)
        or _modern(word, _derivable)
        or _affixed(word)
        or _modern(word, _affixed)
        or compound(word, _listed)
    )


def is_listed(word: str) -> bool:
    """Whether a list has the word itself."""
    return word in lexicon().entries or word in poetic_words()


def _listed(word: str) -> tuple[Phones, ...]:
    return tuple(dict.fromkeys(poetic_words().get(word, ()) + lexicon().pronunciations(word)))


def _derivable(word: str) -> tuple[Phones, ...]:
    return _listed(word) or derived(word, _listed)


def _affixed(word: str) -> tuple[Phones, ...]:
    return prefixed(word, _derivable) or derived(word, _derivable)


def _modern(word: str, lookup: Callable[[str], tuple[Phones, ...]]) -> tuple[Phones, ...]:
    modern = respelled(word, lambda spelling: bool(lookup(spelling)))
    return lookup(modern) if modern else ()


def syllable_counts(word: str) -> frozenset[int]:
    """Return every number of syllables that `word` can have by itself, verse's licences left out."""
    return frozenset(word_counts(word).free)


def licensed_counts(word: str) -> frozenset[int]:
    """Return the numbers of syllables that only a poet's licence gives the word: heav'n, bless-ed."""
    return frozenset(word_counts(word).licensed)


@lru_cache(maxsize=65_536)
def word_counts(word: str) -> WordCounts:
    """Return how many syllables a word can have."""
    if word not in poetic_words() and (listed := lexicon().counts(word)) is not None:
        return listed
    known = pronunciations(word)
    return count_syllables(word, known) if known else estimated(estimated_syllables(word))


def reachable_counts(words: Sequence[str]) -> frozenset[int]:
    """Return every number of syllables that a line of these words can have.

    The dictionary's variants are free. Elisions and added syllables (see `elision`) are not: a line
    has one such licence for every `WORDS_A_LICENCE` words, or ambiguity would pass any line as any length.

    >>> sorted(reachable_counts(["every", "fire"]))  # ev'ry or every, one or two
    [3, 4, 5]
    """
    # Sums are kept as the bits of an integer, one integer for each number of licences used.
    considered = words[:MOST_WORDS]
    sums = [1] + [0] * -(-len(considered) // WORDS_A_LICENCE)
    # Syllables of words that leave no choice, and of those far beyond any line of verse.
    certain = sum(word_counts(word).free[0] for word in words[MOST_WORDS:])
    gives = False
    for word in considered:
        only, free, licensed, begins_open, ends_open = word_counts(word)
        merged = gives and begins_open
        if only is not None and not merged:
            certain += only
        else:
            sums = _with_word(sums, free, licensed, merged)
        gives = ends_open
    reached = 0
    for bits in sums:
        reached |= bits
    return frozenset(count + certain for count in range(reached.bit_length()) if reached >> count & 1)


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
    """Whether two neighbours may share a syllable: th'expense, many a."""
    return word_counts(first).ends_open and word_counts(second).begins_open


@lru_cache(maxsize=65_536)
def estimated_syllables(word: str) -> int:
    """Estimate the syllables of a word by its spelling; at least one."""
    return estimate(lexicon().shares, word.replace("'", ""))
