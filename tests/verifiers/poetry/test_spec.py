"""Specs that cannot be used are refused with their reason."""

from __future__ import annotations

import pytest

from learnable.verifiers.protocol import SpecError
from learnable.verifiers.registry import find_verifier


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"form": "Ode"}, "is no reward"),
        ({"form": "Haiku", "stanzas": 3}, "repeats no stanza"),
        ({"form": "Ghazal", "stanzas": 2}, "whole number from 5 to 15"),
        ({"form": "Haiku", "asked": ["metrics"]}, "no such component"),
        ({"form": "Mine", "declaration": {"title": "mine", "lins": 3}}, "'lins' is not known"),
        ({"form": "Mine", "declaration": "mine"}, "give the table"),
        ({"form": "Acrostic", "word": ""}, "non-empty"),
    ],
)
def test_a_spec_that_cannot_be_judged_is_told(spec: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        find_verifier("poetry").check_spec(spec)
