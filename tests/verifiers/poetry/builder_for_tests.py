"""Writes lines of words that fit: by syllables, stresses, characters and rhymes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from learnable.verifiers.poetry.forms import Form, span
from learnable.verifiers.poetry.forms.plan import FormPlan, plans
from learnable.verifiers.poetry.sound.pronunciation import find_syllable_counts
from tests.verifiers.poetry.word_bank_for_tests import (
    WEAK,
    Allowed,
    by_stress,
    content_words,
    many_words,
    rhyme_classes,
    stress_of,
)


@dataclass
class Need:
    """What one line must be."""

    syllables: int | None = None
    words: int | None = None
    characters: int | None = None
    pattern: str = ""
    start: list[str] = field(default_factory=list)
    include: list[str] = field(default_factory=list)
    end: str | None = None
    pins: dict[int, str] = field(default_factory=dict)
    allowed: Allowed = bool


def count_lines(form: Form) -> int:
    """Return how many lines a poem of the form shall have."""
    if form.repeat is not None:
        around = sum(part.part_lines() or 1 for part in (form.opening, form.closing) if part)
        return around + (form.part_lines() or 1) * form.repeat_default
    if (lines := form.line_count) is not None:
        return lines
    if form.stanza_words:
        return len(form.stanza_words)
    low, high = span(form.lines or 4)
    return min(low + 2, high)


def choose_plan(form: Form, rng: random.Random | None = None) -> FormPlan:
    """Return the plan of a poem; without `rng` the one of seed 0."""
    return (rng or seeded(form, 0)).choice(plans(form, count_lines(form)))


def seeded(form: Form, seed: int) -> random.Random:
    """Return the random numbers of a form's poem."""
    return random.Random(f"{form.name}:{seed}")


class Builder:
    """Builds one poem; the same seed builds the same one."""

    def __init__(self, form: Form, seed: int = 0) -> None:
        self.form = form
        self.rng = seeded(form, seed)
        self.plan = choose_plan(form, self.rng)
        self.used: set[str] = set()
        self.classes = self._rhymes()
        self.needs = [Need() for _ in range(self.plan.size)]

    def joined(self, lines: Sequence[str]) -> str:
        """Put blank lines between stanzas."""
        stanzas = self.plan.stanzas
        if len(stanzas) < 2 or self.form.stichic or sum(stanzas) != len(lines):
            return "\n".join(lines)
        starts = [sum(stanzas[:number]) for number in range(len(stanzas) + 1)]
        return "\n\n".join("\n".join(lines[a:b]) for a, b in pairwise(starts))

    def line(self, need: Need) -> str:
        """Write a line as needed."""
        if need.syllables is not None:
            words = self._by_syllables(need)
        elif need.characters is not None:
            words = self._by_characters(need)
        else:
            words = self._by_words(need)
        return " ".join(words)

    def pick(self, words: Sequence[str], allowed: Allowed = bool) -> str:
        """Return a word that was not used yet, where there is one."""
        fitting = [word for word in words if allowed(word)]
        fresh = [word for word in fitting if word not in self.used]
        if not fitting:
            raise LookupError(f"{self.form.name}: no word fits")
        word = self.rng.choice((fresh or fitting)[:200])
        self.used.add(word)
        return word

    def rhyming(self, name: int, allowed: Allowed = bool) -> str:
        """Return a word of a rhyme class that was not used yet."""
        fresh = [word for word in self.classes[name % len(self.classes)] if word not in self.used and allowed(word)]
        word = fresh[0] if fresh else self.pick(self.classes[name % len(self.classes)], allowed)
        self.used.add(word)
        return word

    def _rhymes(self) -> list[tuple[str, ...]]:
        """Deal out rhyme classes: the classes that need most words get the largest."""
        sizes = [self.plan.classes.count(name) for name in range(max(self.plan.classes, default=0) + 1)]
        order = sorted(range(len(sizes)), key=lambda name: -sizes[name])
        deal = list(rhyme_classes())
        head = deal[: len(order)] if max(sizes, default=0) > 8 else self.rng.sample(deal[:40], min(40, len(deal)))
        dealt = dict(zip(order, head, strict=False))
        rest = [words for words in deal if words not in dealt.values()]
        classes = [dealt.get(name) or rest[name % len(rest)] for name in range(len(sizes))] + rest
        feminine = {name for name, sign in zip(self.plan.classes, self.form.endings, strict=False) if sign == "f"}
        for name, words in zip(sorted(feminine), rhyme_classes("-u", 3), strict=False):
            classes[name] = words
        return classes

    def loose_class(self, index: int) -> int:
        """Return a class that no scheme uses, another for each of many lines."""
        taken = max(self.plan.classes, default=-1) + 1
        return taken + index % max(1, len(self.classes) - taken)

    def _by_syllables(self, need: Need) -> list[str]:
        assert need.syllables is not None
        size = need.syllables
        slots: list[str | None] = [None] * size
        tail = [*need.include, *([need.end] if need.end else [])]
        place = size
        for word in reversed(tail):
            place = _put(slots, place - _length(word), word)
        place = 0
        for word in need.start:
            place = _put(slots, place, word) + _length(word)
        for syllable, word in need.pins.items():
            _put(slots, syllable - 1, word)
        pattern = need.pattern or ("-u" * size)[(size % 2) ^ 1 :][:size]
        return self._filled(slots, pattern, need.allowed)

    def _filled(self, slots: list[str | None], pattern: str, allowed: Allowed) -> list[str]:
        words, place = [], 0
        while place < len(slots):
            if (word := slots[place]) is None:
                room = next((n for n in range(place, len(slots)) if slots[n] is not None), len(slots)) - place
                word = self._word(pattern[place : place + room], allowed)
            words.append(word)
            place += _length(word)
        return words

    def _word(self, pattern: str, allowed: Allowed) -> str:
        """Return a word that fits the beginning of a stretch of stresses."""
        sizes = [size for size in (3, 2) if size <= len(pattern) and self.rng.random() < 0.3]
        for size in sizes:
            words = [word for word in by_stress().get(pattern[:size].replace("x", "u"), ()) if allowed(word)]
            if words:
                return self.pick(words)
        if pattern[0] != "-" and (weak := [word for word in WEAK if allowed(word)]):
            return self.rng.choice(weak)
        words = [word for word in by_stress()["-"] if allowed(word)]
        return self.pick(words or [word for word in many_words() if stress_of(word) == "-" and allowed(word)])

    def _by_words(self, need: Need) -> list[str]:
        count = need.words if need.words is not None else max(6, len(need.start) + len(need.include) + 3)
        fixed = len(need.start) + len(need.include) + bool(need.end)
        fill = []
        for number in range(count - fixed):
            weak = [word for word in WEAK if need.allowed(word)]
            use_weak = number % 2 == 0 and count > 4 and weak
            fill.append(self.rng.choice(weak) if use_weak else self.pick(self.vocabulary(need.allowed)))
        middle = len(fill) // 2
        return [*need.start, *fill[:middle], *need.include, *fill[middle:], *([need.end] if need.end else [])]

    def vocabulary(self, allowed: Allowed) -> list[str]:
        """Return the common words that are allowed, or where they are few any."""
        words = [word for word in content_words() if allowed(word)]
        return words if len(words) > 12 else [word for word in many_words() if allowed(word)]

    def _by_characters(self, need: Need) -> list[str]:
        assert need.characters is not None
        edge = [*need.start, *need.include]
        for _ in range(500):
            words = list(edge)
            while len(" ".join([*words, *filter(None, [need.end])])) < need.characters - 9:
                words.append(self.rng.choice(self.vocabulary(need.allowed)))
            left = need.characters - len(" ".join([*words, *filter(None, [need.end])])) - 1
            last = [word for word in self.vocabulary(need.allowed) if len(word) == left]
            if left == -1 or last:
                return [*words, *([self.rng.choice(last)] if last else []), *filter(None, [need.end])]
        raise LookupError(f"{self.form.name}: no line of {need.characters} characters")

    def returned(self, lines: list[str]) -> list[str]:
        """Put the lines and words that return in their places."""
        for first, *others in self.plan.groups:
            for other in others:
                lines[other] = lines[first]
        for index in self.plan.rentrements:
            lines[index] = " ".join(lines[0].split()[: self.form_opening()])
        return lines

    def form_opening(self) -> int:
        """Return how many words of line 1 return."""
        return span(self.form.rentrement)[1] if span(self.form.rentrement)[1] < 4 else 4


def _length(word: str) -> int:
    return max(find_syllable_counts(word))


def _put(slots: list[str | None], place: int, word: str) -> int:
    for number in range(_length(word)):
        if 0 <= place + number < len(slots):
            slots[place + number] = word
    return place
