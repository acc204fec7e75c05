"""Rhyme at the ends of lines, judged as a clustering: pairs that should rhyme, and pairs that should not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from learnable.verifiers.poetry.constraints.case import PoemCase, Shares
from learnable.verifiers.poetry.forms import span
from learnable.verifiers.poetry.forms.plan import NO_RHYME
from learnable.verifiers.poetry.rhyme.mosaic import LIGHT_WORDS, NO_WORDS, find_end, list_mosaics
from learnable.verifiers.poetry.rhyme.pairs import FULL_RHYME, Bond, credit_rhyme, find_bond, is_repetition
from learnable.verifiers.poetry.rhyme.rimes import find_traits
from learnable.verifiers.poetry.sound.pronunciation import pronounce

GROUPS = 3  # other lines of its class, from which these may fall into groups that do not rhyme with each other


class Heard(NamedTuple):
    """What is heard between two words: the credit of their rhyme, what of it counts for a pass, a repetition or not."""

    credit: float
    counted: float
    repeats: bool


class RhymePair(NamedTuple):
    """Two lines by their numbers from 0, the first before the second, and what is heard between their ends."""

    first: int
    second: int
    credit: float
    counted: float
    repeats: bool


_FULL_RHYME = Heard(FULL_RHYME, FULL_RHYME, repeats=False)


@lru_cache(maxsize=65_536)
def hear_rhyme(first: str, second: str) -> Heard:
    """Return what is heard between two words.

    For a pass an imperfect rhyme counts with its credit, but only if the dictionary has both words: a rhyme with an
    unknown word is no more than likely.
    """
    credit = credit_rhyme(first, second)
    # Verse rhymes by spelling, and on syllables that only the metre stresses: slant rhymes earn less.
    counts = credit == FULL_RHYME or (credit >= 0.5 and bool(pronounce(first) and pronounce(second)))
    return Heard(credit, credit * counts, credit < FULL_RHYME and is_repetition(first, second))


@lru_cache(maxsize=65_536)
def hear_assonance(first: str, second: str) -> Heard:
    """Return what is heard where the same vowels, from the last stressed one on, are a full rhyme (Spanish verse)."""
    heard = hear_rhyme(first, second)
    if heard.repeats or heard.credit == FULL_RHYME or not first or not second:
        return heard
    return _FULL_RHYME if _vowels(first) & _vowels(second) else heard


@lru_cache(maxsize=65_536)
def hear_last_syllable(first: str, second: str) -> Heard:
    """Return what is heard where the same last syllable, stressed or not, is a full rhyme (Welsh and Irish verse)."""
    heard = hear_rhyme(first, second)
    if heard.repeats or heard.credit == FULL_RHYME or not first or not second:
        return heard
    return _FULL_RHYME if _last_rimes(first) & _last_rimes(second) else heard


def hear_pairs(ends: Sequence[str], kind: str = "full") -> list[RhymePair]:
    """Return the pairs of lines whose end words rhyme to some degree or repeat each other."""
    hear = _HEARINGS.get(kind, hear_rhyme)
    traits = [find_traits(end) for end in ends] if hear is hear_rhyme else []
    pairs = []
    reach = _find_reach(ends)
    for i, end in enumerate(ends):
        for j in range(i + 1, min(i + 1 + reach, len(ends))):
            if traits and traits[i].isdisjoint(traits[j]):
                continue
            credit, counted, repeats = hear(end, ends[j])
            if credit or repeats:
                pairs.append(RhymePair(i, j, credit, counted, repeats))
    return pairs


def _find_reach(ends: Sequence[str]) -> int:
    """Return how many lines apart two lines may be to be compared."""
    # In poems of more than 200 lines, only lines at most 40 apart are compared.
    return len(ends) if len(ends) <= 200 else 40


def hear_case(case: PoemCase) -> list[RhymePair]:
    """Return what is heard between the lines of a poem, rhymes over two words included."""
    ends, kind = list_ends(case), case.form.rhyme
    heard = hear_pairs(ends, kind)
    if kind != "full" or case.form.radif or LIGHT_WORDS.isdisjoint(ends):
        return heard
    lines = [*case.lines, *case.extra[: case.plan.size]]
    pairs = {(pair.first, pair.second): pair for pair in heard}
    mosaics = list_mosaics([NO_WORDS if line is None else find_end(line.words) for line in lines], _find_reach(ends))
    for i, j, credit in mosaics:
        if (i, j) not in pairs or pairs[i, j].credit < credit:
            known = all(pronounce(ends[index]) for index in (i, j))
            pairs[i, j] = RhymePair(i, j, credit, credit * known, repeats=False)
    return [pairs[key] for key in sorted(pairs)]


def list_ends(case: PoemCase) -> list[str]:
    """Return the end word of each line of the plan, then of the lines beyond it (at most as many as the plan has)."""
    ends = ["" if line is None else line.end for line in case.lines]
    if case.form.radif:
        tail = measure_radif(case)
        ends = [
            _word_before(case, slot, tail) if case.plan.classes[slot] != NO_RHYME else end
            for slot, end in enumerate(ends)
        ]
    return ends + [line.end for line in case.extra[: case.plan.size]]


def judge_rhyme(
    case: PoemCase, heard: Sequence[RhymePair] | None = None, unanswered: Sequence[int] | None = None
) -> Shares:
    """Compare the pairs heard with those of the plan (F1): smooth by their credit, strict by what counts for a pass.

    A full rhyme or a repetition between two classes is a fault, so one rhyme throughout does not satisfy all classes
    at once; the strict share takes any lesser rhyme between classes as a fault too, as far as it counts for a pass.
    Lines beyond the plan belong to no class. Lines without a rhyme cost more besides: a poem whose classes happen to
    rhyme must not gain by losing a rhyme. `heard` and `unanswered` spare the work where they are known.
    """
    plan, size = case.plan, case.plan.size
    heard = hear_case(case) if heard is None else heard
    whole = case.form.repeat is None
    credit = strict = stray = strict_stray = 0.0
    for i, j, earned, counted, repeats in heard:
        if (i, j) in plan.grouped:
            continue
        if j < size and plan.classes[i] == plan.classes[j] != NO_RHYME:
            excused = (i, j) in plan.excused
            credit += FULL_RHYME if excused else earned
            strict += FULL_RHYME if excused else counted
        # Farther apart than eight lines, and in another stanza, a rhyme that returns is no fault.
        elif whole or j >= size or j - i <= 8 or plan.stanza_of[i] == plan.stanza_of[j]:
            # A full rhyme between two classes counts by half against a poem: most are chance.
            stray += 1.0 if repeats else 0.5 * (earned == FULL_RHYME)
            strict_stray += FULL_RHYME if repeats else counted
    share = size / case.size
    unanswered = find_unanswered(case, heard) if unanswered is None else unanswered
    alone = len(unanswered) / sum(map(bool, plan.mates))
    smooth = share * _f1(credit, plan.wanted, stray) * (1 - alone / 2)
    return Shares(smooth, share * _f1(strict, plan.wanted, strict_stray))


def find_unanswered(case: PoemCase, heard: Sequence[RhymePair]) -> list[int]:
    """Return the lines that should rhyme but do not, not even weakly or in an older pronunciation.

    A line with the end word of another answers that line only where the form allows it. Where the lines of one class
    fall into groups that rhyme only among themselves, as an octave abba cddc does for abba abba, the largest group is
    the class and the lines of the others are unanswered.
    """
    plan = case.plan
    answered: set[int] = set()
    bonds: list[tuple[int, int]] = []  # between lines of classes that are large enough to fall into groups
    for i, j, earned, _, repeats in heard:
        may_return = repeats and ((i, j) in plan.excused or (i, j) in plan.grouped)
        if j < plan.size and plan.classes[i] == plan.classes[j] and (earned or may_return):
            answered.update((i, j))
            if len(plan.mates[i]) >= GROUPS:
                bonds.append((i, j))
    lonely = [slot for slot, mates in enumerate(plan.mates) if mates and slot not in answered]
    if lonely:
        ends = list_ends(case)
        opened = [(slot, find_open_mate(ends, slot, plan.mates[slot])) for slot in lonely]
        bonds += [(slot, mate) for slot, mate in opened if mate is not None and len(plan.mates[slot]) >= GROUPS]
        lonely = [slot for slot, mate in opened if mate is None]
    return sorted({*lonely, *find_outer_groups(bonds, plan.classes)}) if bonds else lonely


def find_open_mate(ends: Sequence[str], slot: int, mates: Sequence[int]) -> int | None:
    """Return the first of a line's mates that rhymes with it as vowels at the very end once did, or None."""
    return next((mate for mate in mates if find_bond(ends[slot], ends[mate]) is Bond.OPEN), None)


def find_outer_groups(bonds: Sequence[tuple[int, int]], classes: Sequence[int]) -> set[int]:
    """Return the lines that rhyme with others of their class, but not with those of its largest group.

    >>> sorted(find_outer_groups([(0, 3), (4, 7), (0, 8)], [5, 6, 6, 5, 5, 6, 6, 5, 5]))
    [4, 7]
    """
    group = {line: line for bond in bonds for line in bond}
    for one, other in bonds:
        if group[one] != group[other]:
            low, high = sorted((group[one], group[other]))
            group = {line: low if name == high else name for line, name in group.items()}
    sizes = Counter(group.values())
    largest: dict[int, int] = {}  # of each class
    for line in sorted(group):
        best = largest.setdefault(classes[line], group[line])
        if sizes[group[line]] > sizes[best]:
            largest[classes[line]] = group[line]
    return {line for line, name in group.items() if name != largest[classes[line]]}


def judge_unrhymed(case: PoemCase) -> Shares:
    """Share of lines that rhyme with none of the three lines before them."""
    ends = list_ends(case)
    rhymed = {
        pair.second
        for pair in hear_pairs(ends)
        if pair.second - pair.first <= 3 and (pair.credit == FULL_RHYME or pair.repeats)
    }
    return Shares.both(max(0.0, 1 - 2 * len(rhymed) / max(1, len(ends))))


def judge_runs(case: PoemCase) -> Shares:
    """Share of lines in a run on one rhyme, where the run has the wanted number of lines."""
    low, high = span(case.form.runs or (2, 8))
    ends = [line.end for line in case.poem.lines]
    lengths, current = [], 1
    for one, other in pairwise(ends):
        if credit_rhyme(one, other) == FULL_RHYME:
            current += 1
        else:
            lengths.append(current)
            current = 1
    lengths.append(current)
    share = sum(length for length in lengths if low <= length <= high) / case.size if len(lengths) > 1 else 0.0
    return Shares.both(share)


def measure_radif(case: PoemCase) -> int:
    """Return how many closing words all rhymed lines have in common."""
    rhymed = [line.words for line, name in zip(case.lines, case.plan.classes, strict=True) if line and name != NO_RHYME]
    length = 0
    while rhymed and all(len(words) > length + 1 for words in rhymed):
        if len({words[-length - 1] for words in rhymed}) > 1:
            break
        length += 1
    return length


def judge_radif(case: PoemCase) -> Shares:
    """Share of rhymed lines that end in the most common end word."""
    ends = [line.end for line, name in zip(case.lines, case.plan.classes, strict=True) if line and name != NO_RHYME]
    wanted = sum(name != NO_RHYME for name in case.plan.classes)
    common = max((ends.count(end) for end in ends), default=0)
    return Shares.both((common if common > 1 else 0) / max(1, wanted))


def _word_before(case: PoemCase, slot: int, tail: int) -> str:
    line = case.lines[slot]
    return "" if line is None or len(line.words) <= tail else line.words[-tail - 1]


@lru_cache(maxsize=65_536)
def _vowels(word: str) -> frozenset[tuple[str, ...]]:
    """Return the vowels of a word from its last stressed one on, without stress, in each way to say it."""
    vowels = set()
    for phones in pronounce(word):
        stressed = [index for index, phone in enumerate(phones) if phone[-1] in "12"] or [0]
        vowels.add(tuple(phone[:-1] for phone in phones[stressed[-1] :] if phone[-1].isdigit()))
    return frozenset(vowels)


@lru_cache(maxsize=65_536)
def _last_rimes(word: str) -> frozenset[tuple[str, ...]]:
    """Return the sounds of a word from its last vowel on, without stress, in each way to say it."""
    rimes = set()
    for phones in pronounce(word):
        last = max((index for index, phone in enumerate(phones) if phone[-1].isdigit()), default=0)
        rimes.add(tuple(phone.rstrip("012") for phone in phones[last:]))
    return frozenset(rimes)


def _f1(hits: float, wanted: int, stray: float) -> float:
    return 2 * hits / (wanted + hits + stray) if wanted else 1.0


_HEARINGS = {"assonance": hear_assonance, "last": hear_last_syllable}
