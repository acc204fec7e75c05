"""Numbers in English words: whole ones, dozens, and simple fractions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

MAX_WORDS_BEHIND = 3  # of a text that spells out a number and says hardly more

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
_UNITS += "sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORTH = {word: value for value, word in enumerate(_UNITS)} | {word: 10 * n for n, word in enumerate(_TENS, start=2)}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
SPELLED_NUMBER = rf"\b(?:({'|'.join(_TENS)})(?:[\s-]+({'|'.join(_UNITS[1:10])})\b)?|({'|'.join(_UNITS)})\b)"
_SPELLED = re.compile(SPELLED_NUMBER, re.IGNORECASE)
_WORD = rf"(?:{'|'.join((*_WORTH, *_SCALES, *(f'{part}s?' for part in _PARTS)))}|hundred|dozen|halves|an?|and)\b"
_WORDS = re.compile(rf"(?:(?P<sign>minus|negative)\s+)?(?P<words>{_WORD}(?:[\s,-]+{_WORD})*)", re.IGNORECASE)
_GROUP = re.compile(
    rf"(?:(?P<hundreds>a|{'|'.join(_UNITS[1:])}) hundred (?:and (?=.))?)?"
    rf"(?:(?P<tens>{'|'.join(_TENS)}) (?:(?P<ones>{'|'.join(_UNITS[1:10])}) )?|"
    rf"(?P<units>{'|'.join(_UNITS)}|a(?= dozen)) )?"
    r"(?P<dozen>dozen )?"
)
_OF_OTHERS = re.compile(r"\b(?:of|or|hundreds|thousands|millions|dozens)\b", re.IGNORECASE)


def write_digits(text: str) -> str:
    """Return the text with digits for its numbers in words, up to ninety-nine.

    >>> write_digits("Twenty-one apples, or two")
    '21 apples, or 2'
    """
    return _SPELLED.sub(lambda match: str(sum(_WORTH[word.lower()] for word in match.groups() if word)), text)


def write_numbers(text: str) -> str:
    """Return the text with digits for its numbers in words; "one" alone is none.

    >>> write_numbers("This one has one dozen eggs in two hundred and five boxes")
    'This one has 12 eggs in 205 boxes'
    """
    written, end = [], 0
    for word in re.finditer(r"\b[a-z]", text, re.IGNORECASE):
        spelled = open_spelled(text[word.start() :]) if word.start() >= end else None
        if spelled and spelled[0] != 1:
            written += [text[end : word.start()], str(spelled[0])]
            end = word.start() + spelled[1]
    return "".join([*written, text[end:]])


def open_spelled(text: str) -> tuple[Fraction, int] | None:
    """Return the number in words that a text opens with, and where it ends, None for a part of a longer phrase.

    >>> open_spelled("two hundred pears"), open_spelled("two of the pears")
    ((Fraction(200, 1), 11), None)
    """
    match = _WORDS.match(text)
    if match is None:
        return None
    phrase = re.sub(r"(?:[\s,-]+(?:an?|and))+\Z", "", match["words"], flags=re.IGNORECASE)
    end = match.start("words") + len(phrase)
    value = _read(re.split(r"[\s,-]+", phrase.lower()))
    if value is None or _OF_OTHERS.match(text[end:].lstrip(" -")):
        return None
    return (-value if match["sign"] else value), end


def read_spelled(text: str) -> Fraction | None:
    """Return the number that a text spells out, with at most three more words behind it.

    >>> [str(read_spelled(text)) for text in ("Twenty-one apples.", "one of them is three", "three and a half")]
    ['21', 'None', '7/2']
    """
    text = text.strip(" \t\n*_`.([")
    opening = open_spelled(text)
    if opening is None or _OF_OTHERS.search(text):
        return None
    rest = text[opening[1] :]
    return None if len(rest.split()) > MAX_WORDS_BEHIND or _SPELLED.search(rest) else opening[0]


def _read(words: Sequence[str]) -> Fraction | None:
    """Return what number words are worth, None where they are no number: "one two", "twenty third"."""
    part = _PARTS.get("half" if words[-1] == "halves" else words[-1].removesuffix("s"))
    if part is None:
        whole = _add_up(words)
        return None if whole is None else Fraction(whole)
    if words[-3:-1] in (["and", "a"], ["and", "one"]):
        whole = _add_up(words[:-3])
        return None if whole is None else whole + Fraction(1, part)
    if len(words) == 1:
        return Fraction(1, part) if words[0] in ("half", "quarter") else None
    count = 1 if words[:-1] == ["a"] else _add_up(words[:-1])
    return Fraction(count, part) if count is not None and (count == 1) != words[-1].endswith("s") else None


def _add_up(words: Sequence[str]) -> int | None:
    """Return the whole number that words spell out: groups below a thousand, each with its scale behind it."""
    total, group, least = 0, list[str](), 10**15
    for word in words:
        if word in _SCALES:
            count = 1 if group == ["a"] else _add_group(group)
            if not count or _SCALES[word] >= least:
                return None
            total, group, least = total + count * _SCALES[word], [], _SCALES[word]
        elif word != "and" or group:
            group.append(word)
    rest = _add_group(group) if group or not total else 0
    return None if rest is None else total + rest


def _add_group(words: Sequence[str]) -> int | None:
    """Return what the words of a number below two thousand are worth, or of some dozens."""
    match = _GROUP.fullmatch("".join(f"{word} " for word in words))
    if match is None or not words or words == ["dozen"]:
        return None
    hundreds, tens, ones, units = (1 if word == "a" else _WORTH.get(word or "", 0) for word in match.groups()[:4])
    return (100 * hundreds + tens + ones + units) * (12 if match["dozen"] else 1)
