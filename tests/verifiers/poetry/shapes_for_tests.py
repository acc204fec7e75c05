"""How to keep the rules about the inside of lines: caesuras, lengths of last words, palindromes, places of letters."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import pronouncing

from learnable.verifiers.poetry.forms import span
from learnable.verifiers.poetry.forms.plan import NO_RHYME
from learnable.verifiers.poetry.rhyme.pairs import credit_rhyme
from learnable.verifiers.poetry.sound.pronunciation import pronounce
from tests.verifiers.poetry.builder_for_tests import Builder
from tests.verifiers.poetry.special_rules_for_tests import SpecialBuilder
from tests.verifiers.poetry.word_bank_for_tests import by_stress, content_words, many_words, stress_of

LONG = {2: "-u", 3: "-uu"}
LONG_WORDS = "incomprehensibly autobiographical hypersensitivity extraterrestrial".split()


def shape(builder: Builder) -> None:
    """Set what lines must be, before they are written."""
    form = builder.form
    if form.caesura:
        for need in builder.needs:
            need.pins[form.caesura + 1] = builder.pick(by_stress()["-"])
    if form.end_syllables:
        _end_long(builder)
    if form.template and (builder.plan.wanted or form.unrhymed):
        for index, (need, name) in enumerate(zip(builder.needs, builder.plan.classes, strict=True)):
            need.end = _stressed_end(builder, index, need.pattern, name)


def finish(builder: Builder, lines: list[str]) -> list[str]:
    """Change lines that were written."""
    form = builder.form
    if form.palindrome == "letters":
        return [" ".join(_mirrored(builder)) for _ in lines]
    if form.palindrome == "poem":
        words = [builder.pick(content_words()) for _ in range(8)]
        words += reversed(words)
        return [" ".join(words[start : start + 4]) for start in range(0, 16, 4)]
    if form.word_lengths and not isinstance(form.word_lengths[0], tuple):
        words = [
            builder.pick([word for word in many_words() if len(word) == span(n)[0]] or ["a"]) for n in form.word_lengths
        ]
        return [" ".join(words[start : start + 3]) for start in range(0, len(words), 3)]
    for what, wanted in form.budget:
        if what != "vowels":
            lines = _with_letters(builder, lines, what, span(wanted)[0])
    return lines


def _stressed_end(builder: Builder, index: int, pattern: str, name: int) -> str:
    """Return a last word of the stresses that a pattern ends in, in the line's rhyme class or in one of its own."""
    if name != NO_RHYME:
        return builder.rhyming(name)
    stresses = pattern[pattern.rindex("-") :].replace("x", "u")
    if stresses not in LONG.values():
        return builder.rhyming(builder.loose_class(index))
    return _unlike(builder, stresses)


def _end_long(builder: Builder) -> None:
    """End lines in words of two or three syllables that rhyme where the plan says so."""
    counts = builder.form.end_syllables
    for index, (need, name) in enumerate(zip(builder.needs, builder.plan.classes, strict=True)):
        count = span(counts[index % len(counts)])[0]
        if count in LONG:
            need.end = _unlike(builder, LONG[count]) if name == NO_RHYME else _like(builder, LONG[count], name)
            builder.used.add(need.end)


def _like(builder: Builder, stresses: str, name: int) -> str:
    """Return a word of the stresses that was not used yet, in a rhyme class of its own for each name."""
    classes = long_rhymes(stresses)
    return next(word for word in classes[name % len(classes)] if word not in builder.used)


def _unlike(builder: Builder, stresses: str) -> str:
    """Return a word of the stresses that rhymes with no end yet, not even in its last syllable."""
    ends = [need.end for need in builder.needs if need.end]
    return next(
        word
        for word in many_words()
        if stress_of(word) == stresses and word not in ends and not any(credit_rhyme(word, end) for end in ends)
    )


@cache
def long_rhymes(stresses: str) -> tuple[tuple[str, ...], ...]:
    """Return sets of at least three words of these stresses that rhyme."""
    found: dict[str, list[str]] = defaultdict(list)
    for word in many_words():
        if stress_of(word) == stresses and len({*pronounce(word)}) == 1:
            found[pronouncing.rhyming_part(" ".join(pronounce(word)[0]))].append(word)
    classes = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(tuple(words) for _, words in classes if len(words) >= 3)


def _mirrored(builder: Builder) -> list[str]:
    """Return a line of words whose letters read the same backwards: `stop live evil pots`."""
    known = set(many_words())
    words = [word for word in many_words() if word[::-1] in known and word[::-1] > word]
    one, other = builder.pick(words), builder.pick(words)
    return [one, other, other[::-1], one[::-1]]


def _with_letters(builder: Builder, lines: list[str], letter: str, wanted: int) -> list[str]:
    """Add words with one such letter each until there are enough."""
    words = [word for word in content_words() if word.count(letter) == 1]
    made = [line.split() for line in lines]
    for number in range(wanted - sum(line.count(letter) for line in lines)):
        made[number % len(made)].append(builder.pick(words))
    return [" ".join(words) for words in made]


def _dunadh(builder: Builder) -> None:
    first, last = builder.needs[0], builder.needs[-1]
    first.start = [last.end or builder.pick(by_stress()["-"])]
    last.end = first.start[0]


def _long_word(builder: Builder, lines: list[str]) -> list[str]:
    lines[len(lines) // 2 + 1] = builder.pick(LONG_WORDS[:1])
    return lines


def _positional(builder: Builder) -> None:
    given = dict(builder.form.parameters)
    place, letter = given["number"] - 1, given["letter"]
    for need in builder.needs:
        need.start = [builder.pick([word for word in content_words() if word[place : place + 1] == letter])]


SHAPE_BUILDERS = {
    "dunadh": SpecialBuilder(_dunadh),
    "long_word": SpecialBuilder(after=_long_word),
    "positional": SpecialBuilder(_positional),
}
