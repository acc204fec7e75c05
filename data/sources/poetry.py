"""Poetry prompts: form x topic x wording; each form's requirements come from the declaration its verifier reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from learnable.data.forms import CORE, Form, poem_forms, requirement
from learnable.data.records import Prompt
from learnable.data.sources.family import Family, distinct, on_scale, require, shuffled_grid
from learnable.data.sources.words import TOPICS

PLAIN = ("Write a {title} about {topic}{rhyming}.", "Compose a {title} about {topic}{rhyming}.")
EXPLICIT = ("Write a {title} about {topic} with {requirement}.",)
VERSE_LINES = range(1, 9)
VERSE_SYLLABLES = (4, 5, 6, 8)
VERSE_RHYMES = ("", "couplets", "alternate", "same")
RHYMED_LINES = {"couplets": (2, 4, 6, 8), "alternate": (4, 8), "same": (2, 3)}


@dataclass(frozen=True, slots=True)
class PoetryKnobs:
    """`topics`: how many of the built-in topics are used. `lines`: the longest Verse."""

    topics: int = len(TOPICS)
    lines: int = 8

    def __post_init__(self) -> None:
        require("poetry", "topics", self.topics, 1, len(TOPICS))
        require("poetry", "lines", self.lines, 1, 8)


def generate(form: str, seed: int, knobs: PoetryKnobs) -> Iterator[Prompt]:
    """Yield the prompts of one poem form."""
    topics = TOPICS[: knobs.topics]
    if form == "Verse":
        return distinct(_verses(seed, topics, knobs.lines))
    declared = poem_forms()[form]
    pins = _pins(declared)
    points = shuffled_grid(f"{form}:{seed}", topics, (*PLAIN, *EXPLICIT), pins)
    return distinct(make_prompt(declared, topic, template, pin) for topic, template, pin in points)


def make_prompt(form: Form, topic: str, template: str, pins: Mapping[str, Any]) -> Prompt:
    """Write one prompt; `pins` are what the spec sets beside the form's own declaration."""
    asked = form.constrained(pins)
    title = form.title
    text = template.format(
        title=title,
        topic=topic,
        requirement=requirement(asked),
        rhyming=f", rhyming {pins['schemes'][0]}" if "schemes" in pins else "",
    )
    return Prompt(text, "poetry", {"form": form.name, "topic": topic, **pins}, "poetry", form.name, rate(asked))


def rate(form: Form) -> float:
    """Rate a form: every line adds, a rhymed line adds more, exact syllables add, refrains add most."""
    lines = form.line_count or 4
    labels = form.schemes[0] if form.schemes else ()
    rhymed = sum(label != "x" for label in labels)
    refrains = sum(len(label) > 1 for label in labels)
    return on_scale(1 + lines / 4 + rhymed / 4 + refrains / 2 + (form.tolerance == 0) * lines / 3)


def verse_scheme(rhyme: str, lines: int) -> str:
    """Return the scheme of a verse, e.g. `aabb` for four lines in couplets, or "" where the two do not go together."""
    if lines not in RHYMED_LINES.get(rhyme, ()):
        return ""
    if rhyme == "couplets":
        return "".join(letter * 2 for letter in "abcd"[: lines // 2])
    return "a" * lines if rhyme == "same" else "".join(pair * 2 for pair in ("ab", "cd")[: lines // 4])


def _verses(seed: int, topics: Sequence[str], longest: int) -> Iterator[Prompt]:
    form = poem_forms()["Verse"]
    axes = (topics, range(1, longest + 1), VERSE_SYLLABLES, VERSE_RHYMES, (0, 1))
    for topic, lines, syllables, rhyme, tolerance in shuffled_grid(f"Verse:{seed}", *axes):
        pins: dict[str, Any] = {"lines": lines, "syllables": syllables, "tolerance": tolerance}
        if scheme := verse_scheme(rhyme, lines):
            pins["schemes"] = [scheme]
        if scheme or not rhyme:
            yield make_prompt(form, topic, EXPLICIT[0], pins)


def _pins(form: Form) -> list[dict[str, Any]]:
    """Return what a prompt may pin: one of several schemes, or, as often, nothing."""
    if len(form.schemes) < 2:
        return [{}]
    named = [{"schemes": ["".join(scheme)]} for scheme in form.schemes]
    return [*named, *({} for _ in named)]


CORE_FORMS = tuple(name for name, form in poem_forms().items() if form.group == CORE)
POETRY = Family("poetry", CORE_FORMS, PoetryKnobs, generate)
