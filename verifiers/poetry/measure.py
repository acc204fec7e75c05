"""A poem against one scheme of its form: each part as a smooth share and as a strict one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from learnable.data.forms import Form, span
from learnable.verifiers.poetry.prosody import reachable_counts
from learnable.verifiers.poetry.refrains import match_refrains, refrain_groups
from learnable.verifiers.poetry.rhyme import has_rhymes, match_scheme
from learnable.verifiers.poetry.words import Line


@dataclass(frozen=True, slots=True)
class Measures:
    """The parts of a form in [0, 1]: `smooth` for the reward, `strict` (hits only) for the pass."""

    smooth: dict[str, float]
    strict: dict[str, float]
    refrain_returns: int = 0


def measure(lines: Sequence[Line], form: Form, scheme: Sequence[str]) -> Measures:
    """Measure at least one line against the form and one of its schemes (empty: no rhymes asked)."""
    expected = form.line_count or len(lines)
    smooth = {"lines": min(expected, len(lines)) / max(expected, len(lines))}
    strict: dict[str, float] = {}
    if form.syllables:
        smooth["syllables"], strict["syllables"] = match_syllables(lines, form, expected)
    returns = 0
    if has_rhymes(scheme):
        # Lines far beyond the form would cost a quadratic number of pairs and say nothing new.
        ends = [line.words[-1] if line.words else "" for line in lines[: 2 * expected]]
        rhymes = match_scheme(ends, scheme)
        surplus = len(ends) / len(lines)
        smooth["rhyme"], strict["rhyme"] = rhymes.credit * surplus, rhymes.strict * surplus
        returns = sum(len(group) - 1 for group in refrain_groups(scheme).values())
    if returns:
        smooth["refrains"], strict["refrains"] = match_refrains(lines, scheme)
    return Measures(smooth, strict, returns)


def match_syllables(lines: Sequence[Line], form: Form, expected: int) -> tuple[float, float]:
    """Return the mean credit of the lines' syllable counts, and the share of lines within tolerance.

    Both are over the larger of the expected and the actual number of lines.
    """
    per_line = form.syllables * expected if len(form.syllables) == 1 else form.syllables
    credits = [
        syllable_credit(line, span(count)[0], form.tolerance)
        for line, count in zip(lines[:expected], per_line, strict=False)
    ]
    size = max(expected, len(lines))
    return sum(credits) / size, sum(credit == 1.0 for credit in credits) / size


def syllable_credit(line: Line, count: int, tolerance: int) -> float:
    """Return 1 where the line can be read with `count` syllables, give or take `tolerance`; then a straight fall.

    The credit reaches 0 at half the count beyond the tolerance: 1 off costs .4 of a five-syllable line.
    A token that is no word has no syllables to count and puts the line out of tolerance.
    """
    excess = min(abs(reached - count) for reached in reachable_counts(line.words)) - tolerance
    excess = max(0, excess) + line.strange
    return max(0.0, 1.0 - excess / max(1.0, count / 2))
