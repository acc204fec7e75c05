"""What each line of a poem must be, worked out from the form's declaration step by step; and the closing touches."""

from __future__ import annotations

from typing import Any

from learnable.verifiers.poetry.forms import Form, span
from learnable.verifiers.poetry.forms.coordinates import parse_link, place_pairs
from learnable.verifiers.poetry.forms.plan import NO_RHYME, FormPlan
from learnable.verifiers.poetry.forms.words import word_list
from learnable.verifiers.poetry.sound.pronunciation import find_syllable_counts
from tests.verifiers.poetry.builder_for_tests import Builder
from tests.verifiers.poetry.word_bank_for_tests import Allowed, by_stress, many_words

FEET = {"iambic": "u-", "trochaic": "-u", "anapaestic": "uu-", "amphibrachic": "u-u", "dactylic": "-uu"}
OPENING = "when we remember all that".split()


def set_lengths(builder: Builder) -> None:
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


def set_sounds(builder: Builder) -> None:
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
                if foot[-1] == "-" and form.endings[index : index + 1] != "f"
                else (foot * need.syllables)[: need.syllables]
            )


def _near(value: int, wanted: Any, tolerance: int) -> bool:
    low, high = span(wanted)
    return low - tolerance <= value <= high + tolerance


def set_ends(builder: Builder) -> None:
    """Set the last words: rhymes, repeated end words, words that rhyme with nothing."""
    form, plan = builder.form, builder.plan
    signs: dict[str, str] = {}
    for index, need in enumerate(builder.needs):
        need.allowed = allow_words(form)
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


def _rhymes_matter(form: Form, plan: FormPlan) -> bool:
    return form.unrhymed or plan.wanted > 0 or bool(form.links)


def _gather(builder: Builder, words: list[str]) -> None:
    """Put all end words into the closing lines."""
    for need in builder.needs[len(builder.form.end_words) :]:
        gathered, words = words[: builder.form.envoi], words[builder.form.envoi :]
        need.include, need.end = gathered[:-1], gathered[-1]
        need.words = len(gathered) + 3 if need.syllables is None else need.words


def _open(builder: Builder) -> None:
    """Make line 1 open with as many one-syllable words as a rentrement has syllables."""
    index = builder.plan.rentrements[0]
    name = builder.plan.classes[index]
    last = builder.rhyming(name) if name != NO_RHYME else builder.pick(by_stress()["-"])
    builder.needs[0].start = ["the", builder.pick(by_stress()["-"]), "of", last]


def allow_words(form: Form) -> Allowed:
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
        rules.append(lambda word: all(low <= count <= high for count in find_syllable_counts(word)))
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


def set_letters(builder: Builder) -> None:
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


def set_vocabulary(builder: Builder) -> None:
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


def set_inner_rhymes(builder: Builder) -> None:
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


def finish_lines(form: Form, lines: list[str]) -> list[str]:
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
