"""The bundled policy was trained on these very prompts, in these words: a change here makes its figures untrue."""

from __future__ import annotations

import hashlib

import pytest

from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.families.registry import DEFAULT_FAMILIES
from tests.support.domains import needs_poems

COUNT = 618
DIGEST = "1ffee04cc04142e9300e7a257f4f64627aec70a25c59477b3db31cade527215b"  # of the words, in any order


@pytest.mark.parametrize("seed", [0, 7])
def test_the_prompts_of_the_programs_family_are_those_the_policy_was_trained_on(seed: int) -> None:
    prompts = list(builtin_prompts(families=["programs"], seed=seed))
    lines = sorted(f"{p.text}\n{p.verifier} {p.family} {p.form} {p.difficulty}\n" for p in prompts)
    assert len(prompts) == COUNT
    assert hashlib.sha256("".join(lines).encode()).hexdigest() == DIGEST


@needs_poems
def test_a_run_that_names_no_family_takes_the_same_ones() -> None:
    assert tuple(DEFAULT_FAMILIES) == ("arithmetic", "comparison", "counting", "poetry", "programs")
    assert len(DEFAULT_FAMILIES["programs"].forms) == 23
