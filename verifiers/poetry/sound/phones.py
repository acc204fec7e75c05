"""ARPAbet phones, stored as one character each, so that a dictionary of them stays small."""

from __future__ import annotations

from functools import lru_cache

Phones = tuple[str, ...]

CONSONANTS = tuple("B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH".split())
VOWELS = tuple("AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW".split())
_SYMBOLS = (*CONSONANTS, *(vowel + stress for stress in "012" for vowel in VOWELS))
_CODES = {symbol: chr(ord("!") + index) for index, symbol in enumerate(_SYMBOLS)}
_NAMES = {code: symbol for symbol, code in _CODES.items()}
# CMUdict leaves the stress out of a few vowels.
_CODES |= {vowel: _CODES[vowel + "0"] for vowel in VOWELS}


def encode(phones: str) -> str:
    """Return phones such as `"M UW1 N"` as one character each.

    Raises `KeyError` for a phone that is not in ARPAbet.
    """
    return "".join(_CODES[phone] for phone in phones.split())


@lru_cache(maxsize=131_072)
def decode(codes: str) -> Phones:
    """Return the ARPAbet phones of an encoded pronunciation.

    >>> decode(encode("M UW1 N"))
    ('M', 'UW1', 'N')
    """
    return tuple(map(_NAMES.__getitem__, codes))


def read_stresses(phones: Phones) -> str:
    """Return one stress mark for each syllable: 1 main, 2 secondary, 0 none.

    >>> read_stresses(("AH0", "B", "AH1", "V"))
    '01'
    """
    return "".join(phone[-1] for phone in phones if phone[-1].isdigit())


@lru_cache(maxsize=131_072)
def drop_stresses(phones: Phones) -> Phones:
    """Return the phones without their stress marks."""
    return tuple(phone.rstrip("012") for phone in phones)


def find_last_rime(phones: Phones) -> Phones:
    """Return the sounds from the last vowel on, without stress marks."""
    for index in range(len(phones) - 1, -1, -1):
        if phones[index][-1] in "012":
            return drop_stresses(phones[index:])
    return ()
