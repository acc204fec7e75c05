"""How long lines are: syllables, words, characters, in each line, each stanza and in all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from learnable.data.forms import Count, span
from learnable.verifiers.poetry.constraints.case import Case, Result, near
from learnable.verifiers.poetry.poem import PoemLine


def syllables(case: Case) -> Result:
    """Share of lines with the syllables asked for; a token that is no word puts its line out of tolerance.

    The share that decides the pass allows `pass_tolerance`, where that is more: what a form's poems are known to vary by
    earns less but is no fault.
    """
    tolerance = case.form.tolerance
    smooth, strict = _each(case, case.plan.syllables, lambda line, wanted: syllable_credit(line, wanted, tolerance))
    if strict < 1.0 and (wider := case.form.pass_tolerance) > tolerance:
        _, strict = _each(case, case.plan.syllables, lambda line, wanted: syllable_credit(line, wanted, wider))
    return smooth, strict


def words(case: Case) -> Result:
    """Share of lines with the words asked for."""
    return _each(case, case.plan.words, lambda line, wanted: near(len(line.words) + line.strange, wanted))


def characters(case: Case) -> Result:
    """Share of lines with the characters asked for, spaces and punctuation included."""
    return _each(case, case.plan.characters, lambda line, wanted: near(len(line.text), wanted))


def syllable_credit(line: PoemLine, wanted: Count, tolerance: int) -> float:
    """Return 1 where the line can be read as wanted, give or take `tolerance`; then a straight fall.

    The credit reaches 0 at half the count beyond the tolerance: 1 off costs .4 of a five-syllable line.
    """
    return _syllable_credit(line.counts, line.strange, wanted, tolerance)


@lru_cache(maxsize=65_536)
def _syllable_credit(counts: tuple[int, ...], strange: int, wanted: Count, tolerance: int) -> float:
    low, high = span(wanted)
    excess = min(max(low - reached, reached - high, 0) for reached in counts) - tolerance
    excess = max(0, excess) + strange
    return 1.0 if not excess else max(0.0, 1.0 - excess / max(1.0, low / 2))


def total(case: Case) -> Result:
    """Share of what is counted over the whole poem (words, letters, ...) that is as asked for."""
    credits = [near(_COUNTED[what](case.poem.lines, wanted), wanted) for what, wanted in case.form.total]
    return _mean(credits)


def stanza_words(case: Case) -> Result:
    """Share of stanzas with the words asked for; without blank lines a line is a stanza."""
    blocks = case.poem.blocks if len(case.poem.blocks) > 1 else (1,) * len(case.poem.lines)
    ends = list(accumulate(blocks, initial=0))
    counts = [sum(len(line.words) for line in case.poem.lines[a:b]) for a, b in pairwise(ends)]
    wanted = case.form.stanza_words
    credits = [near(count, one) for count, one in zip(counts, wanted, strict=False)]
    size = max(len(counts), len(wanted))
    return sum(credits) / size, sum(credit == 1.0 for credit in credits) / size


def least_words(case: Case) -> Result:
    """Share of lines with enough words, all different."""
    least = case.form.least_words
    return case.per_line([min(1.0, len(set(line.words)) / least) for line in case.said()])


def least_content(case: Case) -> Result:
    """How many different words there are, of those asked for."""
    found = len({word for line in case.poem.lines for word in line.words})
    share = min(1.0, found / case.form.least_content)
    return share, float(share == 1.0)


def _each(case: Case, wanted: Sequence[Count | None], credit: Callable[[PoemLine, Count], float]) -> Result:
    credits = [
        0.0 if line is None else 1.0 if count is None else credit(line, count)
        for line, count in zip(case.lines, wanted, strict=True)
    ]
    return case.per_line(credits)


def _syllables_in_all(lines: Sequence[PoemLine], wanted: Count) -> int:
    """Count syllables as near to what is wanted as the lines can be read."""
    least, most = sum(min(line.counts) for line in lines), sum(max(line.counts) for line in lines)
    return min(max(span(wanted)[0], least), most)


def _mean(credits: Sequence[float]) -> Result:
    size = max(1, len(credits))
    return sum(credits) / size, sum(credit == 1.0 for credit in credits) / size


_COUNTED: dict[str, Callable[[Sequence[PoemLine], Count], int]] = {
    "syllables": _syllables_in_all,
    "words": lambda lines, _: sum(len(line.words) + line.strange for line in lines),
    "characters": lambda lines, _: sum(len(line.text) for line in lines),
    "letters": lambda lines, _: sum(letter.isalpha() for line in lines for letter in line.text),
    "sentences": lambda lines, _: sum(line.text.count(mark) for line in lines for mark in ".!?"),
}
