"""Rules that only one form has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import accumulate, pairwise
from math import gcd

from learnable.verifiers.poetry.constraints.case import Case, near
from learnable.verifiers.poetry.constraints.rhymes import heard_pairs
from learnable.verifiers.poetry.rhyme.pairs import FULL
from learnable.verifiers.poetry.sound.pronunciation import syllable_counts

NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()


def adjacent_initials_differ(case: Case) -> float:
    """Share of neighbouring lines that open with different consonants."""
    first = [line.words[0][0] if line.words else "" for line in case.poem.lines]
    fits = [one != other and other not in "aeiou" for one, other in pairwise(first)]
    return (sum(fits) + (first[:1] != [""])) / max(1, case.size)


def arithmetic(case: Case) -> float:
    """Share of lines with as many words as the line before has vowels, after a first line of two words."""
    lines = case.poem.lines
    fits = [near(len(line.words), 2) for line in lines[:1]]
    fits += [
        near(len(other.words), sum(letter in "aeiou" for letter in one.text.lower())) for one, other in pairwise(lines)
    ]
    return sum(fits) / max(1, case.size)


def coprime(case: Case) -> float:
    """Share of neighbouring lines whose word counts differ and have no common divisor."""
    counts = [len(line.words) for line in case.poem.lines]
    fits = [one != other and gcd(one, other) == 1 for one, other in pairwise(counts)]
    return sum(fits) / max(1, case.size - 1)


def diamante(case: Case) -> float:
    """Share of the words of lines 3 and 5 that end in -ing, with different nouns at the ends."""
    lines = case.lines
    if len(lines) != 7 or lines[0] is None or lines[6] is None:
        return 0.0
    participles = [
        word.endswith("ing") and len(word) > 4
        for line in (lines[2], lines[4])
        for word in (line.words if line else ("", ""))
    ]
    return sum(participles) / max(6, len(participles)) if lines[0].words != lines[6].words else 0.0


def disjoint_letters(case: Case) -> float:
    """Mean over pairs of lines of the share of letters that are not shared."""
    lines = [{letter for letter in line.text.lower() if letter.isalpha()} for line in case.poem.lines]
    pairs = list(zip(lines[::2], lines[1::2], strict=False))
    shares = [
        0.0 if not one or not other else 1.0 - len(one & other) / min(len(one), len(other)) for one, other in pairs
    ]
    return sum(shares) / max(1, case.size // 2)


def doubled_last_line(case: Case) -> float:
    """Share of stanzas whose last line is one phrase said twice."""
    ends, total = [], 0
    for size in case.plan.stanzas:
        total += size
        line = case.lines[total - 1]
        words = line.words if line else ()
        half = len(words) // 2
        ends.append(float(len(words) >= 2 and len(words) % 2 == 0 and words[:half] == words[half:]))
    return sum(ends) / max(1, len(ends))


def dunadh(case: Case) -> float:
    """Whether the poem ends on the word, or the syllable, that it begins with (an Irish dúnadh)."""
    words = [word for line in case.poem.lines for word in line.words]
    if len(words) < 2:
        return 0.0
    first, last = words[0], words[-1]
    return float(
        first == last or (len(first) > 1 and last.endswith(first)) or (len(last) > 1 and first.startswith(last))
    )


def long_word(case: Case) -> float:
    """Whether a line of the second stanza is a single word of six syllables; part credit for a single long word."""
    single = [line.words[0] for line in case.lines[len(case.lines) // 2 :] if line and len(line.words) == 1]
    return max((near(count, 6) for word in single for count in syllable_counts(word)), default=0.0)


def often_rhymed(case: Case) -> float:
    """Share of lines that rhyme with one of the four lines on either side, of the half that should."""
    ends = [line.end for line in case.poem.lines]
    rhymed = {index for i, j, found, _, _ in heard_pairs(ends) if found == FULL and j - i <= 4 for index in (i, j)}
    return min(1.0, 2 * len(rhymed) / case.size)


def ovillejo(case: Case) -> float:
    """How far line 10 is lines 2, 4 and 6 joined."""
    lines = [line.words if line else () for line in case.lines]
    if len(lines) < 10:
        return 0.0
    joined = (*lines[1], *lines[3], *lines[5])
    same = sum(one == other for one, other in zip(joined, lines[9], strict=False))
    return same / max(1, len(joined), len(lines[9]))


def person_name(case: Case) -> float:
    """Whether line 1 has a capitalised word after its first, or is a name alone."""
    line = case.poem.lines[0].text.split() if case.poem.lines else []
    named = [word for word in line if word[:1].isupper() and word.strip(".,;:'\"").isalpha()]
    return float(len(named) >= 2)


def positional(case: Case) -> float:
    """Share of lines with the form's letter as their character at the form's number, counted from 1."""
    given = dict(case.form.parameters)
    place, letter = int(given["number"]) - 1, str(given["letter"]).lower()
    return sum(line.text[place : place + 1].lower() == letter for line in case.poem.lines) / case.size


def pindaric(case: Case) -> float:
    """How far each three stanzas are strophe and antistrophe, alike in length and rhyme, and an epode that is not."""
    triads = len(case.poem.blocks) // 3
    if not triads or len(case.poem.blocks) % 3:
        return 0.5 if triads else 0.0
    ends = list(accumulate(case.poem.blocks, initial=0))
    stanzas = [_rhyming([line.end for line in case.poem.lines[a:b]]) for a, b in pairwise(ends)]
    shares = []
    for strophe, antistrophe, epode in zip(stanzas[::3], stanzas[1::3], stanzas[2::3], strict=True):
        alike = len(strophe & antistrophe) / max(1, len(strophe | antistrophe))
        sizes = {len(one) for one in (strophe, antistrophe)}
        shares.append((alike + (len(sizes) == 1) + (epode != strophe)) / 3)
    blocks = case.poem.blocks
    fits = [blocks[index] == blocks[index + 1] > 1 for index in range(0, len(blocks), 3)]
    return min(sum(shares) / triads, (1 + sum(fits) / triads) / 2)


def pythagorean(case: Case) -> float:
    """Share of tercets whose word counts are the sides of a right triangle."""
    counts = [len(line.words) for line in case.poem.lines]
    triples = [sorted(counts[index : index + 3]) for index in range(0, len(counts), 3)]
    fits = [_triple_credit(sides) for sides in triples]
    return sum(fits) / max(1, len(fits))


def rhopalic(case: Case) -> float:
    """Share of steps inside lines at which the next word is one syllable longer."""
    fits: list[bool] = []
    for line in case.poem.lines:
        steps = [
            any(count + 1 in syllable_counts(other) for count in syllable_counts(one))
            for one, other in pairwise(line.words)
        ]
        fits += steps or [False]
    return sum(fits) / max(1, len(fits))


def same_end_initial(case: Case) -> float:
    """Share of lines whose end word, each a new one, begins with the most common initial."""
    ends = list(dict.fromkeys(line.end for line in case.poem.lines if line.end))
    common = Counter(end[0] for end in ends).most_common(1)
    return common[0][1] / case.size if common else 0.0


def self_referential(case: Case) -> float:
    """Share of lines n that say the number n exactly n times."""
    hits = []
    for number, line in enumerate(case.poem.lines, 1):
        said = line.words.count(NUMBERS[number - 1]) if number <= len(NUMBERS) else 0
        said += sum(token.strip(".,;:!?") == str(number) for token in line.text.split())
        hits.append(near(said, number))
    return sum(hits) / case.size


def several_stanzas(case: Case) -> float:
    """Whether blank lines part the poem into three stanzas or more that are not all alike."""
    blocks = case.poem.blocks
    return min(1.0, len(blocks) / 3) * (1.0 if len(set(blocks)) > 1 else 0.5)


def unique_words(case: Case) -> float:
    """Share of words said once."""
    counts = Counter(word for line in case.poem.lines for word in line.words)
    said = counts.total()
    return sum(count for count in counts.values() if count == 1) / said if said else 0.0


def uniform_stanzas(case: Case) -> float:
    """Share of stanzas (by blank lines) as long as most are; a poem in one block has none to compare."""
    blocks = case.poem.blocks
    if len(blocks) < 2:
        return 0.0
    return Counter(blocks).most_common(1)[0][1] / len(blocks)


def _rhyming(ends: list[str]) -> set[tuple[int, int]]:
    """Return the pairs of lines that rhyme, and each line with itself."""
    pairs = {(i, j) for i, j, found, _, _ in heard_pairs(ends) if found == FULL}
    return pairs | {(index, index) for index in range(len(ends))}


def _triple_credit(sides: list[int]) -> float:
    if len(sides) != 3 or sides[0] < 1:
        return 0.0
    a, b, c = sides
    return 1.0 if a * a + b * b == c * c else max(0.0, 0.8 - abs((a * a + b * b) ** 0.5 - c) / 5)


SPECIAL: dict[str, Callable[[Case], float]] = {
    function.__name__: function
    for function in (
        adjacent_initials_differ, arithmetic, coprime, diamante, disjoint_letters, doubled_last_line, dunadh, long_word,
        often_rhymed, ovillejo, person_name, pindaric, positional, pythagorean, rhopalic, same_end_initial,
        self_referential, several_stanzas, uniform_stanzas, unique_words,
    )
}  # fmt: skip
