"""Does every damage to a good poem cost reward, and does it fail the poem where it breaks what defines the form?

Good poems are the public ones that pass. Each is damaged in every place: a line dropped, repeated over its neighbour or
swapped with it, a rhyme broken, a returning line altered or exchanged, the stanzas run together, junk added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

from benchmarks.poetry.data import form_poems, human_poems
from learnable.data.forms import Form, find_form
from learnable.data.forms.plan import NO_RHYME, Plan, plans
from learnable.data.records import Score
from learnable.verifiers.poetry.rhyme.kinds import traits
from learnable.verifiers.registry import find_verifier

JUNK = ("And that is all there is to say of this", "lorem ipsum dolor sit amet", "Written by an assistant, with love.")
STRAY = ("month", "wasp", "depth", "film", "bulb", "orange", "silver", "chimney", "elephant", "antelope")
UNNOTICED = "reward no lower"

Mutant = tuple[str, list[str]]


def mutations(data: Path, every: int = 1) -> dict[str, Any]:
    """Return how many mutants of each kind score no lower than the poem, and how many of them pass.

    Of every so many poems one is looked at.
    """
    counts: Counter[str] = Counter()
    human = ((form, poem) for form, poems in human_poems(data).items() for poem in poems)
    for form, poem in islice(chain(human, form_poems(data)), None, None, every):
        whole = _judged(form, poem)
        if not whole.passed or not find_form(form).is_reward:
            continue
        counts["poems"] += 1
        for kind, lines in mutants(find_form(form), poem):
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


def _broken(plan: Plan, poem: Sequence[str], places: Sequence[int]) -> Iterator[Mutant]:
    ends = [poem[place].split()[-1].strip(".,;:!?\"'()-").lower() for place in places]
    for slot, place in enumerate(places):
        rhymed = plan.classes[slot] != NO_RHYME and plan.classes.count(plan.classes[slot]) > 1
        if rhymed and not any(slot in group for group in plan.groups):
            stray = next((w for w in STRAY if all(traits(w).isdisjoint(traits(end)) for end in ends)), None)
            if stray:
                yield "break a rhyme", _with(poem, {place: " ".join([*poem[place].split()[:-1], stray])})
    for group in plan.groups:
        for slot in group:
            other = next(index for index in range(plan.size) if index not in group)
            swapped = {places[slot]: poem[places[other]], places[other]: poem[places[slot]]}
            yield "swap a refrain", _with(poem, swapped)
            yield "alter a refrain", _with(poem, {places[slot]: JUNK[0]})


def _with(poem: Sequence[str], changed: dict[int, str]) -> list[str]:
    return [changed.get(index, line) for index, line in enumerate(poem)]


def _judged(form: str, lines: Sequence[str]) -> Score:
    return find_verifier("poetry").score("\n".join(lines), prompt="", spec={"form": form})
