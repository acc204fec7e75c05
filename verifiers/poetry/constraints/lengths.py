"""Lengths: syllables, words and characters of lines, stanzas and poems, and where lines and poems are divided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise, product

from learnable.verifiers.poetry.constraints.case import PoemCase, Shares, credit_count
from learnable.verifiers.poetry.forms import Count, span
from learnable.verifiers.poetry.forms.coordinates import parse_comparison, place_pairs
from learnable.verifiers.poetry.poem import PoemLine
from learnable.verifiers.poetry.sound.pronunciation import find_syllable_counts, list_line_counts

FLAT = 0.5  # credit of a poem without any blank line: it can be read by its lines, but its stanzas are not shown


def judge_syllables(case: PoemCase) -> Shares:
    """Share of lines with the wanted number of syllables; a line with a token that is not a word is out of tolerance.

    The strict share allows `pass_tolerance` where that is wider, or what `pass_syllables` says: a variation that is
    known from poems of the form earns less reward but is not a fault.
    """
    tolerance = case.form.tolerance
    smooth, strict = _grade_counts(
        case, case.plan.syllables, lambda line, wanted: credit_syllables(line, wanted, tolerance)
    )
    if case.form.pass_syllables:
        units = len(case.plan.syllables) // len(case.form.pass_syllables)
        _, strict = _grade_counts(
            case, case.form.pass_syllables * units, lambda line, wanted: credit_syllables(line, wanted, 0)
        )
    elif strict < 1.0 and (wider := case.form.pass_tolerance) > tolerance:
        _, strict = _grade_counts(case, case.plan.syllables, lambda line, wanted: credit_syllables(line, wanted, wider))
    return Shares(smooth, strict)


def judge_shorter(case: PoemCase) -> Shares:
    """Mean credit of the pairs of lines of which the form says that one is shorter.

    A line that is shorter both in its shortest reading and in its longest earns all. Otherwise lines are read as near
    as may be to the lengths that the form wants: one that is shorter by two syllables earns all, by one a half.
    """
    credits: list[float] = []
    for rule in case.form.shorter:
        for one, other in product(*parse_comparison(rule)):
            credits += [_credit_shorter(case, i, j) for i, j in place_pairs(one, other, case.plan.stanzas)]
    return Shares.both(sum(credits) / len(credits) if credits else 1.0)


def _credit_shorter(case: PoemCase, i: int, j: int) -> float:
    one, other = case.lines[i], case.lines[j]
    if one is None or other is None:
        return 0.0
    if one.counts[0] < other.counts[0] and one.counts[-1] < other.counts[-1]:
        return 1.0
    if not case.plan.syllables:
        return 0.0
    gap = _read_as(other, case.plan.syllables[j]) - _read_as(one, case.plan.syllables[i])
    return min(1.0, max(0.0, gap / 2))


def _read_as(line: PoemLine, wanted: Count | None) -> int:
    """Return the syllables of a line in the reading that is nearest to the wanted number."""
    low, high = span(wanted) if wanted is not None else (line.counts[0], line.counts[-1])
    return min(line.counts, key=lambda count: max(low - count, count - high))


def judge_words(case: PoemCase) -> Shares:
    """Share of lines with the wanted number of words."""
    return _grade_counts(
        case, case.plan.words, lambda line, wanted: credit_count(len(line.words) + line.strange, wanted)
    )


def judge_characters(case: PoemCase) -> Shares:
    """Share of lines with the wanted number of characters, spaces and punctuation included."""
    return _grade_counts(case, case.plan.characters, lambda line, wanted: credit_count(len(line.text), wanted))


def credit_syllables(line: PoemLine, wanted: Count, tolerance: int) -> float:
    """Return 1 for a line that can be read with the wanted syllables, give or take `tolerance`; else less.

    The credit falls linearly and reaches 0 at half the wanted count beyond the tolerance: a line of five syllables
    loses .4 for each syllable too many or too few.
    """
    return _credit_syllables(line.counts, line.strange, wanted, tolerance)


@lru_cache(maxsize=65_536)
def _credit_syllables(counts: tuple[int, ...], strange: int, wanted: Count, tolerance: int) -> float:
    low, high = span(wanted)
    excess = min(max(low - reached, reached - high, 0) for reached in counts) - tolerance
    excess = max(0, excess) + strange
    return 1.0 if not excess else max(0.0, 1.0 - excess / max(1.0, low / 2))


def judge_total(case: PoemCase) -> Shares:
    """Share of the counts over the whole poem (words, letters, ...) that are as wanted."""
    credits = [credit_count(_COUNTED[what](case.poem.lines, wanted), wanted) for what, wanted in case.form.total]
    return _average(credits, len(credits))


def judge_stanza_words(case: PoemCase) -> Shares:
    """Share of stanzas with the wanted number of words; in a poem without blank lines each line is a stanza."""
    blocks = case.poem.blocks if len(case.poem.blocks) > 1 else (1,) * len(case.poem.lines)
    ends = list(accumulate(blocks, initial=0))
    counts = [sum(len(line.words) for line in case.poem.lines[a:b]) for a, b in pairwise(ends)]
    wanted = case.form.stanza_words
    credits = [credit_count(count, one) for count, one in zip(counts, wanted, strict=False)]
    return _average(credits, max(len(counts), len(wanted)))


def judge_least_words(case: PoemCase) -> Shares:
    """Share of lines with enough different words."""
    least = case.form.least_words
    return case.grade_lines([min(1.0, len(set(line.words)) / least) for line in case.placed])


def judge_least_content(case: PoemCase) -> Shares:
    """Number of different words in the poem, as a share of the wanted number."""
    distinct = len({word for line in case.poem.lines for word in line.words})
    share = min(1.0, distinct / case.form.least_content)
    return Shares(share, float(share == 1.0))


def judge_caesura(case: PoemCase) -> Shares:
    """Share of lines in which a word ends at the caesura's syllable."""
    return case.grade_lines([float(case.form.caesura in find_word_ends(line.words)) for line in case.placed])


@lru_cache(maxsize=65_536)
def find_word_ends(words: tuple[str, ...]) -> frozenset[int]:
    """Return the syllables of a line at which a word can end, with the licences of verse.

    The end of the line's last word does not count.

    >>> sorted(find_word_ends(("the", "silver", "moon")))
    [1, 3]
    """
    return frozenset(count for size in range(1, len(words)) for count in list_line_counts(words[:size]))


def judge_end_syllables(case: PoemCase) -> Shares:
    """Share of lines whose last word has the wanted number of syllables."""
    wanted = case.form.end_syllables
    credits = []
    for slot, line in enumerate(case.lines):
        counts = find_syllable_counts(line.end) if line and line.end else frozenset({0})
        best = max(credit_count(count, wanted[slot % len(wanted)], slack=2) for count in counts)
        credits.append(best if line else 0.0)
    return case.grade_lines(credits)


def judge_even(case: PoemCase) -> Shares:
    """Share of lines whose numbers of syllables differ by at most `even`, for the range that fits most lines."""
    width = case.form.even
    lines = case.placed
    starts = {count for line in lines for count in line.counts}
    best = max(starts, key=lambda low: sum(_is_within(line, low, low + width) for line in lines), default=0)
    return case.grade_lines([max(credit_count(count, (best, best + width)) for count in line.counts) for line in lines])


def judge_stanzas(case: PoemCase) -> Shares:
    """How well the breaks between stanzas agree with the form's (F1). A poem without breaks earns half and may pass."""
    wanted = set(accumulate(case.plan.stanzas[:-1]))
    blocks = case.poem.blocks
    if len(blocks) < 2:
        return Shares(FLAT, 1.0)
    place = {index: slot for slot, index in enumerate(case.slots) if index is not None}
    placed = {place.get(index, -1 - index) for index in accumulate(blocks[:-1])}
    return Shares.both(2 * len(wanted & placed) / (len(wanted) + len(placed)))


def _grade_counts(case: PoemCase, wanted: Sequence[Count | None], credit: Callable[[PoemLine, Count], float]) -> Shares:
    credits = [
        0.0 if line is None else 1.0 if count is None else credit(line, count)
        for line, count in zip(case.lines, wanted, strict=True)
    ]
    return case.grade_lines(credits)


def _average(credits: Sequence[float], size: int) -> Shares:
    """Return the mean of the credits, and the share of full ones, over `size` items of which some may be missing."""
    size = max(1, size)
    return Shares(sum(credits) / size, sum(credit == 1.0 for credit in credits) / size)


def _is_within(line: PoemLine, low: int, high: int) -> bool:
    return any(low <= count <= high for count in line.counts)


def _count_all_syllables(lines: Sequence[PoemLine], wanted: Count) -> int:
    """Return the number of syllables in all, as near to the wanted number as the lines can be read."""
    fewest, most = sum(min(line.counts) for line in lines), sum(max(line.counts) for line in lines)
    return min(max(span(wanted)[0], fewest), most)


_COUNTED: dict[str, Callable[[Sequence[PoemLine], Count], int]] = {
    "syllables": _count_all_syllables,
    "words": lambda lines, _: sum(len(line.words) + line.strange for line in lines),
    "characters": lambda lines, _: sum(len(line.text) for line in lines),
    "letters": lambda lines, _: sum(letter.isalpha() for line in lines for letter in line.text),
    "sentences": lambda lines, _: sum(line.text.count(mark) for line in lines for mark in ".!?"),
}
