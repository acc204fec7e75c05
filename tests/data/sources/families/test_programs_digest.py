"""The bundled policy was trained on these very prompts, in these words: a change here makes its figures untrue."""

from __future__ import annotations

import hashlib

import pytest

from learnable.data.sources.builtin import FAMILIES, builtin_prompts

COUNT = 618
DIGESTS = {
    0: "23149e63c961d6c06fe014247dc6c74775f7e4498d1bc6a4d8a90ed3774c1c4f",
    7: "962f53bcce343c5083dd0aac12d531602934ff50c7405a6b6be5d55d38c3ac21",
}


@pytest.mark.parametrize(("seed", "digest"), DIGESTS.items())
def test_the_prompts_of_the_programs_family_are_those_the_policy_was_trained_on(seed: int, digest: str) -> None:
    prompts = list(builtin_prompts(families=["programs"], seed=seed))
    lines = (f"{p.text}\n{p.spec_json}\n{p.verifier} {p.family} {p.form} {p.difficulty}\n" for p in prompts)
    assert len(prompts) == COUNT
    assert hashlib.sha256("".join(lines).encode()).hexdigest() == digest


def test_a_run_that_names_no_family_takes_the_same_ones() -> None:
    assert tuple(FAMILIES) == ("arithmetic", "comparison", "counting", "poetry", "programs")
    assert len(FAMILIES["programs"].forms) == 23
