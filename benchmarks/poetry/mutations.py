"""Does every damage to a good poem cost reward, and does it fail the poem where it breaks what defines the form?

Good poems are the public ones that pass. Each is damaged in every place: a line is dropped, repeated over its
neighbour or swapped with it, a rhyme broken, a returning line altered or exchanged, the stanzas joined, junk added. And
its metre and its sense are damaged, with number of lines and rhymes as they were: stresses exchanged, a foot dropped or
added, a line of prose or of salad in place of another, half the poem salad.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

from benchmarks.poetry.data import form_poems, human_poems
from benchmarks.poetry.salads import SALADS, Pantry
from learnable.data.records import Score
from learnable.verifiers.poetry.forms import Form, find_form
from learnable.verifiers.poetry.forms.plan import NO_RHYME, FormPlan, plans
from learnable.verifiers.poetry.gate import FUNCTION_WORDS
from learnable.verifiers.poetry.metre.scansion import scan
from learnable.verifiers.poetry.poem import read_line
from learnable.verifiers.poetry.rhyme.rimes import find_traits
from learnable.verifiers.poetry.sound.pronunciation import find_line_counts
from learnable.verifiers.registry import find_verifier

JUNK = ("And that is all there is to say of this", "lorem ipsum dolor sit amet", "Written by an assistant, with love.")
STRAY = ("month", "wasp", "depth", "film", "bulb", "orange", "silver", "chimney", "elephant", "antelope")
UNNOTICED = "reward no lower"
# Forms of the public poems for which handbooks name a metre, whatever their declaration says.
METRICAL = frozenset(
    """
    ShakespeareanSonnet PetrarchanSonnet SpenserianSonnet Sonnet Limerick OttavaRima RhymeRoyal SpenserianStanza
    BalladStanza HeroicQuatrain TerzaRima ChantRoyal Ballade DoubleBallade DramaticVerse Elegiac Rondel
    """.split()
)
TERNARY = frozenset(["Limerick", "Elegiac"])  # their foot has three syllables, all others' two
ADDED = {2: "and now", 3: "and now for"}
# Prose that ends before a noun; of these the one is taken that leaves the line its number of syllables.
PROSE = (
    "it is a",
    "they had to pay the",
    "please refer to our",
    "the office has another",
    "customers should return the",
    "both of the departments have a",
    "the report of the committee on",
    "in general the company has no",
    "further information is available on",
    "the members of the board have not agreed about the",
)
STRESS, DROPPED, LONGER, PROSAIC, SALAD, HALF = DISTORTIONS = (
    "exchange stresses",
    "drop a foot",
    "add a foot",
    "a line of prose",
    "a line of salad",
    "half the poem salad",
)

Mutant = tuple[str, list[str]]
Words = tuple[str, ...]


def mutations(data: Path, every: int = 1) -> dict[str, Any]:
    """Return how many mutants of each kind score no lower than the poem, and how many of them pass.

    Of every so many poems one is looked at.
    """
    return _count(_good_poems(data, every), mutants)


def distortions(data: Path, every: int = 1) -> dict[str, Any]:
    """Return the same for damage to metre and sense."""
    lines = (line for poems in human_poems(data).values() for poem in poems for line in poem)
    verse = tuple(word for line in lines for word in read_line(line).words)
    pantry, chance = Pantry(verse), random.Random(0)
    return _count(_good_poems(data, every), lambda form, poem: distort(form, poem, pantry, chance))


def _good_poems(data: Path, every: int) -> Iterator[tuple[str, list[str]]]:
    human = ((form, poem) for form, poems in human_poems(data).items() for poem in poems)
    return islice(chain(human, form_poems(data)), None, None, every)


def _count(
    poems: Iterator[tuple[str, list[str]]], damage: Callable[[Form, Sequence[str]], Iterator[Mutant]]
) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for form, poem in poems:
        whole = _judged(form, poem)
        if not whole.passed or not find_form(form).is_reward:
            continue
        counts["poems"] += 1
        for kind, lines in damage(find_form(form), poem):
            score = _judged(form, lines)
            counts[f"{kind}: mutants"] += 1
            counts[f"{kind}: {UNNOTICED}"] += (score.reward or 0.0) >= (whole.reward or 0.0)
            counts[f"{kind}: pass"] += bool(score.passed)
    return dict(counts)


def mutants(form: Form, poem: Sequence[str]) -> Iterator[Mutant]:
    """Yield every damaged version of a poem, given as lines, the blank ones between stanzas included."""
    places = [index for index, line in enumerate(poem) if line]
    plan = plans(form, len(places))[0]
    for place in places:
        yield "drop a line", [*poem[:place], *poem[place + 1 :]]
    for place, following in pairwise(places):
        if poem[place] != poem[following]:
            yield "repeat a line", _with(poem, {following: poem[place]})
    if len(poem) > len(places):
        yield "run stanzas together", [poem[place] for place in places]
    for junk in JUNK:
        yield "add junk", [*poem, junk]
    if plan.size == len(places):
        yield from _broken(plan, poem, places)


def _broken(plan: FormPlan, poem: Sequence[str], places: Sequence[int]) -> Iterator[Mutant]:
    ends = [poem[place].split()[-1].strip(".,;:!?\"'()-").lower() for place in places]
    for slot, place in enumerate(places):
        rhymed = plan.classes[slot] != NO_RHYME and plan.classes.count(plan.classes[slot]) > 1
        if rhymed and not any(slot in group for group in plan.groups):
            stray = next((w for w in STRAY if all(find_traits(w).isdisjoint(find_traits(end)) for end in ends)), None)
            if stray:
                yield "break a rhyme", _with(poem, {place: " ".join([*poem[place].split()[:-1], stray])})
    for group in plan.groups:
        for slot in group:
            other = next(index for index in range(plan.size) if index not in group)
            swapped = {places[slot]: poem[places[other]], places[other]: poem[places[slot]]}
            yield "swap a refrain", _with(poem, swapped)
            yield "alter a refrain", _with(poem, {places[slot]: JUNK[0]})


def distort(form: Form, poem: Sequence[str], pantry: Pantry, chance: random.Random) -> Iterator[Mutant]:
    """Yield versions of a poem with its metre or sense damaged; lines keep their last words, so the rhymes stay.

    Where the form has a metre, only lines that keep it without a licence are damaged: any other may come out better.
    """
    metrical = bool(form.metre) or form.name in METRICAL
    places = [index for index, line in enumerate(poem) if len(read_line(line).words) > 3]
    if metrical:
        places = [place for place in places if form.name in TERNARY or is_regular(read_line(poem[place]).words)]
    refrains = {index for group in plans(form, sum(map(bool, poem)))[0].groups for index in group}
    salad = SALADS["same stress"][1]
    for place in places:
        words = read_line(poem[place]).words
        made: dict[str, Sequence[str]] = {SALAD: salad(pantry, [words], chance)[0]}
        if metrical:
            foot = 3 if form.name in TERNARY else 2
            made |= {STRESS: exchange_stresses(words), DROPPED: drop_foot(words, foot), PROSAIC: write_prose(words)}
            made[LONGER] = (*ADDED[foot].split(), *words)
        for kind, line in made.items():
            if line and tuple(line) != words and place not in refrains:
                yield kind, _with(poem, {place: " ".join(line)})
    lines_of_words = [index for index, line in enumerate(poem) if len(read_line(line).words) > 1]
    half = lines_of_words[: (len(lines_of_words) + 1) // 2]
    if len(half) > 1:
        lines = salad(pantry, [read_line(poem[place]).words for place in half], chance)
        yield HALF, _with(poem, {place: " ".join(line) for place, line in zip(half, lines, strict=True)})


def is_regular(words: Words) -> bool:
    """Whether a line is iambic throughout, as it is scanned."""
    stress = scan(words, "iambic").stress
    return stress.removesuffix("-") == "-+" * (len(stress) // 2)


def exchange_stresses(words: Words) -> Words:
    """Return the line with each word of grammar after the word of content that follows it, but for the last word.

    >>> exchange_stresses(("the", "winter", "evening", "settles", "on", "the", "town"))
    ('winter', 'the', 'evening', 'settles', 'on', 'the', 'town')
    """
    line, place = list(words), 0
    while place < len(line) - 2:
        if line[place] in FUNCTION_WORDS and line[place + 1] not in FUNCTION_WORDS:
            line[place : place + 2] = line[place + 1], line[place]
            place += 1
        place += 1
    return tuple(line)


def drop_foot(words: Words, foot: int) -> Words:
    """Return the line without the first words in it that make a foot of so many syllables; none where no words do."""
    for start in range(len(words) - 1):
        for end in range(start + 1, len(words)):
            if max(find_line_counts(words[start:end])) == foot == min(find_line_counts(words[start:end])):
                return words[:start] + words[end:]
    return ()


def write_prose(words: Words) -> Words:
    """Return prose with the last word of the line and, as near as may be, its number of syllables."""
    wanted = min(find_line_counts(words))
    made = [(*text.split(), words[-1]) for text in PROSE]
    return min(made, key=lambda line: abs(min(find_line_counts(line)) - wanted))


def _with(poem: Sequence[str], changed: dict[int, str]) -> list[str]:
    return [changed.get(index, line) for index, line in enumerate(poem)]


def _judged(form: str, lines: Sequence[str]) -> Score:
    return find_verifier("poetry").score("\n".join(lines), prompt="", spec={"form": form})
