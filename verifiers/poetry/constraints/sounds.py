"""What is heard inside lines: metre, stress patterns, rhymes at a given syllable, alliteration."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import product

from learnable.data.forms import Count, span
from learnable.data.forms.coordinates import parse_link, place_pairs
from learnable.verifiers.poetry.constraints.case import Case, Result
from learnable.verifiers.poetry.metre.scansion import metre_credit
from learnable.verifiers.poetry.poem import PoemLine
from learnable.verifiers.poetry.rhyme.pairs import FULL, rhyme_credit
from learnable.verifiers.poetry.sound.pronunciation import pronunciations, syllable_counts

PER_FOOT = {"iambic": 2, "trochaic": 2, "anapaestic": 3, "amphibrachic": 3, "dactylic": 3}
METRICAL = 0.6  # the credit from which a line counts as being in its metre
_SILENT = re.compile(r"^(?:kn|gn|wr|ps)")


def metre(case: Case) -> Result:
    """Mean of the lines' fit to the metre, and the share of lines that are in it."""
    credits = [_line_metre(case, slot) for slot in range(case.plan.size)]
    metrical = sum(credit >= METRICAL for credit in credits)
    return sum(credits) / case.size, metrical / case.size


def template(case: Case) -> Result:
    """Mean share of syllables whose stress fits the pattern of their line, and the share of lines that fit by nine tenths."""
    patterns = case.form.template
    credits = [
        0.0 if line is None else template_credit(line.words, patterns[index % len(patterns)])
        for index, line in enumerate(case.lines)
    ]
    return sum(credits) / case.size, sum(credit >= 0.8 for credit in credits) / case.size


@lru_cache(maxsize=65_536)
def template_credit(words: tuple[str, ...], pattern: str) -> float:
    """Return the share of a pattern's places that the words can fill: `-` stressed, `u` not, `x` either.

    A word of one syllable may be either. Surplus and missing syllables count as misses.
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


def links(case: Case) -> Result:
    """Share of the inner rhymes asked for that are there."""
    smooth, strict, wanted = 0.0, 0, 0
    for rule in case.form.links:
        left, right = parse_link(rule)
        for i, j in place_pairs(left, right, case.plan.stanzas):
            if i == j and left.syllable == right.syllable:
                continue
            wanted += 1
            pairs = product(words_at(case.lines[i], left.syllable), words_at(case.lines[j], right.syllable))
            found = max((rhyme_credit(one, other) for one, other in pairs), default=0.0)
            smooth += found
            strict += found == FULL
    return (smooth / wanted, strict / wanted) if wanted else (1.0, 1.0)


def alliteration(case: Case) -> Result:
    """Share of lines with enough different words that begin with one sound."""
    least = case.form.alliteration
    credits = []
    for line in case.said():
        sounds = Counter(_onset(word) for word in set(line.words) if len(word) > 2)
        credits.append(min(1.0, max(sounds.values(), default=0) / least))
    return case.per_line(credits)


def words_at(line: PoemLine | None, syllables: Count | None) -> list[str]:
    """Return the words that end at, or hold, one of these syllables (the last word for None), read at their longest."""
    if line is None or not line.words:
        return []
    if syllables is None:
        return [line.words[-1]]
    low, high = span(syllables)
    found, reached = [], 0
    for word in line.words:
        start, reached = reached + 1, reached + max(syllable_counts(word))
        if start <= high and reached >= low:
            found.append(word)
    return found


def _line_metre(case: Case, slot: int) -> float:
    line = case.lines[slot]
    if line is None:
        return 0.0
    feet = case.plan.feet[slot] if case.plan.feet else None
    if feet is None and case.plan.syllables and (wanted := case.plan.syllables[slot]) is not None:
        low, high = span(wanted)
        feet = max(1, round((low + high) / 2 / PER_FOOT[case.form.metre]))
    return metre_credit(line.words, case.form.metre, feet or max(1, round(line.counts[0] / PER_FOOT[case.form.metre])))


@lru_cache(maxsize=65_536)
def _stresses(word: str) -> frozenset[str]:
    """Return the stress patterns of a word: digits of CMUdict, or `x` for what may be either."""
    found = {"".join(phone[-1] for phone in phones if phone[-1].isdigit()) for phones in pronunciations(word)}
    found |= {"x" * count for count in syllable_counts(word)} if not found else set()
    return frozenset("x" if len(one) == 1 else one for one in found) or frozenset({"x"})


def _fits(stress: str, place: str) -> bool:
    return "x" in (stress, place) or stress == "2" or (stress == "1") == (place == "-")


@lru_cache(maxsize=65_536)
def _onset(word: str) -> str:
    known = pronunciations(word)
    return known[0][0].rstrip("012") if known else _SILENT.sub(lambda match: match[0][-1], word)[:1].upper()
