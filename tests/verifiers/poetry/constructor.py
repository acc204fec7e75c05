"""Builds a poem that keeps a form, from nothing but the form's declaration and a bank of words.

It reads the declaration by another road than the judge does, so that the two check one another.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from learnable.data.forms import Form, span
from learnable.data.forms.coordinates import parse_link, place_pairs
from learnable.data.forms.plan import NO_RHYME, Plan, plans
from learnable.data.forms.words import word_list
from learnable.verifiers.poetry.sound.prosody import syllable_counts
from tests.verifiers.poetry.word_bank import (
    WEAK,
    Allowed,
    by_stress,
    content_words,
    many_words,
    rhyme_classes,
    stress_of,
)

FEET = {"iambic": "u-", "trochaic": "-u", "anapaestic": "uu-", "amphibrachic": "u-u", "dactylic": "-uu"}
OPENING = "when we remember all that".split()


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


class Builder:
    """Builds one poem; the same seed builds the same one."""

    def __init__(self, form: Form, seed: int = 0) -> None:
        self.form = form
        self.rng = random.Random(f"{form.name}:{seed}")
        self.plan = self.rng.choice(plans(form, self.target()))
        self.used: set[str] = set()
        self.classes = self._rhymes()
        self.needs = [Need() for _ in range(self.plan.size)]

    def target(self) -> int:
        """Return how many lines the poem shall have."""
        form = self.form
        if form.repeat is not None:
            around = sum(part.part_lines() or 1 for part in (form.opening, form.closing) if part)
            return around + (form.part_lines() or 1) * form.repeat_default
        if (lines := form.line_count) is not None:
            return lines
        if form.stanza_words:
            return len(form.stanza_words)
        low, high = span(form.lines or 4)
        return min(low + 2, high)

    def poem(self) -> str:
        """Return the poem."""
        from tests.verifiers.poetry.shape_builders import SHAPE_BUILDERS, finish, shape
        from tests.verifiers.poetry.special_builders import SPECIAL_BUILDERS as BUILDERS

        special = BUILDERS | SHAPE_BUILDERS
        for step in (_lengths, _sounds, _ends, _letters, _vocabulary, _inner_rhymes, shape):
            step(self)
        for name in self.form.special:
            if name in special and (before := special[name].before):
                before(self)
        lines = [self.line(need) for need in self.needs]
        lines = self._returned(lines)
        for name in self.form.special:
            if name in special and (after := special[name].after):
                lines = after(self, lines)
        return self.joined(_finished(self.form, finish(self, lines)))

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
        return [dealt.get(name) or rest[name % len(rest)] for name in range(len(sizes))] + rest

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

    def _returned(self, lines: list[str]) -> list[str]:
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
    return max(syllable_counts(word))


def _put(slots: list[str | None], place: int, word: str) -> int:
    for number in range(_length(word)):
        if 0 <= place + number < len(slots):
            slots[place + number] = word
    return place


def _lengths(builder: Builder) -> None:
    """Set syllables, words and characters, from each line's own count or the poem's total."""
    form, plan, needs = builder.form, builder.plan, builder.needs
    for index, need in enumerate(needs):
        for name in ("syllables", "words", "characters"):
            setattr(need, name, _length_of(builder, name, index))
        if form.stanza_words:
            need.words = span(form.stanza_words[index % len(form.stanza_words)])[0]
        if "vowels" in dict(form.budget) and need.words is None:
            share, left = divmod(span(dict(form.budget)["vowels"])[0], plan.size)
            need.words = share + (index < left)
        if form.least_words and need.words is None and need.syllables is None:
            need.words = max(6, form.least_words + 2)


def _length_of(builder: Builder, name: str, index: int) -> int | None:
    """Return how long a line shall be: near the least that its own count allows, or its share of the poem's total."""
    plan, totals = builder.plan, dict(builder.form.total)
    column, share = getattr(plan, name), 0
    if name in totals:
        low, high = span(totals[name])
        each, left = divmod(low + (high > low), plan.size)
        share = each + (index < left)
    if not column or column[index] is None:
        return share or None
    low, high = span(column[index])
    least = high * 3 // 4 if low == 0 else low + 2 if high > low + 6 else low
    return min(high, max(low, share or least))


def _sounds(builder: Builder) -> None:
    """Set stress patterns; a line of a given metre is as long as its feet where the tolerance allows."""
    form, plan = builder.form, builder.plan
    for index, need in enumerate(builder.needs):
        if form.template:
            need.pattern = form.template[index % len(form.template)]
            need.syllables = len(need.pattern)
        elif form.metre and need.syllables is not None:
            foot = FEET[form.metre]
            feet = plan.feet[index] if plan.feet else None
            length = len(foot) * feet if feet else need.syllables
            if (
                not plan.syllables
                or plan.syllables[index] is None
                or _near(length, plan.syllables[index], form.tolerance)
            ):
                need.syllables = length
            need.pattern = (
                (foot * need.syllables)[-need.syllables :]
                if foot[-1] == "-"
                else (foot * need.syllables)[: need.syllables]
            )


def _near(value: int, wanted: Any, tolerance: int) -> bool:
    low, high = span(wanted)
    return low - tolerance <= value <= high + tolerance


def _ends(builder: Builder) -> None:
    """Set the last words: rhymes, repeated end words, words that rhyme with nothing."""
    form, plan = builder.form, builder.plan
    signs: dict[str, str] = {}
    for index, need in enumerate(builder.needs):
        need.allowed = allowed_by(form)
        if not (form.template or form.word_lengths or form.palindrome):
            need.end = _end(builder, index, need.allowed, signs)
    if form.envoi:
        _gather(builder, list(signs.values()))
    if form.runs:
        for index, need in enumerate(builder.needs):
            need.end = builder.rhyming(builder.loose_class(index // 3), need.allowed)
    if plan.rentrements:
        _open(builder)


def _end(builder: Builder, index: int, allowed: Allowed, signs: dict[str, str]) -> str | None:
    """Return the last word of a line, or None where any will do; `signs` are the end words so far."""
    form, name = builder.form, builder.plan.classes[index]
    sign = form.end_words[index] if index < len(form.end_words) else "-"
    if len(sign) > 1:
        return sign
    if sign != "-":
        return signs.setdefault(sign, signs.get(sign) or builder.rhyming(builder.loose_class(len(signs)), allowed))
    if name == NO_RHYME:
        return builder.rhyming(builder.loose_class(index), allowed) if _rhymes_matter(form, builder.plan) else None
    return builder.rhyming(name, allowed) + (" again" if form.radif else "")


def _rhymes_matter(form: Form, plan: Plan) -> bool:
    return form.unrhymed or plan.wanted > 0 or bool(form.links)


def _gather(builder: Builder, words: list[str]) -> None:
    """Put all end words into the closing lines."""
    for need in builder.needs[len(builder.form.end_words) :]:
        held, words = words[: builder.form.envoi], words[builder.form.envoi :]
        need.include, need.end = held[:-1], held[-1]
        need.words = len(held) + 3 if need.syllables is None else need.words


def _open(builder: Builder) -> None:
    """Make line 1 open with as many one-syllable words as a rentrement has syllables."""
    index = builder.plan.rentrements[0]
    name = builder.plan.classes[index]
    last = builder.rhyming(name) if name != NO_RHYME else builder.pick(by_stress()["-"])
    builder.needs[0].start = ["the", builder.pick(by_stress()["-"]), "of", last]


def allowed_by(form: Form) -> Allowed:
    """Return which words the form's rules about letters and syllables allow."""
    rules: list[Allowed] = []
    if form.without:
        rules.append(lambda word: form.without.lower() not in word)
    if form.vowel:
        rules.append(
            lambda word: {sign for sign in word if sign in "aeiou"} == {form.vowel.lower()} and "y" not in word
        )
    if form.word_syllables is not None:
        low, high = span(form.word_syllables)
        rules.append(lambda word: all(low <= count <= high for count in syllable_counts(word)))
    for what, _ in form.budget:
        rules.append(
            (lambda word: sum(sign in "aeiou" for sign in word) == 1)
            if what == "vowels"
            else (lambda word, what=what: what not in word)
        )
    if form.names:
        known = set(word_list(dict(form.names)["list"]))
        rules.append(lambda word: word not in known)
    if form.word_lengths and isinstance(form.word_lengths[0], tuple) and isinstance(form.word_lengths[0][0], str):
        named: dict[str, Any] = dict(form.word_lengths)
        rules.append(lambda word: len(word) % named["modulo"] == named["rest"])
    return lambda word: all(rule(word) for rule in rules)


def _letters(builder: Builder) -> None:
    """Set first and last words whose letters spell a text."""
    for place, text in builder.form.letters:
        for need, letter in zip(builder.needs, text.lower(), strict=False):
            if place in ("first", "first_word"):
                need.start = [builder.pick(builder.vocabulary(_begins(letter, need.allowed)))]
            elif place == "last":
                need.end = builder.pick(builder.vocabulary(_closes(letter, need.allowed)))
            elif place == "end_word":
                need.end = builder.pick(builder.vocabulary(_begins(letter, need.allowed)))


def _begins(letter: str, allowed: Allowed) -> Allowed:
    return lambda word: word[0] == letter and allowed(word)


def _closes(letter: str, allowed: Allowed) -> Allowed:
    return lambda word: word[-1] == letter and allowed(word)


def _vocabulary(builder: Builder) -> None:
    """Set words that lines must name, open with or share a sound of."""
    form = builder.form
    for index, need in enumerate(builder.needs):
        if form.contains:
            need.include = [form.contains[index].split("|")[0]]
        if form.names:
            rule = dict(form.names)
            words = word_list(rule["list"])
            if not form.contains:
                need.include = [words[index % len(words)]]
        if form.starts:
            need.start = [word_list(form.starts)[index % 8]]
        if form.same_start:
            need.start = OPENING[: form.same_start]
        if form.alliteration:
            letter = "bdfglmpst"[index % 9]
            need.start = [
                builder.pick(builder.vocabulary(_begins(letter, need.allowed))) for _ in range(form.alliteration)
            ]


def _inner_rhymes(builder: Builder) -> None:
    """Pin words at the syllables that must rhyme."""
    links = [
        (_node(builder, i, left.syllable), _node(builder, j, right.syllable))
        for left, right in map(parse_link, builder.form.links)
        for i, j in place_pairs(left, right, builder.plan.stanzas)
    ]
    for one, other in sorted(links, key=lambda link: max(link[0][0], link[1][0])):
        name = _class_at(builder, *one)
        if name is None:
            name = _class_at(builder, *other)
        name = builder.loose_class(len(builder.used)) if name is None else name
        for line, syllable in (one, other):
            if _class_at(builder, line, syllable) != name:
                _pin(builder, line, syllable, builder.rhyming(name))


def _node(builder: Builder, line: int, syllable: Any) -> tuple[int, int | None]:
    """Return where a word is to be set: a line that returns is written where it first stands."""
    line = next((group[0] for group in builder.plan.groups if line in group), line)
    place = None if syllable is None else span(syllable)[0]
    return line, None if place == builder.needs[line].syllables else place


def _class_at(builder: Builder, line: int, syllable: int | None) -> int | None:
    need = builder.needs[line]
    word = need.end if syllable is None else need.pins.get(syllable)
    return next((name for name, words in enumerate(builder.classes) if word in words), None)


def _pin(builder: Builder, line: int, syllable: int | None, word: str) -> None:
    if syllable is None:
        builder.needs[line].end = word
    else:
        builder.needs[line].pins[syllable] = word


def _finished(form: Form, lines: list[str]) -> list[str]:
    """Capitalise and add closing signs, unless capitals or characters matter."""
    if any(place == "spine" for place, _ in form.letters):
        return [_spine(line, text) for line, text in zip(lines, _spine_texts(form), strict=False)]
    if form.ends:
        lines = [line + form.ends for line in lines]
    if "sentences" in dict(form.total):
        lines = [*lines[:-1], lines[-1] + "."]
    return lines


def _spine_texts(form: Form) -> list[tuple[str, str, str]]:
    """Return for each line the letter that must not stand before its capital, the capital, and what must not follow."""
    text = dict(form.letters)["spine"].lower()
    return [(text[index] if index else "", text[index], text[index + 1 : index + 2]) for index in range(len(text))]


def _spine(line: str, letters: tuple[str, str, str]) -> str:
    before, letter, following = letters
    words = [word for word in line.split() if not set(word) & {before, following}]
    inside = next(
        word
        for word in many_words()
        if letter in word[1:-1] and word[0] != letter and (not following or following not in word)
    )
    place = inside.index(letter, 1)
    return " ".join([*words[:3], inside[:place] + letter.upper() + inside[place + 1 :], *words[3:]])
