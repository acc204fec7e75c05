"""How to keep the rules that only one form has."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from learnable.verifiers.poetry.constraints.special import NUMBER_WORDS
from tests.verifiers.poetry.builder_for_tests import Builder
from tests.verifiers.poetry.word_bank_for_tests import content_words, many_words, stress_of


class SpecialBuilder(NamedTuple):
    """What to set before lines are written, and what to change in them after."""

    before: Callable[[Builder], None] | None = None
    after: Callable[[Builder, list[str]], list[str]] | None = None


def _consonants(builder: Builder) -> None:
    for index, need in enumerate(builder.needs):
        letter = "bcdfgmprst"[index % 10]
        need.start = [builder.pick([word for word in content_words() if word[0] == letter])]


def _word_counts(*counts: int) -> Callable[[Builder], None]:
    def before(builder: Builder) -> None:
        for index, need in enumerate(builder.needs):
            need.words, need.syllables = counts[index % len(counts)], None

    return before


def _arithmetic(builder: Builder, lines: list[str]) -> list[str]:
    made: list[str] = []
    count = 2
    for _ in lines:
        for _ in range(500):
            words = [builder.rng.choice(content_words()) for _ in range(count)]
            vowels = sum(sign in "aeiou" for word in words for sign in word)
            if 3 <= vowels <= 6 and len(set(words)) == count:
                break
        made.append(" ".join(words))
        count = vowels
    return made


def _diamante(builder: Builder, lines: list[str]) -> list[str]:
    ing = [word for word in many_words() if word.endswith("ing") and len(word) > 5]
    pick = builder.pick
    plain = [word for word in content_words() if not word.endswith("ing")]
    counts = (1, 2, 3, 4, 3, 2, 1)
    return [
        " ".join(pick(ing if index in (2, 4) else plain) for _ in range(count)) for index, count in enumerate(counts)
    ]


def _disjoint(builder: Builder, lines: list[str]) -> list[str]:
    halves = [set("aistmnrdf"), set("eouhlcbpgwky")]
    made = []
    for index in range(len(lines)):
        words = [word for word in many_words() if set(word) <= halves[index % 2] and len(word) > 2]
        made.append(" ".join(builder.pick(words) for _ in range(5)))
    return made


def _doubled(builder: Builder, lines: list[str]) -> list[str]:
    total = 0
    for size in builder.plan.stanzas:
        total += size
        need = builder.needs[total - 1]
        need.syllables = (need.syllables or 8) // 2
        need.pattern = ""
        phrase = builder.line(need)
        lines[total - 1] = f"{phrase} {phrase}"
    return lines


def _ovillejo(builder: Builder, lines: list[str]) -> list[str]:
    return [*lines[:9], " ".join([lines[1], lines[3], lines[5]])]


def _person(builder: Builder, lines: list[str]) -> list[str]:
    end = builder.needs[0].end or "clay"
    return [f"Sir Thomas {end.capitalize()}", *lines[1:]]


def _rhopalic(builder: Builder, lines: list[str]) -> list[str]:
    by_size = {size: [word for word in many_words() if len(stress_of(word)) == size] for size in (1, 2, 3)}
    return [" ".join(builder.pick(by_size[size]) for size in (1, 2, 3)) for _ in lines]


def _same_initial(builder: Builder) -> None:
    for need in builder.needs:
        need.end = builder.pick([word for word in content_words() if word[0] == "s"])


def _self(builder: Builder, lines: list[str]) -> list[str]:
    made = []
    for number, _ in enumerate(lines):
        words = [word for _ in range(number + 1) for word in (NUMBER_WORDS[number], builder.pick(content_words()))]
        made.append(" ".join([*words, builder.pick(content_words())]))
    return made


def _unique(builder: Builder) -> None:
    for need in builder.needs:
        need.words, need.syllables = 4, None


def _equal_blocks(builder: Builder, lines: list[str]) -> list[str]:
    size = next(size for size in (4, 3, 2, 5) if len(lines) % size == 0)
    return [*lines[:-1], lines[-1]] if len(builder.plan.stanzas) > 1 else _blocked(lines, [size] * (len(lines) // size))


def _blocked(lines: list[str], sizes: list[int]) -> list[str]:
    """Put an empty line in front of each block but the first."""
    starts = {sum(sizes[:number]) for number in range(1, len(sizes))}
    return ["\n" + line if index in starts else line for index, line in enumerate(lines)]


def _rhymed_blocks(*schemes: str) -> SpecialBuilder:
    sizes = [len(scheme) for scheme in schemes]

    def before(builder: Builder) -> None:
        builder.needs = builder.needs[:1] * 0 + [type(builder.needs[0])(words=6) for _ in range(sum(sizes))]
        index = 0
        for number, scheme in enumerate(schemes):
            for letter in scheme:
                builder.needs[index].end = builder.rhyming(number * 3 + "abc".index(letter))
                index += 1

    return SpecialBuilder(before, lambda builder, lines: _blocked(lines, sizes))


SPECIAL_BUILDERS: dict[str, SpecialBuilder] = {
    "adjacent_initials_differ": SpecialBuilder(_consonants),
    "arithmetic": SpecialBuilder(after=_arithmetic),
    "coprime": SpecialBuilder(_word_counts(4, 7, 5, 8)),
    "diamante": SpecialBuilder(after=_diamante),
    "disjoint_letters": SpecialBuilder(after=_disjoint),
    "doubled_last_line": SpecialBuilder(after=_doubled),
    "ovillejo": SpecialBuilder(after=_ovillejo),
    "person_name": SpecialBuilder(after=_person),
    "pindaric": _rhymed_blocks("aab", "aab", "abb"),
    "pythagorean": SpecialBuilder(_word_counts(3, 4, 5)),
    "rhopalic": SpecialBuilder(after=_rhopalic),
    "same_end_initial": SpecialBuilder(_same_initial),
    "self_referential": SpecialBuilder(after=_self),
    "several_stanzas": _rhymed_blocks("aabb", "aabba", "aabbcc"),
    "uniform_stanzas": SpecialBuilder(after=_equal_blocks),
    "unique_words": SpecialBuilder(_unique),
}
