from __future__ import annotations

import re
from math import lcm

import pytest

from learnable.train.policy.corpus import RHYME_DRILL, count_documents, write_documents
from learnable.train.policy.noise import LEVELS, find_level, miss_number
from tests.support.domains import needs_poems


@pytest.mark.parametrize("form", [RHYME_DRILL, "Addition", "FizzBuzz", pytest.param("Verse", marks=needs_poems)])
def test_the_seed_fixes_the_documents(form):
    first, again, other = (write_documents(form, 20, seed) for seed in ("1", "1", "2"))
    assert first == again != other


def test_every_form_has_documents():
    assert min(count_documents().values()) > 0
    assert {"Haiku", "LargeSums", "BalancedParentheses", RHYME_DRILL} <= set(count_documents())


def test_questions_of_reasoning_gym_come_again_with_their_answers():
    pytest.importorskip("reasoning_gym")
    documents = write_documents("reasoning-gym:lcm?min_value=1&max_value=2", 5, "1")  # four questions
    numbers = {document.prompt: re.findall(r"\d+", document.prompt) for document in documents}
    assert len(documents) == 5
    assert len(numbers) == 4
    assert all(int(document.completion) == lcm(*map(int, numbers[document.prompt])) for document in documents)


def test_drills_come_early():
    assert all(document.place <= 0.6 for document in write_documents(RHYME_DRILL, 200, "1"))


@pytest.mark.parametrize("family", LEVELS)
def test_levels_follow_their_shares(family):
    drawn = [find_level(family, item) for item in range(4000)]
    for share, level in LEVELS[family]:
        assert drawn.count(level) / 4000 == pytest.approx(share, abs=0.04)


def test_a_miss_is_never_the_answer():
    import random

    rng = random.Random(1)
    for right in [*range(12)] * 20:
        assert miss_number(rng, right, signed=True) != right
        assert miss_number(rng, right, signed=False) not in (right, *range(-20, 0))
