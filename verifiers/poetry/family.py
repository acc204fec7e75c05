"""Poetry prompts: form x topic x wording; each form's requirements come from the declaration its verifier reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any, cast

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt, Spec, name_problem
from learnable.data.sources.family import (
    DeclaredForm,
    Family,
    Knobs,
    UsualNumber,
    check_knobs,
    distinct,
    knob,
    on_scale,
    shuffled_grid,
)
from learnable.data.sources.wording import QuestionKind, Wording, choose_text
from learnable.verifiers.poetry.forms import (
    CORE,
    Form,
    constrain_form,
    load_forms,
    poem_forms,
    requirement,
    requirements,
    span,
)
from learnable.verifiers.poetry.forms.labels import say_scheme
from learnable.verifiers.poetry.subjects import QUOTES, SPELLED_WORDS, TOPICS

PLAIN_PROMPTS = ("Write a {title} about {topic}{rhyming}.", "Compose a {title} about {topic}{rhyming}.")
EXPLICIT = ("Write a {title} about {topic} with {requirement}.",)
SPELLED_OUT = (
    "Write {a} {title} about {topic} with {requirement}.",
    "Compose {a} {title} about {topic}, with {requirement}.",
)
VERSE_SYLLABLES = (4, 5, 6, 8)
VERSE_RHYMES = ("", "couplets", "alternate", "same")
RHYMED_LINES = {"couplets": (2, 4, 6, 8), "alternate": (4, 8), "same": (2, 3)}
# Values of parameters that prompts name.
PARAMETER_VALUES: Mapping[str, Sequence[Any]] = {
    "word": SPELLED_WORDS,
    "second_word": SPELLED_WORDS,
    "letter": "eaotnirs",
    "quote": QUOTES,
    "number": (3, 2, 4, 1),
}
# What `constraints` drops first comes last.
ASKABLE = (
    "lines",
    "syllables",
    "words",
    "characters",
    "rhyme",
    "refrains",
    "rentrement",
    "end_words",
    "metre",
    "stanzas",
)


@dataclass(frozen=True, slots=True)
class PoetryKnobs:
    """`topics`: how many of the topics, those of the wording where it has some, are used.

    `lines`: no poem has more; unless it is set, those of Verse alone.

    `constraints`: how many of a form's components are asked for (0: all). `tolerance`: syllables a line may be off
    (-1: as the form has it). `stanzas`: how many stanzas a form of any length has (0: a few lengths around its usual
    one); a form that may not have so many has no prompts.
    """

    topics: int = knob(len(TOPICS), 1, len(TOPICS))
    lines: int = knob(UsualNumber(8), 1, 8)
    constraints: int = knob(0, 0, len(ASKABLE))
    tolerance: int = knob(-1, -1, 5)
    stanzas: int = knob(0, 0, 100)

    def __post_init__(self) -> None:
        check_knobs("poetry", self)


def generate(form: str, seed: int, knobs: PoetryKnobs) -> Iterator[Prompt]:
    """Yield the prompts of one poem form that comes with the library."""
    return generate_form(poem_forms()[form], seed, knobs)


def generate_form(form: Form, seed: int, knobs: PoetryKnobs, own: bool = False) -> Iterator[Prompt]:
    """Yield the prompts of a form; those of a user's `own` form carry its declaration to whoever judges them.

    Raises `LearnableError` for a form that cannot be a reward.
    """
    _check_reward(form)
    topics = TOPICS[: knobs.topics]
    fixed = _fixed(form, knobs) | ({"declaration": form.declaration()} if own else {})
    if form.name == "Verse" and not own:
        return distinct(_verses(seed, topics, knobs.lines, fixed))
    if form.group == CORE and not fixed:
        pins = _short_enough(form, knobs, _pins(form))
        points = shuffled_grid(f"{form.name}:{seed}", topics, (*PLAIN_PROMPTS, *EXPLICIT), pins)
        return distinct(
            make_prompt(form, topic, template, pin | _named_length(form, template)) for topic, template, pin in points
        )
    pins = _short_enough(form, knobs, _all_pins(form, knobs))
    points = shuffled_grid(f"{form.name}:{seed}", topics, SPELLED_OUT, pins)
    return distinct(make_prompt(form, topic, template, {**pin, **fixed}) for topic, template, pin in points)


def _named_length(form: Form, template: str) -> dict[str, Any]:
    """Pin the lengths that a prompt names, of a form that may have others."""
    return {"syllables": list(form.syllables)} if form.measures and "{requirement}" in template else {}


def make_prompt(form: Form, topic: str, template: str, pins: Spec) -> Prompt:
    """Write one prompt; `pins` are what the spec sets beside the form's own declaration."""
    pinned = constrain_form(form, pins)
    title = form.title
    text = template.format(
        a="an" if title.lower().startswith(("a", "e", "i", "o", "hour")) else "a",
        title=title,
        topic=topic,
        requirement=requirement(pinned),
        rhyming=f", rhyming {pins['schemes'][0]}" if "schemes" in pins else "",
    )
    spec = {"form": form.name, "topic": topic, **pins}
    problem = name_problem("poetry", spec)
    return Prompt(text, "poetry", spec, "poetry", form.name, rate(pinned), named_problem=problem)


def rate(form: Form) -> float:
    """Rate a form: every line adds, a rhymed line adds more, exact syllables add, refrains add most."""
    lines = form.line_count or (form.part_lines() or 1) * form.repeat_default or 4
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


def _verses(seed: int, topics: Sequence[str], longest: int, fixed: dict[str, Any]) -> Iterator[Prompt]:
    form = poem_forms()["Verse"]
    axes = (
        topics,
        range(1, longest + 1),
        VERSE_SYLLABLES,
        VERSE_RHYMES,
        [fixed.get("tolerance", 0), fixed.get("tolerance", 1)],
    )
    for topic, lines, syllables, rhyme, tolerance in shuffled_grid(f"Verse:{seed}", *axes):
        pins: dict[str, Any] = {"lines": lines, "syllables": syllables, "tolerance": tolerance}
        if scheme := verse_scheme(rhyme, lines):
            pins["schemes"] = [scheme]
        if scheme or not rhyme:
            yield make_prompt(form, topic, EXPLICIT[0], pins | fixed)


def _pins(form: Form) -> list[dict[str, Any]]:
    """Return what a prompt may pin: one of several schemes, or, as often, nothing."""
    if len(form.schemes) < 2:
        return [{}]
    named = [{"schemes": ["".join(scheme)]} for scheme in form.schemes]
    return [*named, *({} for _ in named)]


def _all_pins(form: Form, knobs: PoetryKnobs) -> list[dict[str, Any]]:
    """Return what prompts of any form may pin: a scheme, a length, parameters."""
    schemes: list[dict[str, Any]] = [{}]
    # A prompt names one of several schemes where there are no more than twelve.
    if 1 < len(form.schemes) <= 12 and len({len(scheme) for scheme in form.schemes}) == 1:
        schemes = [{"schemes": [say_scheme(scheme, form.stanzas)]} for scheme in form.schemes]
    return [scheme | length | given for scheme, length, given in product(schemes, _lengths(form, knobs), _given(form))]


def _lengths(form: Form, knobs: PoetryKnobs) -> list[dict[str, Any]]:
    """Return the lengths that prompts name, where the form leaves it open."""
    if form.repeat is not None:
        allowed = form.repeat_range()
        if knobs.stanzas:
            count, rest = divmod(knobs.stanzas, max(1, len(form.stanzas)))  # a unit may be of several
            units = [unit for unit in [count - form.counts_opening] if unit in allowed and not rest]
        else:
            around = range(form.repeat_default - 1, form.repeat_default + 2)
            units = sorted({min(max(unit, allowed.start), allowed.stop - 1) for unit in around})
        return [{"stanzas": unit + form.counts_opening} for unit in units]
    if form.lines is not None and not isinstance(form.lines, int):
        low, high = span(form.lines)
        return [{"lines": lines} for lines in (low, low + 2, low + 4) if lines <= high]
    return [{}]


def _short_enough(form: Form, knobs: PoetryKnobs, pins: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pins under which the form has no more lines than users set; all where it leaves its length open."""
    if UsualNumber.is_kept(knobs.lines):
        return pins
    return [pin for pin in pins if (most_lines(constrain_form(form, pin)) or 0) <= knobs.lines]


def most_lines(form: Form) -> int | None:
    """Return the most lines that a poem of this form has, None where it leaves that open."""
    if form.repeat is None:
        return form.line_count if form.lines is None else span(form.lines)[1]
    unit = form.part_lines() or 1
    return unit * span(form.repeat)[1] + sum(part.part_lines() or 1 for part in (form.opening, form.closing) if part)


def _given(form: Form) -> list[dict[str, Any]]:
    """Return values for the form's parameters; two words are of one length."""
    names = [name for name, _ in form.parameters]
    choices = [[(name, value) for value in PARAMETER_VALUES[name]] for name in names]
    given = [dict(values) for values in product(*choices)]
    if "second_word" in names:
        given = [
            one for one in given if len(one["word"]) == len(one["second_word"]) and one["word"] != one["second_word"]
        ]
    return given


def _fixed(form: Form, knobs: PoetryKnobs) -> dict[str, Any]:
    """Return what the knobs set in every spec of the form."""
    fixed: dict[str, Any] = {}
    if knobs.tolerance >= 0 and (form.syllables or form.name == "Verse"):
        fixed["tolerance"] = knobs.tolerance
    if knobs.constraints:
        fixed["asked"] = list(ASKABLE[: knobs.constraints])
    return fixed


@dataclass(frozen=True, slots=True)
class PoetryFamily(Family):
    """The family of poems: its forms are declared, and users may declare their own."""

    def known_forms(self) -> tuple[str, ...]:
        """Return every declared form that comes with the library."""
        return tuple(poem_forms())

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield every name of every form, its title too."""
        for form in poem_forms().values():
            yield from ((name, form.name) for name in (*form.aliases, form.title, form.name))

    def every_form(self) -> tuple[str, ...]:
        """Return the forms that can be a reward."""
        return tuple(form.name for form in poem_forms().values() if form.is_reward)

    def check_form(self, form: str) -> None:
        """Raise `LearnableError` for a form that cannot be a reward."""
        _check_reward(self._find(form))

    def find_declared(self, form: str) -> DeclaredForm:
        """Return a form's declaration, a user's own before ours."""
        return self._find(form)

    def list_rules(self, declared: DeclaredForm) -> list[str]:
        """Return what a form asks for, in words."""
        return requirements(cast(Form, declared))

    def load_forms(self, path: str) -> Mapping[str, Form]:
        """Return the forms of a user's file by name. Raises `LearnableError` naming the file, the line and the key."""
        return load_forms(path)

    def reword(self, prompt: Prompt, wording: Wording, given: Knobs) -> Prompt:
        """Return a poem's prompt in other words, and about another topic where the wording has some.

        They are then as many as users set `topics` to.
        """
        count = given.get("poetry.topics", given.get("topics"))
        topics = wording.texts.get("topics", ())[: None if count is None else int(count)]
        templates = wording.texts.get("poetry", ())
        if not templates and not topics:
            return prompt
        topic = choose_text(topics, "topic", prompt.prompt_id) if topics else str(prompt.spec["topic"])
        template = choose_text(templates, "wording", prompt.prompt_id) if templates else SPELLED_OUT[0]
        pins = {name: value for name, value in prompt.spec.items() if name not in ("form", "topic")}
        return make_prompt(self._find(prompt.form), topic, template, pins)

    def _find(self, name: str) -> Form:
        return cast(Form, self.own[name]) if name in self.own else poem_forms()[name]

    def with_own(self, own: Mapping[str, DeclaredForm]) -> PoetryFamily:
        """Return the family with a user's forms."""

        def generate_own(form: str, seed: int, knobs: PoetryKnobs) -> Iterator[Prompt]:
            if form not in own:
                return generate(form, seed, knobs)
            return generate_form(cast(Form, own[form]), seed, knobs, own=True)

        return replace(self, own=own, generate=generate_own) if own else self


def _check_reward(form: Form) -> None:
    if not form.is_reward:
        raise LearnableError(f"form {form.name} ({form.title}) cannot be a reward: {form.why}")


CORE_FORMS = tuple(name for name, form in poem_forms().items() if form.group == CORE)
POETRY = PoetryFamily(
    "poetry",
    CORE_FORMS,
    PoetryKnobs,
    generate,
    usual_ranges={"constraints": "1..6"},
    kinds={"poetry": QuestionKind(None, (("title",), ("topic",), ("requirement",)), ("a",))},
    word_lists=("topics",),
    natural=Path(str(resources.files("learnable.verifiers.poetry"))) / "natural.toml",
    reads_forms=True,
)
