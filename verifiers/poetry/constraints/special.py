"""Rules that only one form has. Each returns a share in [0, 1], for the reward and for the pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import accumulate, pairwise
from math import gcd

from learnable.verifiers.poetry.constraints.case import PoemCase, credit_count
from learnable.verifiers.poetry.constraints.naming import names_person
from learnable.verifiers.poetry.constraints.rhymes import hear_pairs
from learnable.verifiers.poetry.rhyme.pairs import FULL_RHYME
from learnable.verifiers.poetry.sound.pronunciation import find_syllable_counts

NUMBER_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()


def judge_adjacent_initials_differ(case: PoemCase) -> float:
    """Share of neighbouring lines that begin with different consonants."""
    first = [line.words[0][0] if line.words else "" for line in case.poem.lines]
    fits = [one != other and other not in "aeiou" for one, other in pairwise(first)]
    return (sum(fits) + (first[:1] != [""])) / max(1, case.size)


def judge_arithmetic(case: PoemCase) -> float:
    """Share of lines with as many words as the line before has vowels, after a first line of two words."""
    lines = case.poem.lines
    fits = [credit_count(len(line.words), 2) for line in lines[:1]]
    fits += [
        credit_count(len(other.words), sum(letter in "aeiou" for letter in one.text.lower()))
        for one, other in pairwise(lines)
    ]
    return sum(fits) / max(1, case.size)


def judge_coprime(case: PoemCase) -> float:
    """Share of neighbouring lines whose word counts differ and have no common divisor."""
    counts = [len(line.words) for line in case.poem.lines]
    fits = [one != other and gcd(one, other) == 1 for one, other in pairwise(counts)]
    return sum(fits) / max(1, case.size - 1)


def judge_diamante(case: PoemCase) -> float:
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


def judge_disjoint_letters(case: PoemCase) -> float:
    """Mean, over pairs of lines, of the share of letters that only one of the two lines has."""
    lines = [{letter for letter in line.text.lower() if letter.isalpha()} for line in case.poem.lines]
    pairs = list(zip(lines[::2], lines[1::2], strict=False))
    shares = [
        0.0 if not one or not other else 1.0 - len(one & other) / min(len(one), len(other)) for one, other in pairs
    ]
    return sum(shares) / max(1, case.size // 2)


def judge_doubled_last_line(case: PoemCase) -> float:
    """Share of stanzas whose last line is one phrase, twice."""
    ends, total = [], 0
    for size in case.plan.stanzas:
        total += size
        line = case.lines[total - 1]
        words = line.words if line else ()
        half = len(words) // 2
        ends.append(float(len(words) >= 2 and len(words) % 2 == 0 and words[:half] == words[half:]))
    return sum(ends) / max(1, len(ends))


def judge_dunadh(case: PoemCase) -> float:
    """Whether the poem ends with the word or the syllable that it begins with (an Irish dúnadh)."""
    words = [word for line in case.poem.lines for word in line.words]
    if len(words) < 2:
        return 0.0
    first, last = words[0], words[-1]
    return float(
        first == last or (len(first) > 1 and last.endswith(first)) or (len(last) > 1 and first.startswith(last))
    )


def judge_long_word(case: PoemCase) -> float:
    """Whether a line of the second half is a single word of six syllables; a shorter word has part of the credit."""
    single = [line.words[0] for line in case.lines[len(case.lines) // 2 :] if line and len(line.words) == 1]
    return max((credit_count(count, 6) for word in single for count in find_syllable_counts(word)), default=0.0)


def judge_often_rhymed(case: PoemCase) -> float:
    """Share of lines that rhyme with one of the four lines before or after them; half of the lines suffice for 1."""
    ends = [line.end for line in case.poem.lines]
    near = [pair for pair in hear_pairs(ends) if pair.credit == FULL_RHYME and pair.second - pair.first <= 4]
    rhymed = {index for pair in near for index in (pair.first, pair.second)}
    return min(1.0, 2 * len(rhymed) / case.size)


def judge_ovillejo(case: PoemCase) -> float:
    """How far line 10 consists of lines 2, 4 and 6."""
    lines = [line.words if line else () for line in case.lines]
    if len(lines) < 10:
        return 0.0
    joined = (*lines[1], *lines[3], *lines[5])
    same = sum(one == other for one, other in zip(joined, lines[9], strict=False))
    return same / max(1, len(joined), len(lines[9]))


def judge_person_name(case: PoemCase) -> float:
    """Whether line 1 names a person."""
    return float(bool(case.poem.lines) and names_person(case.poem.lines[0].text))


def judge_positional(case: PoemCase) -> float:
    """Share of lines in which the character at the form's number, counted from 1, is the form's letter."""
    given = dict(case.form.parameters)
    place, letter = int(given["number"]) - 1, str(given["letter"]).lower()
    return sum(line.text[place : place + 1].lower() == letter for line in case.poem.lines) / case.size


def judge_pindaric(case: PoemCase) -> float:
    """How far every three stanzas are strophe and antistrophe, equal in length and rhyme, and a different epode."""
    triads = len(case.poem.blocks) // 3
    if not triads or len(case.poem.blocks) % 3:
        return 0.5 if triads else 0.0
    ends = list(accumulate(case.poem.blocks, initial=0))
    stanzas = [_list_rhyming([line.end for line in case.poem.lines[a:b]]) for a, b in pairwise(ends)]
    shares = []
    for strophe, antistrophe, epode in zip(stanzas[::3], stanzas[1::3], stanzas[2::3], strict=True):
        alike = len(strophe & antistrophe) / max(1, len(strophe | antistrophe))
        sizes = {len(one) for one in (strophe, antistrophe)}
        shares.append((alike + (len(sizes) == 1) + (epode != strophe)) / 3)
    blocks = case.poem.blocks
    fits = [blocks[index] == blocks[index + 1] > 1 for index in range(0, len(blocks), 3)]
    return min(sum(shares) / triads, (1 + sum(fits) / triads) / 2)


def judge_pythagorean(case: PoemCase) -> float:
    """Share of tercets whose word counts are the sides of a right triangle."""
    counts = [len(line.words) for line in case.poem.lines]
    triples = [sorted(counts[index : index + 3]) for index in range(0, len(counts), 3)]
    fits = [_credit_triple(sides) for sides in triples]
    return sum(fits) / max(1, len(fits))


def judge_rhopalic(case: PoemCase) -> float:
    """Share of neighbouring words within lines of which the second is one syllable longer."""
    fits: list[bool] = []
    for line in case.poem.lines:
        steps = [
            any(count + 1 in find_syllable_counts(other) for count in find_syllable_counts(one))
            for one, other in pairwise(line.words)
        ]
        fits += steps or [False]
    return sum(fits) / max(1, len(fits))


def judge_same_end_initial(case: PoemCase) -> float:
    """Share of lines with a new end word that begins with the most common initial of end words."""
    ends = list(dict.fromkeys(line.end for line in case.poem.lines if line.end))
    common = Counter(end[0] for end in ends).most_common(1)
    return common[0][1] / case.size if common else 0.0


def judge_self_referential(case: PoemCase) -> float:
    """Share of lines in which line n has the number n exactly n times."""
    hits = []
    for number, line in enumerate(case.poem.lines, 1):
        mentions = line.words.count(NUMBER_WORDS[number - 1]) if number <= len(NUMBER_WORDS) else 0
        mentions += sum(token.strip(".,;:!?") == str(number) for token in line.text.split())
        hits.append(credit_count(mentions, number))
    return sum(hits) / case.size


def judge_several_stanzas(case: PoemCase) -> float:
    """Whether blank lines divide the poem into three or more stanzas, not all of the same length."""
    blocks = case.poem.blocks
    return min(1.0, len(blocks) / 3) * (1.0 if len(set(blocks)) > 1 else 0.5)


def judge_unique_words(case: PoemCase) -> float:
    """Share of words that occur only once."""
    counts = Counter(word for line in case.poem.lines for word in line.words)
    total = counts.total()
    return sum(count for count in counts.values() if count == 1) / total if total else 0.0


def judge_uniform_stanzas(case: PoemCase) -> float:
    """Share of stanzas with the most common length; 0 for a poem without blank lines between stanzas."""
    blocks = case.poem.blocks
    if len(blocks) < 2:
        return 0.0
    return Counter(blocks).most_common(1)[0][1] / len(blocks)


def _list_rhyming(ends: list[str]) -> set[tuple[int, int]]:
    """Return the pairs of lines that rhyme, and each line paired with itself."""
    pairs = {(pair.first, pair.second) for pair in hear_pairs(ends) if pair.credit == FULL_RHYME}
    return pairs | {(index, index) for index in range(len(ends))}


def _credit_triple(sides: list[int]) -> float:
    if len(sides) != 3 or sides[0] < 1:
        return 0.0
    a, b, c = sides
    return 1.0 if a * a + b * b == c * c else max(0.0, 0.8 - abs((a * a + b * b) ** 0.5 - c) / 5)


SPECIAL: dict[str, Callable[[PoemCase], float]] = {
    "adjacent_initials_differ": judge_adjacent_initials_differ,
    "arithmetic": judge_arithmetic,
    "coprime": judge_coprime,
    "diamante": judge_diamante,
    "disjoint_letters": judge_disjoint_letters,
    "doubled_last_line": judge_doubled_last_line,
    "dunadh": judge_dunadh,
    "long_word": judge_long_word,
    "often_rhymed": judge_often_rhymed,
    "ovillejo": judge_ovillejo,
    "person_name": judge_person_name,
    "pindaric": judge_pindaric,
    "positional": judge_positional,
    "pythagorean": judge_pythagorean,
    "rhopalic": judge_rhopalic,
    "same_end_initial": judge_same_end_initial,
    "self_referential": judge_self_referential,
    "several_stanzas": judge_several_stanzas,
    "uniform_stanzas": judge_uniform_stanzas,
    "unique_words": judge_unique_words,
}
