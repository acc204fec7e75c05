"""Letters: those that spell a text down the poem, those that must or must not be there, and palindromes."""

from __future__ import annotations

from collections.abc import Sequence

from learnable.verifiers.poetry.constraints.case import PoemCase, Shares, credit_count
from learnable.verifiers.poetry.forms.words import word_list
from learnable.verifiers.poetry.gate import is_known
from learnable.verifiers.poetry.poem import PoemLine

VOWEL_LETTERS = frozenset("aeiou")


def judge_letters(case: PoemCase) -> Shares:
    """Share of lines with the right letter, for each of the places in which the form spells a text."""
    shares = [_spelled_share(case, place, text.lower()) for place, text in case.form.letters]
    return Shares(sum(shares) / len(shares), min(shares))


def judge_without(case: PoemCase) -> Shares:
    """Share of lines without the banned letter."""
    banned = case.form.without.lower()
    return case.grade_lines([float(banned not in line.text.lower()) for line in case.placed])


def judge_vowel(case: PoemCase) -> Shares:
    """Share of lines that have the allowed vowel and no other."""
    others = VOWEL_LETTERS - {case.form.vowel.lower()}
    credits = [
        float(others.isdisjoint(line.text.lower()) and case.form.vowel.lower() in line.text.lower())
        for line in case.placed
    ]
    return case.grade_lines(credits)


def judge_budget(case: PoemCase) -> Shares:
    """Share of the budgets that are kept: a number of times that a letter, or any vowel, occurs in the poem."""
    text = "".join(line.text for line in case.poem.lines).lower()
    credits = []
    for what, wanted in case.form.budget:
        counted = VOWEL_LETTERS if what == "vowels" else {what.lower()}
        credits.append(credit_count(sum(letter in counted for letter in text), wanted))
    return Shares(sum(credits) / len(credits), sum(credit == 1.0 for credit in credits) / len(credits))


def _spelled_share(case: PoemCase, place: str, text: str) -> float:
    hits = [
        float(line is not None and _has_letter(place, line, text, index))
        for index, (line, _) in enumerate(zip(case.lines, text, strict=False))
    ]
    return sum(hits) / max(len(text), len(case.poem.lines))


def _has_letter(place: str, line: PoemLine, text: str, index: int) -> bool:
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
    """Whether a mesostic's line has its spine letter: as its only capital, and inside the line.

    Between two spine letters the second must not occur (Cage's 50 % rule). So the line must not have `following`
    after its capital nor, unless it is the first line, its own letter before the capital.

    >>> spine_holds("the soft Rain goes", "r", "a"), spine_holds("soft pRint", "r", "a")
    (False, True)
    >>> spine_holds("roving wRen", "r", "")
    False
    """
    capitals = [index for index, sign in enumerate(text) if sign.isupper()]
    if len(capitals) != 1 or text[capitals[0]].lower() != letter:
        return False
    place = capitals[0]
    inside = any(sign.isalpha() for sign in text[:place]) and any(sign.isalpha() for sign in text[place + 1 :])
    early = not is_first and letter in text[:place].lower()
    return inside and not early and (not following or following not in text[place + 1 :].lower())


def judge_palindrome(case: PoemCase) -> Shares:
    """How far each line, or the whole poem, reads the same backwards, by its letters or by its words."""
    kind = case.form.palindrome
    if kind == "poem":
        return Shares.both(measure_symmetry([word for line in case.poem.lines for word in line.words]))
    credits = []
    for line in case.placed:
        letters = [sign for word in line.words for sign in word if sign.isalpha()]
        credits.append(measure_symmetry(letters if kind == "letters" else line.words))
    return case.grade_lines(credits)


def measure_symmetry(signs: Sequence[str]) -> float:
    """Return the share of signs that equal their mirror image; 0 where there are fewer than three different signs.

    >>> measure_symmetry("level"), measure_symmetry("lever"), measure_symmetry("aaa")
    (1.0, 0.5, 0.0)
    """
    pairs = len(signs) // 2
    same = sum(signs[index] == signs[-1 - index] for index in range(pairs))
    return same / pairs if pairs and len(set(signs)) > 2 else 0.0
