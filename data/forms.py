"""Poem forms as data: the declaration a prompt is written from and a poem is judged by."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from learnable.data.errors import LearnableError, UnknownNameError

SPEC_KEYS = ("lines", "syllables", "tolerance", "schemes")


@dataclass(frozen=True, slots=True)
class Form:
    """One form. `schemes` holds one tuple of line labels for each accepted rhyme scheme.

    A label is a letter (rhyme class), `x` (unrhymed) or a capital with a digit (`A1`, a refrain that
    returns word for word and rhymes with class `a`).
    """

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    lines: int | None = None
    syllables: tuple[int, ...] = ()
    tolerance: int = 0
    schemes: tuple[tuple[str, ...], ...] = ()

    @property
    def line_count(self) -> int | None:
        """Lines the poem must have, or None where the form leaves it open."""
        if self.lines is not None:
            return self.lines
        if len(self.syllables) > 1:
            return len(self.syllables)
        return len(self.schemes[0]) if self.schemes else None

    def constrained(self, spec: Mapping[str, Any]) -> Form:
        """Return this form with what `spec` sets itself (`lines`, `syllables`, `tolerance`, `schemes`)."""
        return replace(self, **_fields({key: spec[key] for key in SPEC_KEYS if key in spec}))


def fold_name(name: str) -> str:
    """Fold a form name so that case, spaces, hyphens and underscores do not matter.

    >>> fold_name("Shakespearean-Sonnet") == fold_name("shakespearean sonnet")
    True
    """
    return "".join(character for character in name.casefold() if character not in " -_")


@cache
def poem_forms() -> Mapping[str, Form]:
    """Return every declared poem form by its canonical name."""
    text = resources.files("learnable.data").joinpath("forms.toml").read_text(encoding="utf-8")
    return {name: Form(name=name, **_fields(table)) for name, table in tomllib.loads(text).items()}


def find_form(name: str) -> Form:
    """Return the poem form called `name` (canonical name, title or alias).

    Raises `UnknownNameError` with the nearest names.
    """
    forms = poem_forms()
    by_fold = {fold_name(alias): form for form in forms.values() for alias in (*form.aliases, form.title, form.name)}
    if (form := by_fold.get(fold_name(name))) is None:
        raise UnknownNameError("poem form", name, forms)
    return form


def parse_scheme(text: str) -> tuple[str, ...]:
    """Split a rhyme scheme into one label a line; labels of two characters are set apart by spaces.

    >>> parse_scheme("aabba")
    ('a', 'a', 'b', 'b', 'a')
    >>> parse_scheme("A1 b A2")
    ('A1', 'b', 'A2')
    """
    return tuple(text.split()) if " " in text else tuple(text)


def requirement(form: Form) -> str:
    """Say what the form asks for, in the words of a prompt.

    >>> requirement(find_form("haiku"))
    '3 lines of 5, 7 and 5 syllables'
    """
    lines = form.line_count
    parts = [] if lines is None else [f"{lines} line" if lines == 1 else f"{lines} lines"]
    if form.syllables:
        about = "about " if form.tolerance else ""
        parts.append(f"of {about}{_join_counts(form.syllables)} syllables")
    if form.schemes and not all(label == "x" for label in form.schemes[0]):
        parts.append("rhyming " + " or ".join(_join_labels(scheme) for scheme in form.schemes))
    return " ".join(parts)


def _join_counts(counts: tuple[int, ...]) -> str:
    if len(set(counts)) == 1:
        return str(counts[0])
    return f"{', '.join(map(str, counts[:-1]))} and {counts[-1]}"


def _join_labels(scheme: tuple[str, ...]) -> str:
    return (" " if any(len(label) > 1 for label in scheme) else "").join(scheme)


def _fields(table: Mapping[str, Any]) -> dict[str, Any]:
    unknown = set(table) - {"title", "aliases", *SPEC_KEYS}
    if unknown:
        raise LearnableError(
            f"form key {sorted(unknown)[0]!r} is not known: use title, aliases, {', '.join(SPEC_KEYS)}"
        )
    fields = dict(table)
    if "aliases" in fields:
        fields["aliases"] = tuple(fields["aliases"])
    if "syllables" in fields:
        counts = fields["syllables"]
        fields["syllables"] = (counts,) if isinstance(counts, int) else tuple(counts)
    if "schemes" in fields:
        schemes = fields["schemes"]
        fields["schemes"] = tuple(
            parse_scheme(scheme) for scheme in ([schemes] if isinstance(schemes, str) else schemes)
        )
    return fields
