"""Sounds inside lines: metre, stress patterns, rhymes at given syllables, alliteration."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import product

from learnable.verifiers.poetry.constraints.case import PoemCase, Shares
from learnable.verifiers.poetry.forms import Count, span
from learnable.verifiers.poetry.forms.coordinates import parse_link, place_pairs
from learnable.verifiers.poetry.metre.fit import PER_FOOT, MetreReading, read_metre
from learnable.verifiers.poetry.poem import PoemLine
from learnable.verifiers.poetry.rhyme.pairs import FULL_RHYME, credit_rhyme
from learnable.verifiers.poetry.sound.pronunciation import find_syllable_counts, pronounce

_LIGHT = frozenset("it me us him her them you thee is in on at to of not be".split())  # as the end of "found it"
_SILENT = re.compile(r"^(?:kn|gn|wr|ps)")


def judge_metre(case: PoemCase) -> Shares:
    """Mean credit of the lines for their metre, and how surely the poem as a whole is in it."""
    reading = read_case(case)
    return Shares(sum(reading.credits) / case.size, reading.strict * len(case.placed) / case.size)


def read_case(case: PoemCase) -> MetreReading:
    """Return how the lines of the plan fit the form's metre."""
    feet = tuple(find_feet(case, slot) for slot in range(case.plan.size))
    lines = tuple(None if line is None else (line.text, line.words) for line in case.lines)
    return read_metre(lines, case.form.metre, feet)


def judge_template(case: PoemCase) -> Shares:
    """Mean share of syllables whose stress fits the pattern of their line, and the share of lines that fit by .8."""
    patterns = case.form.template
    credits = [
        0.0 if line is None else credit_template(line.words, patterns[index % len(patterns)])
        for index, line in enumerate(case.lines)
    ]
    return Shares(sum(credits) / case.size, sum(credit >= 0.8 for credit in credits) / case.size)


@lru_cache(maxsize=65_536)
def credit_template(words: tuple[str, ...], pattern: str) -> float:
    """Return the share of a pattern's places that the words can fill: `-` stressed, `u` unstressed, `x` either.

    A word of one syllable may be stressed or not. Syllables too many or too few count as misses.
    """
    best = {0: 0.0}
    for word in words[: len(pattern)]:
        reached: dict[int, float] = {}
        for start, hits in best.items():
            for stresses in _stresses(word):
                end = start + len(stresses)
                gain = sum(_fits(stress, place) for stress, place in zip(stresses, pattern[start:end], strict=False))
                reached[end] = max(reached.get(end, 0.0), hits + gain)
        best = reached
    return max(hits / max(len(pattern), end) for end, hits in best.items())


def judge_endings(case: PoemCase) -> Shares:
    """Share of lines that can end as the form wants: on an unstressed syllable (`f`) or on one with a beat (`m`)."""
    signs = case.form.endings
    credits = [
        float(line is not None and signs[index % len(signs)] in find_endings(line.words))
        for index, line in enumerate(case.lines)
    ]
    return case.grade_lines(credits)


@lru_cache(maxsize=65_536)
def find_endings(words: tuple[str, ...]) -> frozenset[str]:
    """Return how a line can end: `f` where its last syllable is unstressed after a stress, `m` where it has a beat.

    A last syllable two after a stress takes a beat from the metre ("memory"). A light word of one syllable after a
    stressed one makes a feminine ending too ("found it"). `x` is in every answer.

    >>> sorted(find_endings(("the", "river"))), sorted(find_endings(("alone",))), sorted(find_endings(("found", "it")))
    (['f', 'x'], ['m', 'x'], ['f', 'm', 'x'])
    """
    endings = {"x"}
    for stresses in _stresses(words[-1]) if words else ():
        if not stresses:
            endings |= find_endings(words[:-1])  # mm has no syllable
        elif stresses == "x":
            endings |= {"m", "f"} if words[-1] in _LIGHT and _may_be_stressed(words[:-1]) else {"m"}
        elif "x" in stresses:
            endings |= {"m", "f"}  # an unknown word
        elif stresses[-1] != "0":
            endings.add("m")
        else:
            endings.add("f" if stresses[-2] != "0" else "m")
    return frozenset(endings)


def _may_be_stressed(words: tuple[str, ...]) -> bool:
    return bool(words) and words[-1] not in _LIGHT and "m" in find_endings(words)


def judge_links(case: PoemCase) -> Shares:
    """Share of the form's inner rhymes that the poem has."""
    smooth, strict, wanted = 0.0, 0, 0
    for rule in case.form.links:
        left, right = parse_link(rule)
        for i, j in place_pairs(left, right, case.plan.stanzas):
            if i == j and left.syllable == right.syllable:
                continue
            wanted += 1
            pairs = product(find_words_at(case.lines[i], left.syllable), find_words_at(case.lines[j], right.syllable))
            credit = max((credit_rhyme(one, other) for one, other in pairs), default=0.0)
            smooth += credit
            strict += credit == FULL_RHYME
    return Shares(smooth / wanted, strict / wanted) if wanted else Shares.both(1.0)


def judge_alliteration(case: PoemCase) -> Shares:
    """Share of lines with enough different words that begin with the same sound."""
    least = case.form.alliteration
    credits = []
    for line in case.placed:
        sounds = Counter(_onset(word) for word in set(line.words) if len(word) > 2)
        credits.append(min(1.0, max(sounds.values(), default=0) / least))
    return case.grade_lines(credits)


def find_words_at(line: PoemLine | None, syllables: Count | None) -> list[str]:
    """Return the words that have one of these syllables of the line; each word counts with its most syllables.

    `syllables` None stands for the last word.
    """
    if line is None or not line.words:
        return []
    if syllables is None:
        return [line.words[-1]]
    low, high = span(syllables)
    there, reached = [], 0
    for word in line.words:
        start, reached = reached + 1, reached + max(find_syllable_counts(word))
        if start <= high and reached >= low:
            there.append(word)
    return there


def find_feet(case: PoemCase, slot: int) -> int | None:
    """Return the feet that a line should have, or None where its length may vary by a foot and more."""
    feet = case.plan.feet[slot] if case.plan.feet else None
    wanted = case.plan.syllables[slot] if case.plan.syllables else None
    if wanted is None:
        return feet
    size, (low, high) = PER_FOOT[case.form.metre], span(wanted)
    if feet is None:
        return round(low / size) if high - low < size else None
    return feet if low - size < feet * size < high + size else None


@lru_cache(maxsize=65_536)
def _stresses(word: str) -> frozenset[str]:
    """Return the stress patterns of a word: CMUdict's digits, or `x` for a syllable that may be stressed or not."""
    patterns = {"".join(phone[-1] for phone in phones if phone[-1].isdigit()) for phones in pronounce(word)}
    patterns |= {"x" * count for count in find_syllable_counts(word)} if not patterns else set()
    return frozenset("x" if len(one) == 1 else one for one in patterns) or frozenset({"x"})


def _fits(stress: str, place: str) -> bool:
    return "x" in (stress, place) or stress == "2" or (stress == "1") == (place == "-")


@lru_cache(maxsize=65_536)
def _onset(word: str) -> str:
    known = pronounce(word)
    return known[0][0].rstrip("012") if known else _SILENT.sub(lambda match: match[0][-1], word)[:1].upper()
