"""How inflected, derived and compound words sound, where the dictionary has their parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from learnable.verifiers.poetry.sound.phones import Phones

Sounds = tuple[Phones, ...]
Lookup = Callable[[str], Sounds]

_VOICELESS = frozenset("P T K F TH".split())
_SIBILANT = frozenset("S Z SH ZH CH JH".split())
_MIN_PART = 3  # letters of each half of a compound: two-letter entries are mostly abbreviations

_SUFFIXES = {
    suffix: tuple(phones.split())
    for suffix, phones in {
        "ing": "IH0 NG",
        "ings": "IH0 NG Z",
        "eth": "IH0 TH",
        "est": "AH0 S T",
        "er": "ER0",
        "ers": "ER0 Z",
        "ish": "IH0 SH",
        "y": "IY0",
        "ly": "L IY0",
        "ness": "N AH0 S",
        "less": "L AH0 S",
        "lessness": "L AH0 S N AH0 S",
        "lessly": "L AH0 S L IY0",
        "ful": "F AH0 L",
        "full": "F AH0 L",
        "fully": "F AH0 L IY0",
        "ment": "M AH0 N T",
        "ments": "M AH0 N T S",
        "some": "S AH0 M",
        "ward": "W ER0 D",
        "wards": "W ER0 D Z",
        "hood": "HH UH2 D",
        "ship": "SH IH2 P",
        "like": "L AY2 K",
        "wise": "W AY2 Z",
        "able": "AH0 B AH0 L",
        "en": "AH0 N",
    }.items()
}
_PREFIXES = {
    prefix: tuple(phones.split())
    for prefix, phones in {
        "un": "AH0 N",
        "re": "R IY0",
        "be": "B IH0",
        "a": "AH0",
        "en": "EH0 N",
        "em": "EH0 M",
        "in": "IH0 N",
        "im": "IH0 M",
        "dis": "D IH0 S",
        "mis": "M IH0 S",
        "de": "D IH0",
        "over": "OW2 V ER0",
        "o'er": "AO2 R",
        "out": "AW2 T",
        "under": "AH2 N D ER0",
        "fore": "F AO0 R",
        "up": "AH0 P",
        "non": "N AA2 N",
        "self": "S EH2 L F",
        "mid": "M IH2 D",
        "ever": "EH2 V ER0",
    }.items()
}
_LONG_SUFFIXES_FIRST = tuple(sorted(_SUFFIXES, key=len, reverse=True))
_LONG_PREFIXES_FIRST = tuple(sorted(_PREFIXES, key=len, reverse=True))


def pronounce_derived(word: str, lookup: Lookup) -> Sounds:
    """Return the pronunciations of a known word with an inflection or a suffix; none for any other word.

    `lookup` returns the pronunciations of a known word, and none for an unknown one.
    """
    return _inflected(word, lookup) or _suffixed(word, lookup)


def pronounce_compound(word: str, lookup: Lookup) -> Sounds:
    """Return the pronunciations of two known words written as one; the main stress is on the first.

    Of several splits the most even one is taken: `moontide` is moon and tide.
    """
    cuts = range(_MIN_PART, len(word) - _MIN_PART + 1)
    for cut in sorted(cuts, key=lambda cut: abs(len(word) - 2 * cut)):
        first, second = lookup(word[:cut]), lookup(word[cut:])
        if first and second and _has_vowel_letter(word[:cut]) and _has_vowel_letter(word[cut:]):
            return tuple(one + _secondary(other) for one in first[:2] for other in second[:2])
    return ()


def _has_vowel_letter(part: str) -> bool:
    return any(letter in "aeiouy" for letter in part)


def _inflected(word: str, lookup: Lookup) -> Sounds:
    if word.endswith("s") and not word.endswith("ss"):
        stems = [word[:-1], word[:-2]] if word.endswith("es") else [word[:-1]]
        if word.endswith("ies"):
            stems.append(word[:-3] + "y")
        return _with_ending(stems, _plural, lookup)
    if word.endswith("ed"):
        return _with_ending(_stems(word[:-2]), _past, lookup)
    if word.endswith("'st"):
        return _with_ending(_stems(word[:-3]), partial(_plus, ("S", "T")), lookup)
    return ()


def _suffixed(word: str, lookup: Lookup) -> Sounds:
    if not word.endswith(_LONG_SUFFIXES_FIRST):
        return ()
    for suffix in _LONG_SUFFIXES_FIRST:
        stem = word.removesuffix(suffix)
        if stem != word and len(stem) > 1 and _has_vowel_letter(stem):
            stems = _stems(stem) if suffix[0] in "aeiy" else [stem, stem[:-1] + "y" if stem[-1] == "i" else stem]
            closes = suffix == "y" and stem[-1] == "l" and stem[-2] not in "aeiouyl"
            if derived := _with_ending(stems, _close if closes else partial(_plus, _SUFFIXES[suffix]), lookup):
                return derived
    return ()


def pronounce_prefixed(word: str, lookup: Lookup) -> Sounds:
    """Return the pronunciations of a known word with a prefix; none for any other word."""
    if not word.startswith(_LONG_PREFIXES_FIRST):
        return ()
    for prefix in _LONG_PREFIXES_FIRST:
        stem = word.removeprefix(prefix)
        if stem != word and len(stem) > 2 and (stems := lookup(stem)):
            return tuple(_PREFIXES[prefix] + sounds for sounds in stems)
    return ()


def _with_ending(stems: list[str], ending: Callable[[Phones], Phones], lookup: Lookup) -> Sounds:
    for stem in stems:
        if len(stem) > 1 and (listed := lookup(stem)):
            return tuple(dict.fromkeys(map(ending, listed)))
    return ()


def _stems(stem: str) -> list[str]:
    """Return the words that a stem may come from, before an ending with a vowel: robb- rob, lov- love, carri- carry."""
    stems = [stem, stem + "e"]
    if len(stem) > 2 and stem[-1] == stem[-2]:
        stems.insert(0, stem[:-1])
    if stem.endswith("i"):
        stems.append(stem[:-1] + "y")
    return stems


def _plus(ending: Phones, sounds: Phones) -> Phones:
    return sounds + ending


def _close(sounds: Phones) -> Phones:
    """Return a word in -le with -y, which takes the place of a vowel: bristle, bristly."""
    return (*sounds[:-2], "L", "IY0") if sounds[-2:] == ("AH0", "L") else (*sounds, "IY0")


def _plural(sounds: Phones) -> Phones:
    if sounds[-1] in _SIBILANT:
        return (*sounds, "IH0", "Z")
    return (*sounds, "S" if sounds[-1] in _VOICELESS else "Z")


def _past(sounds: Phones) -> Phones:
    if sounds[-1] in ("T", "D"):
        return (*sounds, "IH0", "D")
    return (*sounds, "T" if sounds[-1] in _VOICELESS | _SIBILANT - {"Z", "ZH", "JH"} else "D")


@cache
def _secondary(sounds: Phones) -> Phones:
    """Return the phones with their main stress made secondary."""
    return tuple(phone[:-1] + "2" if phone[-1] == "1" else phone for phone in sounds)
