"""Letters that spell a text down the poem, and letters that must or must not stand in it."""

from __future__ import annotations

from learnable.data.forms.words import word_list
from learnable.verifiers.poetry.constraints.case import Case, Result, near
from learnable.verifiers.poetry.gate import is_known
from learnable.verifiers.poetry.poem import PoemLine

VOWELS = frozenset("aeiou")


def letters(case: Case) -> Result:
    """Share of lines with the right letter in each of the form's places."""
    shares = [_spelled(case, place, text.lower()) for place, text in case.form.letters]
    return sum(smooth for smooth, _ in shares) / len(shares), min(strict for _, strict in shares)


def without(case: Case) -> Result:
    """Share of lines without the letter."""
    banned = case.form.without.lower()
    return case.per_line([float(banned not in line.text.lower()) for line in case.said()])


def vowel(case: Case) -> Result:
    """Share of lines whose vowels are the one allowed, and that have one."""
    others = VOWELS - {case.form.vowel.lower()}
    credits = [
        float(others.isdisjoint(line.text.lower()) and case.form.vowel.lower() in line.text.lower())
        for line in case.said()
    ]
    return case.per_line(credits)


def budget(case: Case) -> Result:
    """Share of the budgets that are kept: so many of a letter, or of vowels, in all."""
    text = "".join(line.text for line in case.poem.lines).lower()
    credits = []
    for what, wanted in case.form.budget:
        counted = VOWELS if what == "vowels" else {what.lower()}
        credits.append(near(sum(letter in counted for letter in text), wanted))
    return sum(credits) / len(credits), sum(credit == 1.0 for credit in credits) / len(credits)


def _spelled(case: Case, place: str, text: str) -> Result:
    hits = [
        float(line is not None and _has(place, line, text, index))
        for index, (line, _) in enumerate(zip(case.lines, text, strict=False))
    ]
    size = max(len(text), len(case.poem.lines))
    return sum(hits) / size, sum(hits) / size


def _has(place: str, line: PoemLine, text: str, index: int) -> bool:
    if not line.words:
        return False
    letter, first, last = text[index], line.words[0], line.words[-1]
    if place == "first":
        return first[0] == letter
    if place == "first_word":
        return first[0] == letter and (
            is_known(first) or first == letter in "aio" or first in word_list("rare_initials")
        )
    if place == "last":
        return last.rstrip("'")[-1:] == letter
    if place == "end_word":
        return last[0] == letter
    return spine_holds(line.text, letter, text[index + 1 : index + 2], is_first=index == 0)


def spine_holds(text: str, letter: str, following: str, is_first: bool = False) -> bool:
    """Whether a mesostic's line holds its spine letter: as its only capital, inside the line.

    Between one spine letter and the next the next must not stand (Cage's 50 % rule): not after this line's capital, nor its
    own letter before it, unless the line is the first.

    >>> spine_holds("the soft Rain goes", "r", "a"), spine_holds("soft pRint", "r", "a"), spine_holds("roving wRen", "r", "")
    (False, True, False)
    """
    capitals = [index for index, sign in enumerate(text) if sign.isupper()]
    if len(capitals) != 1 or text[capitals[0]].lower() != letter:
        return False
    place = capitals[0]
    inside = any(sign.isalpha() for sign in text[:place]) and any(sign.isalpha() for sign in text[place + 1 :])
    early = not is_first and letter in text[:place].lower()
    return inside and not early and (not following or following not in text[place + 1 :].lower())
