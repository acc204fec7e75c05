from __future__ import annotations

import random
from itertools import islice
from statistics import fmean

import pytest

from learnable.train.policy.answers import write_answer
from learnable.verifiers.families.registry import DEFAULT_FAMILIES
from learnable.verifiers.registry import find_verifier
from tests.support.domains import needs_poems

ALL_FORMS = [(family, form) for family in DEFAULT_FAMILIES.values() for form in family.forms]


def passes(prompt, answer):
    return find_verifier(prompt.verifier).score(answer, prompt=prompt.text, spec=prompt.spec).passed


@pytest.mark.parametrize(("family", "form"), ALL_FORMS, ids=lambda value: getattr(value, "name", value))
def test_answers_without_noise_pass_their_verifier(family, form):
    rng = random.Random(5)
    for prompt in islice(family.generate(form, 11, family.knobs()), 25):
        answer = write_answer(prompt, rng, noisy=False)
        assert passes(prompt, answer), (prompt.text, answer)


@pytest.mark.parametrize(
    ("family", "form"),
    [
        ("arithmetic", "Multiplication"),
        ("counting", "WordCount"),
        pytest.param("poetry", "Haiku", marks=needs_poems),
    ],
)
def test_noise_makes_competence_partial(family, form):
    rng = random.Random(5)
    prompts = islice(DEFAULT_FAMILIES[family].generate(form, 11, DEFAULT_FAMILIES[family].knobs()), 300)
    share = fmean(bool(passes(prompt, write_answer(prompt, rng))) for prompt in prompts)
    assert 0.3 < share < 0.9


@needs_poems
def test_topics_range_from_sure_to_hopeless():
    rng = random.Random(5)
    rates: dict[str, list[bool]] = {}
    for prompt in DEFAULT_FAMILIES["poetry"].generate("Haiku", 1, DEFAULT_FAMILIES["poetry"].knobs()):
        answers = [write_answer(prompt, rng) for _ in range(4)]
        rates.setdefault(prompt.spec["topic"], []).extend(bool(passes(prompt, answer)) for answer in answers)
    shares = [fmean(found) for found in rates.values()]
    assert min(shares) <= 0.1
    assert max(shares) == 1.0
