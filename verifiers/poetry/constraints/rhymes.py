"""Rhyme at the ends of lines, judged as a clustering: pairs that should rhyme, and pairs that should not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from learnable.data.forms import span
from learnable.data.forms.plan import NO_RHYME
from learnable.verifiers.poetry.constraints.case import Case, Result
from learnable.verifiers.poetry.rhyme.pairs import FULL, Bond, bond, repeats, rhyme_credit, traits
from learnable.verifiers.poetry.sound.pronunciation import pronunciations

WINDOW = 8  # lines; beyond it, and in another stanza, a rhyme that returns is no fault
Heard = tuple[float, float, bool]  # how well two words rhyme, what of it counts for a pass, whether they sound the same
Pair = tuple[int, int, float, float, bool]  # two lines, and what is heard between their ends
MOST_ENDS, NEAR_ENOUGH = 200, 40  # in longer poems only lines at most so far apart are compared
CROSSED = 0.5  # what a full rhyme between two classes counts against a poem: most are chance
LEAST_FOR_PASS = 0.5  # verse rhymes to the eye, and on syllables that only the metre stresses; slant is below


@lru_cache(maxsize=65_536)
def sound(first: str, second: str) -> Heard:
    """Return what is heard between two words.

    For a pass an imperfect rhyme counts as far as it earns, if the dictionary has both words: what seems to rhyme with a
    word that nobody knows does not count.
    """
    credit = rhyme_credit(first, second)
    counts = credit == FULL or (credit >= LEAST_FOR_PASS and bool(pronunciations(first) and pronunciations(second)))
    return credit, credit * counts, credit < FULL and repeats(first, second)


@lru_cache(maxsize=65_536)
def assonance(first: str, second: str) -> Heard:
    """Return 1 where the vowels from the last stressed one on agree, as Spanish verse asks; no word with itself."""
    heard = sound(first, second)
    if heard[2] or heard[0] == FULL or not first or not second:
        return heard
    return (FULL, FULL, False) if _vowels(first) & _vowels(second) else heard


@lru_cache(maxsize=65_536)
def last_syllable(first: str, second: str) -> Heard:
    """Return 1 where the last syllables rhyme, stressed or not, as Welsh and Irish verse asks; no word with itself."""
    heard = sound(first, second)
    if heard[2] or heard[0] == FULL or not first or not second:
        return heard
    return (FULL, FULL, False) if _last_rimes(first) & _last_rimes(second) else heard


def heard_pairs(ends: Sequence[str], kind: str = "full") -> list[Pair]:
    """Return the pairs of lines whose end words rhyme at all or sound the same: few, whatever the scheme."""
    hear = _HEARINGS.get(kind, sound)
    marks = [traits(end) for end in ends] if hear is sound else []
    found = []
    far = len(ends) if len(ends) <= MOST_ENDS else NEAR_ENOUGH
    for i, end in enumerate(ends):
        for j in range(i + 1, min(i + 1 + far, len(ends))):
            if marks and marks[i].isdisjoint(marks[j]):
                continue
            heard = hear(end, ends[j])
            if heard[0] or heard[2]:
                found.append((i, j, *heard))
    return found


def ends_of(case: Case) -> list[str]:
    """Return the end word of every line of the plan, then of every line beyond it (no more than the plan has)."""
    ends = ["" if line is None else line.end for line in case.lines]
    if case.form.radif:
        tail = radif_length(case)
        ends = [
            _before(case, slot, tail) if case.plan.classes[slot] != NO_RHYME else end for slot, end in enumerate(ends)
        ]
    return ends + [line.end for line in case.extra[: case.plan.size]]


def rhyme(case: Case, heard: Sequence[Pair] | None = None) -> Result:
    """Compare the pairs heard with those the plan asks for (F1), smoothly and by what counts for a pass.

    A full rhyme or a repetition between classes is a rhyme found where there should be none, so one rhyme throughout
    does not satisfy every class at once; for the pass a lesser rhyme is one too, as far as it would count. Lines beyond the
    plan belong to no class. Lines without an answer cost besides: two classes that happen to rhyme must not gain by losing one.
    """
    plan, size = case.plan, case.plan.size
    heard = heard_pairs(ends_of(case), case.form.rhyme) if heard is None else heard
    whole = case.form.repeat is None
    credit = strict = stray = strict_stray = 0.0
    for i, j, found, counts, same in heard:
        if (i, j) in plan.grouped:
            continue
        if j < size and plan.classes[i] == plan.classes[j] != NO_RHYME:
            excused = (i, j) in plan.excused
            credit += FULL if excused else found
            strict += FULL if excused else counts
        elif whole or j >= size or j - i <= WINDOW or plan.stanza_of[i] == plan.stanza_of[j]:
            stray += 1.0 if same else CROSSED * (found == FULL)
            strict_stray += FULL if same else counts
    share = size / case.size
    alone = len(unanswered(case, heard)) / sum(map(bool, plan.mates))
    smooth = share * _f1(credit, plan.wanted, stray) * (1 - alone / 2)
    return smooth, share * _f1(strict, plan.wanted, strict_stray)


def unanswered(case: Case, heard: Sequence[Pair]) -> list[int]:
    """Return the lines that should rhyme and do so with no line of their class, not even faintly or as verse once did.

    A line that says another's end word again answers it only where the form allows that.
    """
    plan, ends = case.plan, ends_of(case)
    answered: set[int] = set()
    for i, j, found, _, same in heard:
        may_return = same and ((i, j) in plan.excused or (i, j) in plan.grouped)
        if j < plan.size and plan.classes[i] == plan.classes[j] and (found or may_return):
            answered.update((i, j))
    return [
        slot
        for slot, mates in enumerate(plan.mates)
        if mates and slot not in answered and not any(bond(ends[slot], ends[mate]) is Bond.OPEN for mate in mates)
    ]


def unrhymed(case: Case) -> Result:
    """Share of lines that rhyme with none of the three lines before them."""
    ends = ends_of(case)
    rhymed = {j for i, j, found, _, same in heard_pairs(ends) if j - i <= 3 and (found == FULL or same)}
    share = max(0.0, 1 - 2 * len(rhymed) / max(1, len(ends)))
    return share, share


def runs(case: Case) -> Result:
    """Share of lines that stand in a run on one rhyme of the length asked for."""
    low, high = span(case.form.runs or (2, 8))
    ends = [line.end for line in case.poem.lines]
    lengths, current = [], 1
    for one, other in pairwise(ends):
        if rhyme_credit(one, other) == FULL:
            current += 1
        else:
            lengths.append(current)
            current = 1
    lengths.append(current)
    share = sum(length for length in lengths if low <= length <= high) / case.size if len(lengths) > 1 else 0.0
    return share, share


def radif_length(case: Case) -> int:
    """Return how many closing words all rhymed lines share."""
    rhymed = [line.words for line, name in zip(case.lines, case.plan.classes, strict=True) if line and name != NO_RHYME]
    length = 0
    while rhymed and all(len(words) > length + 1 for words in rhymed):
        if len({words[-length - 1] for words in rhymed}) > 1:
            break
        length += 1
    return length


def radif(case: Case) -> Result:
    """Share of rhymed lines that end in the most common end word."""
    ends = [line.end for line, name in zip(case.lines, case.plan.classes, strict=True) if line and name != NO_RHYME]
    wanted = sum(name != NO_RHYME for name in case.plan.classes)
    common = max((ends.count(end) for end in ends), default=0)
    share = (common if common > 1 else 0) / max(1, wanted)
    return share, share


def _before(case: Case, slot: int, tail: int) -> str:
    line = case.lines[slot]
    return "" if line is None or len(line.words) <= tail else line.words[-tail - 1]


@lru_cache(maxsize=65_536)
def _vowels(word: str) -> frozenset[tuple[str, ...]]:
    found = set()
    for phones in pronunciations(word):
        stressed = [index for index, phone in enumerate(phones) if phone[-1] in "12"] or [0]
        found.add(tuple(phone[:-1] for phone in phones[stressed[-1] :] if phone[-1].isdigit()))
    return frozenset(found)


@lru_cache(maxsize=65_536)
def _last_rimes(word: str) -> frozenset[tuple[str, ...]]:
    """Return the sounds of a word from its last vowel on, without stress, in each way to say it."""
    found = set()
    for phones in pronunciations(word):
        last = max((index for index, phone in enumerate(phones) if phone[-1].isdigit()), default=0)
        found.add(tuple(phone.rstrip("012") for phone in phones[last:]))
    return frozenset(found)


def _f1(hits: float, wanted: int, stray: float) -> float:
    return 2 * hits / (wanted + hits + stray) if wanted else 1.0


_HEARINGS = {"assonance": assonance, "last": last_syllable}
