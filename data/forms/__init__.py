"""Poem forms as data: the declaration a prompt is written from and a poem is judged by."""

from learnable.data.forms.counts import Count, span
from learnable.data.forms.form import Form, Part
from learnable.data.forms.labels import parse_scheme
from learnable.data.forms.loading import (
    CORE,
    FORMS_LISTED_BY,
    find_form,
    fold_name,
    form_of_spec,
    load_forms,
    poem_forms,
)
from learnable.data.forms.reading import SPEC_KEYS, constrain_form
from learnable.data.forms.wording import requirement, requirements

__all__ = [
    "CORE",
    "FORMS_LISTED_BY",
    "SPEC_KEYS",
    "Count",
    "Form",
    "Part",
    "constrain_form",
    "find_form",
    "fold_name",
    "form_of_spec",
    "load_forms",
    "parse_scheme",
    "poem_forms",
    "requirement",
    "requirements",
    "span",
]
