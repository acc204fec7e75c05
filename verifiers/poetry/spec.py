"""What a poetry spec may say."""

from __future__ import annotations

from typing import Any

from learnable.data.forms import SPEC_KEYS, Form, find_form
from learnable.data.records import Spec
from learnable.verifiers.protocol import SpecError
from learnable.verifiers.specs import check_keys, check_text, fault

MAX_LINES = 400


def check_poetry_spec(spec: Spec) -> None:
    """Raise `SpecError` or `UnknownNameError` unless the spec names a form and agrees with itself."""
    check_keys(spec, ["form"], [*SPEC_KEYS, "topic"])
    check_text(spec, "form")
    form = find_form(spec["form"])
    if "topic" in spec:
        check_text(spec, "topic")
    if "lines" in spec and not _is_count(spec["lines"], 1):
        raise fault("lines", spec["lines"], f"give a whole number from 1 to {MAX_LINES}")
    if "tolerance" in spec and not _is_count(spec["tolerance"], 0):
        raise fault("tolerance", spec["tolerance"], "give a whole number of syllables, 0 or more")
    _check_syllables(spec)
    _check_schemes(spec)
    _check_agreement(form.constrained(spec))


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MAX_LINES


def _check_syllables(spec: Spec) -> None:
    counts = spec.get("syllables", 1)
    counts = counts if isinstance(counts, list | tuple) else [counts]
    if not counts or not all(_is_count(count, 1) for count in counts):
        raise fault("syllables", spec["syllables"], "give one number for every line, or a list with one a line")


def _check_schemes(spec: Spec) -> None:
    schemes = spec.get("schemes", "a")
    schemes = schemes if isinstance(schemes, list | tuple) else [schemes]
    if not schemes or not all(isinstance(scheme, str) and scheme.strip() for scheme in schemes):
        raise fault("schemes", spec["schemes"], "give rhyme schemes such as 'abab' or 'A1 b A2'")


def _check_agreement(form: Form) -> None:
    lines = form.line_count
    if lines is None and not form.syllables:
        raise SpecError(f"form {form.name} asks for nothing: add 'lines', 'syllables' or 'schemes' to the spec")
    if len(form.syllables) > 1 and len(form.syllables) != lines:
        raise fault("syllables", list(form.syllables), f"give one number for each of the {lines} lines")
    for scheme in form.schemes:
        if len(scheme) != lines:
            raise fault("schemes", " ".join(scheme), f"give one label for each of the {lines} lines")
        if not all((label.isalpha() and len(label) == 1) or _is_refrain(label) for label in scheme):
            raise fault("schemes", " ".join(scheme), "use letters, x for unrhymed lines, A1 for refrains")


def _is_refrain(label: str) -> bool:
    return len(label) > 1 and label[0].isupper() and label[1:].isdigit()
