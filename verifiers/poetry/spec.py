"""Which poetry specs are valid."""

from __future__ import annotations

from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import Spec
from learnable.verifiers.poetry.constraints import CONSTRAINTS
from learnable.verifiers.poetry.forms import SPEC_KEYS, Form, find_form, form_of_spec
from learnable.verifiers.poetry.forms.labels import is_label
from learnable.verifiers.poetry.forms.reading import PARAMETERS, FormKeyError, read_form
from learnable.verifiers.protocol import SpecError, check_keys, check_text, fault

MAX_LINES = 400
MAX_PARAMETER = 200  # characters


def check_poetry_spec(spec: Spec) -> None:
    """Raise `SpecError` or `UnknownNameError` unless the spec names a form and its values fit together."""
    check_keys(spec, ["form"], [*SPEC_KEYS, "topic", "stanzas", "asked", "declaration", *PARAMETERS])
    check_text(spec, "form")
    form = _find_form(spec)
    if not form.is_reward:
        raise fault("form", spec["form"], f"{form.title} is no reward: {form.why}")
    for key in ("topic", *PARAMETERS):
        if key in spec and key != "number":
            check_text(spec, key)
            if key != "topic" and len(spec[key]) > MAX_PARAMETER:
                raise fault(key, spec[key], f"give at most {MAX_PARAMETER} characters")
    if "lines" in spec and not _is_count(spec["lines"], 1):
        raise fault("lines", spec["lines"], f"give a whole number from 1 to {MAX_LINES}")
    if "tolerance" in spec and not _is_count(spec["tolerance"], 0):
        raise fault("tolerance", spec["tolerance"], "give a whole number of syllables, 0 or more")
    _check_stanzas(spec, form)
    _check_components(spec)
    _check_syllables(spec)
    _check_schemes(spec)
    try:
        _check_agreement(form_of_spec(spec), spec)
    except FormKeyError as error:
        raise fault(error.key, spec.get(error.key), str(error)) from error


def _find_form(spec: Spec) -> Form:
    if "declaration" not in spec:
        return find_form(spec["form"])
    if not isinstance(spec["declaration"], dict):
        raise fault("declaration", spec["declaration"], "give the table that declares the form")
    try:
        return read_form(spec["form"], spec["declaration"], "spec")
    except LearnableError as error:
        raise SpecError(f"spec key 'declaration': form {spec['form']}: {error}") from error


def _is_count(value: Any, low: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= MAX_LINES


def _check_stanzas(spec: Spec, form: Form) -> None:
    if "stanzas" not in spec:
        return
    if form.repeat is None:
        raise fault("stanzas", spec["stanzas"], f"{form.title} repeats no stanza: leave it out")
    allowed = form.repeat_range()
    low, high = allowed.start + form.counts_opening, allowed.stop - 1 + form.counts_opening
    if not _is_count(spec["stanzas"], low) or spec["stanzas"] > high:
        raise fault("stanzas", spec["stanzas"], f"give a whole number from {low} to {high}")


def _check_components(spec: Spec) -> None:
    names = spec.get("asked", ["lines"])
    if not isinstance(names, list | tuple) or not names:
        raise fault("asked", names, "give a list of components, such as ['syllables', 'rhyme']")
    for name in names:
        if name != "lines" and name not in CONSTRAINTS:
            raise fault("asked", name, f"no such component; use {', '.join(CONSTRAINTS)}")


def _check_syllables(spec: Spec) -> None:
    counts = spec.get("syllables", 1)
    counts = counts if isinstance(counts, list | tuple) else [counts]
    if not counts or not all(_is_count(count, 1) or (isinstance(count, str) and "-" in count) for count in counts):
        raise fault("syllables", spec["syllables"], "give one number for every line, or a list with one a line")


def _check_schemes(spec: Spec) -> None:
    schemes = spec.get("schemes", "a")
    schemes = schemes if isinstance(schemes, list | tuple) else [schemes]
    if not schemes or not all(isinstance(scheme, str) and scheme.strip() for scheme in schemes):
        raise fault("schemes", spec["schemes"], "give rhyme schemes such as 'abab' or 'A1 b A2'")


def _check_agreement(form: Form, spec: Spec) -> None:
    lines = form.part_lines() if form.repeat is not None else form.line_count
    if lines is None and form.name == "Verse" and not form.syllables:
        raise SpecError(f"form {form.name} asks for nothing: add 'lines', 'syllables' or 'schemes' to the spec")
    if len(form.syllables) > 1 and lines is not None and len(form.syllables) != lines:
        raise fault("syllables", list(form.syllables), f"give one number for each of the {lines} lines")
    for scheme in form.schemes:
        if lines is not None and len(scheme) != lines and ("schemes" in spec or len(form.syllables) > 1):
            raise fault("schemes", " ".join(scheme), f"give one label for each of the {lines} lines")
        if not all(map(is_label, scheme)):
            raise fault("schemes", " ".join(scheme), "use letters, x for unrhymed lines, A1 for refrains")
