"""Builds a poem that keeps a form, from nothing but the form's declaration and a bank of words.

It reads the declaration in another way than the judge does, so that the two check each other.
"""

from __future__ import annotations

from learnable.data.records import JsonObject
from learnable.verifiers.poetry.forms import Form, find_form
from tests.verifiers.poetry.builder_for_tests import Builder
from tests.verifiers.poetry.line_needs_for_tests import (
    finish_lines,
    set_ends,
    set_inner_rhymes,
    set_lengths,
    set_letters,
    set_sounds,
    set_vocabulary,
)
from tests.verifiers.poetry.shapes_for_tests import SHAPE_BUILDERS, finish, shape
from tests.verifiers.poetry.special_rules_for_tests import SPECIAL_BUILDERS

SPECIAL = SPECIAL_BUILDERS | SHAPE_BUILDERS
STEPS = (set_lengths, set_sounds, set_ends, set_letters, set_vocabulary, set_inner_rhymes, shape)


def build_poem(form: Form, seed: int = 0) -> str:
    """Return a poem of the form, blank lines between its stanzas; the same seed builds the same poem."""
    builder = Builder(form, seed)
    for step in STEPS:
        step(builder)
    rules = [SPECIAL[name] for name in form.special if name in SPECIAL]
    for rule in rules:
        if rule.before:
            rule.before(builder)
    lines = builder.returned([builder.line(need) for need in builder.needs])
    for rule in rules:
        if rule.after:
            lines = rule.after(builder, lines)
    return builder.joined(finish_lines(form, finish(builder, lines)))


def without_language(name: str) -> JsonObject:
    """Return a spec that judges a form by all but its language: words from a bank make no sentences."""
    return {"form": name, "declaration": find_form(name).declaration() | {"no_language": "built from a bank of words"}}
