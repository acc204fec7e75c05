"""Poem forms as data: the declaration a prompt is written from and a poem is judged by."""

from learnable.verifiers.poetry.forms.counts import Count, span
from learnable.verifiers.poetry.forms.form import Form, FormPart
from learnable.verifiers.poetry.forms.labels import parse_scheme
from learnable.verifiers.poetry.forms.loading import (
    CORE,
    find_form,
    form_of_spec,
    load_forms,
    poem_forms,
)
from learnable.verifiers.poetry.forms.reading import SPEC_KEYS, constrain_form
from learnable.verifiers.poetry.forms.wording import requirement, requirements

__all__ = [
    "CORE",
    "SPEC_KEYS",
    "Count",
    "Form",
    "FormPart",
    "constrain_form",
    "find_form",
    "form_of_spec",
    "load_forms",
    "parse_scheme",
    "poem_forms",
    "requirement",
    "requirements",
    "span",
]
